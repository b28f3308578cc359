"""From a tree of the algebra to a network of nodes, one kind of node for each operator; equal parts of queries share nodes.

Every part of a tree is built below a *context*: a stream of tokens whose columns come first in every token of the part. At the top
the context is the root, one empty token, or for a template of queries their arguments (:mod:`rete.compile.parameters`). In the
pattern of an EXISTS it is the demand: the outer values that the pattern mentions, so that substitution (SPARQL 1.1, section 18.6)
is a matter of where a network begins. Names of the context are bound in each of its tokens.

Five rules make networks small:

* a basic pattern, or inline data, joined with anything that surely binds what both mention is a chain of joins below it (as in a
  GSG script);
* a test of one condition is made by the alpha memory, if it is portable; any other stands at the first place where its names are
  bound, inside a chain of joins too;
* a projection or group sees only those columns of its context that it shows, and those parameters that stand in it, so it is
  evaluated once for equal ones, and joined back; so is the side of a join that can be evaluated by itself;
* in a template, what is the same for all arguments is evaluated below the root, and joined with them; inline data comes first
  where it says by what to look up;
* a node is shared by its kind, its parents and the places that it reads; names count only where a pattern is compared by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..algebra import (
    Algebra,
    Basic,
    Closure,
    Distinct,
    Exists,
    Extend,
    Filter,
    Grouped,
    Join,
    LeftJoin,
    Minus,
    Numbered,
    Path,
    Project,
    Slice,
    Union,
    Values,
)
from ..chain import joins_of
from ..conditions import MAX_CONDITIONS, Condition, Parameter, Variable, is_parameter
from ..errors import BadQuery
from ..functions import Computation, Test
from ..index import tuple_getter
from ..operators import exists, lateral
from ..operators.aggregate import Groups
from ..operators.closure import Reach
from ..operators.demand import MAX_UNCERTAIN, Branch
from ..operators.extend import Extension
from ..operators.minus import Removal
from ..operators.numbered import Numbering
from ..operators.operator import places_of
from ..operators.optional import Optional
from ..operators.project import Projection
from ..operators.slice import Sliced
from ..operators.union import Both
from ..operators.values import InlineRows
from .paths import FRESH, Is, Same, facts_in, nullable, without_steps
from .scope import certain, depth, in_scope, is_apart, mentioned, parameters, predicates, substitutable
from .stream import Stream, Tests, at_memories, both, by_arguments, pairing_of, split, tested_by_arguments
from .stream_nodes import StreamNodes
from .substitution import without_names


@dataclass(frozen=True, slots=True)
class _Agrees:
    """A test: what is computed is the value that the name has outside, or an error."""

    value: Computation
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.value.names, self.name)

    def __call__(self, values: tuple[object, ...]) -> bool:
        computed = self.value(values[:-1])
        return computed is None or bool(computed == values[-1])


class Builder(StreamNodes):
    """Builds one tree, below ``parameters`` where it has some. ``made`` lists the nodes that it asked for, those that were there
    already included."""

    def tree(self, tree: Algebra) -> Stream:
        """The stream of a tree's solutions. Raises BadQuery; what ``made`` lists is then for the caller to take away."""
        deep = depth(tree)
        if deep > MAX_CONDITIONS:
            raise BadQuery(
                f"a query {deep} conditions and operators deep; expected at most {MAX_CONDITIONS}: split it into several"
            )
        return self._build(tree, self._top)

    def _build(self, tree: Algebra, context: Stream, tests: Tests = ()) -> Stream:
        if context is not self._root and self._is_top(context) and is_apart(tree):
            # It is the same for all arguments.
            inside = tuple(test for test in tests if not any(map(is_parameter, test.names)))
            outside = tuple(test for test in tests if test not in inside)
            return self._back(context, self._root, self._build(tree, self._root, inside), outside)
        match tree:
            case Basic(conditions):
                return self._basic(conditions, context, tests)
            case Join(left, right):
                return self._join(left, right, context, tests)
            case LeftJoin():
                return self._left_join(tree, context, tests)
            case Union():
                return self._union(tree, context, tests)
            case Minus():
                return self._minus(tree, context, tests)
            case Filter(child, test):
                return self._build(child, context, (*tests, test))
            case Exists(child, pattern, negated):
                return self._exists(self._build(child, context, tests), pattern, negated=negated)
            case Extend():
                return self._bind(tree, context, tests)
            case Values():
                return self._filtered(self._values(tree, context), tests)
            case Project(child, names):
                # A name that is not shown means something else inside than outside, where nothing binds it.
                inside = tuple(test for test in tests if set(test.names) <= set(names))
                outside = tuple(test for test in tests if not set(test.names) <= set(names))
                narrow = self._narrow(context, {*names, *parameters(child)})
                found = self._build(child, narrow, inside)
                shown = (
                    *narrow.layout,
                    *(name for name in dict.fromkeys(names) if name in found.layout and name not in narrow.layout),
                )
                return self._filtered(self._back(context, narrow, self._columns(found, shown)), outside)
            case Distinct(child):
                return self._once(self._build(child, context, tests))
            case Numbered():
                return self._numbered(tree, context, tests)
            case Grouped():
                return self._filtered(self._grouped(tree, context), tests)
            case Slice():
                return self._filtered(self._slice(tree, context), tests)
            case Path(_, path) if any(isinstance(predicate, Parameter) for predicate in predicates(path)):
                raise BadQuery(f"a parameter inside the path {path}; expected it in a condition, or at an end of a path")
            case Path(_, Closure()):
                return self._filtered(self._closure(tree, context), tests)
            case Path():
                return self._build(without_steps(tree), context, tests)
        raise AssertionError(f"{type(tree).__name__} passed as an operator")

    # Conditions, and what is joined to a stream from below.

    def _basic(self, conditions: tuple[Condition, ...], context: Stream, tests: Tests) -> Stream:
        at_alpha, waiting = at_memories(conditions, tests)
        chain = joins_of(conditions, context.layout, self._estimate, at_alpha, tested_by_arguments(conditions, waiting))
        layout = chain.layout
        known = len(context.layout)
        stream = context
        for spec in (None, *chain.specs):
            known += 0 if spec is None else len(spec.new)
            later = set(layout[known:])
            ready = tuple(test for test in waiting if later.isdisjoint(test.names))
            waiting = [test for test in waiting if not later.isdisjoint(test.names)]
            if spec is not None:
                node = self._join_below(stream.node, replace(spec, tests=by_arguments(ready, layout[:known], len(spec.new))))
                self.made.append(node)
                stream = Stream(node, layout[:known], stream.certain | frozenset(layout[len(stream.layout) : known]))
            stream = self._filtered(stream, ready)
        return stream

    def _values(self, tree: Values, context: Stream) -> Stream:
        for row in tree.rows:
            if len(row) != len(tree.names):
                raise BadQuery(f"a row of {len(row)} values for {len(tree.names)} names; expected as many")
        shared = tuple((context.place(name), at) for at, name in enumerate(tree.names) if name in context.layout)
        new = tuple(at for at, name in enumerate(tree.names) if name not in context.layout)
        given = tuple((Parameter.of_name(name), context.place(name)) for name in sorted(parameters(tree)))
        node = self._operator(InlineRows, context.node, tree.rows, shared, new, given)
        return Stream(node, context.layout + tuple(tree.names[at] for at in new), context.certain | certain(tree))

    def _join(self, left: Algebra, right: Algebra, context: Stream, tests: Tests) -> Stream:
        left = without_steps(left) if isinstance(left, Path) else left
        right = without_steps(right) if isinstance(right, Path) else right
        if isinstance(left, Basic) and isinstance(right, Basic):
            return self._basic(left.conditions + right.conditions, context, tests)
        # Rows of constants come first where what follows is looked up by them.
        is_by_rows = isinstance(right, Values) and not set(in_scope(right)).isdisjoint(in_scope(left))
        for one, other in ((right, left), (left, right)) if is_by_rows else ((left, right), (right, left)):
            if isinstance(other, Basic | Values) and set(in_scope(one)) & set(in_scope(other)) <= certain(one):
                early, late = split(tests, certain(one), in_scope(Join(left, right)), context)
                return self._build(other, self._build(one, context, early), late)
        names = in_scope(Join(left, right))
        for one, other in ((left, right), (right, left)):
            unsure = set(in_scope(one)) & set(in_scope(other)) - certain(one)
            if self._is_top(context) and unsure and unsure <= certain(other):
                early, late = split(tests, certain(one), names, context)
                found = self._lateral(self._build(one, context, early), other, optional=False)
                if found is not None:
                    return self._filtered(found, late)
        at_left, rest = split(tests, certain(left), names, context)
        at_right, late = split(rest, certain(right), names, context)
        return self._filtered(self._paired(self._build(left, context, at_left), self._aside(right, context, at_right)), late)

    # Two streams.

    def _aside(self, tree: Algebra, context: Stream, tests: Tests = ()) -> Stream:
        """A side that is paired with one below the whole context: at the top it needs just its own parameters."""
        return self._build(tree, self._narrow(context, parameters(tree)) if self._is_top(context) else context, tests)

    def _left_join(self, tree: LeftJoin, context: Stream, tests: Tests) -> Stream:
        early, late = split(tests, certain(tree.left), in_scope(tree), context)
        left = self._build(tree.left, context, early)
        if self._is_top(context):
            by_demand = self._lateral(left, tree.right, tree.test, optional=True)
            if by_demand is not None:
                return self._filtered(by_demand, late)
        right = self._aside(tree.right, context)
        layout = both(left, right)
        places = () if tree.test is None else places_of(tree.test.names, layout)
        node = self._operator(Optional, left.node, right.node, pairing_of(left, right), tree.test, places)
        return self._filtered(Stream(node, layout, left.certain), late)

    def _lateral(self, left: Stream, right: Algebra, test: Test | None = None, *, optional: bool) -> Stream | None:
        """The join by demand, where it is one."""
        shared = frozenset(in_scope(right)) & frozenset(left.layout)
        unsure = tuple(name for name in left.layout if name in shared and name not in left.certain)
        if len(unsure) > MAX_UNCERTAIN or not shared <= certain(right) or not substitutable(right, shared):
            return None
        asked = shared & left.certain | parameters(right)
        sure = tuple(name for name in left.layout if name in asked)
        layout = (*left.layout, *(name for name in in_scope(right) if name not in left.layout))
        places = () if test is None else places_of(test.names, layout)
        at_unsure = tuple(map(left.place, unsure))
        padding = (None,) * (len(layout) - len(left.layout)) if optional else None
        key = (lateral.Lateral, right, test, places, optional, sure, unsure, tuple(map(left.place, sure)), at_unsure, layout)

        def branches() -> Iterator[Branch[lateral.Asked]]:
            for branch, below in self._branches_of(left, sure, unsure):
                found = self._columns(self._build(right, below), dict.fromkeys((*below.layout, *in_scope(right))))
                branch.end = found.node
                branch.fill = tuple((left.place(name), found.place(name)) for name in unsure if name not in below.layout)
                branch.extension_of = tuple_getter(tuple(map(found.place, layout[len(left.layout) :])))
                yield branch

        node = self._shared(left.node, key, lambda: lateral.Lateral(left.node, at_unsure, list(branches()), test, places, padding))
        return Stream(node, layout, left.certain if optional else left.certain | certain(right))

    def _union(self, tree: Union, context: Stream, tests: Tests) -> Stream:
        one, other = self._build(tree.left, context, tests), self._build(tree.right, context, tests)
        has = {*one.layout, *other.layout}
        layout = (*context.layout, *(name for name in in_scope(tree) if name in has and name not in context.layout))
        surely = one.certain & other.certain
        one, other = self._columns(one, layout), self._columns(other, layout)
        return Stream(self._operator(Both, one.node, other.node), layout, surely)

    def _minus(self, tree: Minus, context: Stream, tests: Tests) -> Stream:
        left = self._build(tree.left, context, tests)
        shared = [name for name in in_scope(tree.left) if name in in_scope(tree.right)]
        counted = [name for name in shared if name not in tree.by]
        if not counted:
            return left
        names = frozenset(shared)
        may_ask = self._is_top(context) and len(names - left.certain) <= MAX_UNCERTAIN and not left.certain.isdisjoint(counted)
        if may_ask and names <= certain(tree.right) and substitutable(tree.right, names):
            return self._exists(left, Project(tree.right, tuple(shared)), negated=True)
        right = self._aside(tree.right, context)
        given = tuple(name for name in right.layout if name in context.layout)
        right = self._columns(right, (*given, *(name for name in shared if name in right.layout and name not in given)))
        surely = any(name in left.certain and name in right.certain for name in counted)
        node = self._operator(Removal, left.node, right.node, pairing_of(left, right), surely)
        return Stream(node, left.layout, left.certain)

    # One stream.

    def _bind(self, tree: Extend, context: Stream, tests: Tests) -> Stream:
        name, value = tree.name, tree.value
        if name in in_scope(tree.child):
            raise BadQuery(f"?{name} is bound already where a value is given to it; expected another name")
        early = tuple(test for test in tests if name not in test.names)
        late = tuple(test for test in tests if name in test.names)
        child = self._build(tree.child, context, early)
        if name in context.layout:
            return self._filtered(child, (_Agrees(value, name), *late))
        node = self._operator(Extension, child.node, value, places_of(value.names, child.layout))
        return self._filtered(Stream(node, (*child.layout, name), child.certain), late)

    def _numbered(self, tree: Numbered, context: Stream, tests: Tests) -> Stream:
        name = tree.name
        if name in in_scope(tree.child) or name in context.layout:
            raise BadQuery(f"?{name} is bound already where it is to number copies; expected another name")
        early = tuple(test for test in tests if name not in test.names)
        late = tuple(test for test in tests if name in test.names)
        child = self._build(tree.child, context, early)
        node = self._operator(Numbering, child.node)
        return self._filtered(Stream(node, (*child.layout, name), child.certain | {name}), late)

    def _grouped(self, tree: Grouped, context: Stream) -> Stream:
        keys = tuple(dict.fromkeys(tree.keys))
        given = [name for name, _ in tree.aggregates]
        twice = [name for place, name in enumerate(given) if name in keys or name in given[:place]]
        if twice:
            raise BadQuery(f"?{twice[0]} names two columns of a group; expected another name")
        narrow = self._narrow(context, {*keys, *parameters(tree.child)})
        child = self._build(tree.child, narrow)
        layout = (*narrow.layout, *(name for name in keys if name not in narrow.layout))
        places = places_of(layout, child.layout)
        aggregates = tuple((aggregate, places_of(aggregate.names, child.layout)) for _, aggregate in tree.aggregates)
        # Without keys there is a group of nothing too, for each of the parameters' values that are asked about.
        always = None if keys or narrow is self._root else narrow.node
        node = self._operator(Groups, child.node, places, aggregates, always)
        found = Stream(node, (*layout, *given), child.certain & frozenset(layout))
        return self._back(context, narrow, found)

    def _slice(self, tree: Slice, context: Stream) -> Stream:
        limit = tree.limit
        given = context.layout.index(limit.name) if isinstance(limit, Parameter) else None
        if tree.offset < 0 or (given is None and limit is not None and limit < 0):
            raise BadQuery(f"a slice from {tree.offset} of {limit} solutions; expected no negative number")
        child = self._build(tree.child, context)
        if not tree.offset and limit is None:
            return child
        parts = (*context.layout, *(name for name in tree.by if name not in context.layout))
        child = self._columns(child, dict.fromkeys((*parts, *child.layout)))
        order = tree.order
        reads = () if order is None else places_of(order.names, child.layout)
        ties = places_of(sorted(in_scope(tree.child)), child.layout)
        fixed = limit if given is None else None
        node = self._operator(Sliced, child.node, len(parts), order, reads, ties, tree.offset, fixed, given)
        return Stream(node, child.layout, child.certain)

    def _exists(self, child: Stream, pattern: Algebra, *, negated: bool) -> Stream:
        wanted = mentioned(pattern)
        sure = tuple(name for name in child.layout if name in wanted and name in child.certain)
        unsure = tuple(name for name in child.layout if name in wanted and name not in child.certain)
        if len(unsure) > MAX_UNCERTAIN:
            names = ", ".join(f"?{name}" for name in unsure)
            raise BadQuery(f"EXISTS mentions {len(unsure)} names that may be unbound ({names}); expected at most {MAX_UNCERTAIN}")
        at_unsure = tuple(map(child.place, unsure))
        at_sure = tuple(map(child.place, sure))
        key = (exists.Existence, *without_names(pattern, sure + unsure), negated, at_sure, at_unsure)

        def branches() -> Iterator[Branch[exists.Asked]]:
            for branch, below in self._branches_of(child, sure, unsure):
                branch.end = self._build(pattern, below).node
                yield branch

        node = self._shared(child.node, key, lambda: exists.Existence(child.node, at_unsure, list(branches()), negated=negated))
        return Stream(node, child.layout, child.certain)

    # Closures of paths.

    def _closure(self, path: Path, context: Stream) -> Stream:
        """The walk begins at an end that is given (a constant, or a name of the context); where none is, at every node with an
        edge. Where the graph is a variable, it is the first column of all that is walked."""
        closure, graph = path.path, path.graph
        assert isinstance(closure, Closure), "the other paths are trees of operators by now"
        start, end, (near, far) = path.subject, path.object, (FRESH + "s", FRESH + "o")
        if not _is_given(start, context) and _is_given(end, context):
            start, end, near, far = end, start, far, near
        by_graph = isinstance(graph, Variable)
        first: tuple[str, ...] = (FRESH + "g",) if by_graph else ()
        step = Path(Variable(FRESH + "s"), closure.path, Variable(FRESH + "o"), Variable(FRESH + "g") if by_graph else graph)
        edges = self._columns(self._build(without_steps(step), self._root), (*first, near, far))
        asked = self._asked(start, graph, (*first, near), context) if _is_given(start, context) else None
        sources = asked
        if asked is None or asked.layout != (*first, near):
            sources = self._once(self._columns(edges, (*first, near)))
            sources = sources if asked is None else self._columns(self._paired(sources, asked), (*first, near))
        assert sources is not None, "it is what is asked, or the edges' starts"
        if closure.transitive:
            node = self._operator(Reach, sources.node, edges.node, by_graph)
            pairs = Stream(node, (*first, near, far), frozenset((*first, near, far)))
        else:
            pairs = self._once(self._paired(sources, edges))
        if closure.reflexive or nullable(closure.path):
            pairs = self._with_itself(pairs, self._nodes(near, first, graph) if asked is None else self._everywhere(asked, first))
        ends = ((start, near), (end, far), *((graph, name) for name in first))
        return self._back(context, self._root, self._with_ends(pairs, ends, far))

    def _asked(self, start: object, graph: object, columns: tuple[str, ...], context: Stream) -> Stream:
        """Where walks begin, each once: the last of these columns, with the graph before it where that is given, too."""
        given = tuple(one for one in (graph, start) if isinstance(one, Variable) and one.name in context.layout)
        names = tuple(one.name for one in given)
        found = self._columns(self._narrow(context, names), names)
        layout = tuple(columns[-1] if one is start else columns[0] for one in given)
        found = Stream(found.node, layout, frozenset(layout))
        if columns[-1] in layout:
            return found
        return self._values(Values(columns[-1:], ((start,),)), found)

    def _everywhere(self, asked: Stream, first: tuple[str, ...]) -> Stream:
        """What is asked, in each graph where no graph is given."""
        if set(first) <= set(asked.layout):
            return asked
        fact = Condition((*(Variable(FRESH + name) for name in "xyz"), Variable(first[0])))
        graphs = self._build(Distinct(Project(Basic((fact,)), first)), self._root)
        return self._paired(graphs, asked)

    def _nodes(self, name: str, first: tuple[str, ...], graph: object) -> Stream:
        """Every subject and object of the graph: what a path of no steps relates to itself."""
        node, one, other = Variable(name), Variable(FRESH + "x"), Variable(FRESH + "y")
        graph = Variable(first[0]) if first else graph
        sides = (Project(facts_in(graph, pattern), (*first, name)) for pattern in ((node, one, other), (one, other, node)))
        return self._build(Distinct(Union(*sides)), self._root)

    def _with_itself(self, pairs: Stream, nodes: Stream) -> Stream:
        at = tuple(range(len(nodes.layout)))
        twice = self._operator(Projection, nodes.node, (*at, at[-1]))
        return self._once(Stream(self._operator(Both, pairs.node, twice), pairs.layout, pairs.certain))

    def _with_ends(self, pairs: Stream, ends: Iterable[tuple[object, str]], far: str) -> Stream:
        """The pairs under the names of what stands at the ends of the path."""
        shown: dict[str, str] = {}
        for end, column in ends:
            if not isinstance(end, Variable):
                pairs = self._filtered(pairs, (Is(column, end),)) if column == far else pairs
            elif end.name in shown:
                pairs = self._filtered(pairs, (Same((shown[end.name], column)),))
            else:
                shown[end.name] = column
        found = self._columns(pairs, tuple(shown.values()))
        return Stream(found.node, tuple(shown), frozenset(shown))


def _is_given(end: object, context: Stream) -> bool:
    return not isinstance(end, Variable) or end.name in context.layout
