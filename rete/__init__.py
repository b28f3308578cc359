"""Match tuples against standing queries: signed facts in, signed rows out.

What it is: an incremental matcher after Forgy's Rete (Artificial Intelligence 19, 1982), without token trees: flat tokens, indexed
alpha memories shared by all queries, negation by counting. What it is not: a rule engine (no actions, no conflict set), a
store (its owner keeps the facts), or a parser. Constants are opaque: anything hashable whose equality is identity.

Open next: conditions.py and algebra.py (what a query says), then network.py and activation.py (what happens to one fact, top to
bottom), compile/build.py (from a tree of operators to nodes) and operators/operator.py (the rule that all operators keep). To look
inside: inspect.py (what is held, and the network as a graph), explain/ (why a solution holds, or does not).
"""

from .alpha import TemplateTable
from .chain import AnyTemplate, chain_of
from .compile.canonical import Canonical, canonical
from .compile.memories import memories_of
from .compile.sharing import can_share, open_templates
from .compile.substitution import bound, conditions_of, replaced
from .conditions import (
    MAX_CONDITIONS,
    MAX_WINDOW_BYTES,
    MAX_WINDOW_EVENTS,
    WILDCARD,
    AlphaSpec,
    Condition,
    Group,
    OpenTemplate,
    Parameter,
    Template,
    Variable,
    Window,
)
from .errors import BadQuery, ReteError, TakesLong, TooManySteps, TooManyTokens
from .network import Network
from .operators.join import UNLIMITED
from .production import Production

__all__ = [
    "MAX_CONDITIONS",
    "MAX_WINDOW_BYTES",
    "MAX_WINDOW_EVENTS",
    "UNLIMITED",
    "WILDCARD",
    "AlphaSpec",
    "AnyTemplate",
    "BadQuery",
    "Canonical",
    "Condition",
    "Group",
    "Network",
    "OpenTemplate",
    "Parameter",
    "Production",
    "ReteError",
    "TakesLong",
    "Template",
    "TemplateTable",
    "TooManySteps",
    "TooManyTokens",
    "Variable",
    "Window",
    "bound",
    "can_share",
    "canonical",
    "chain_of",
    "conditions_of",
    "memories_of",
    "open_templates",
    "replaced",
]
