"""SELECT, grouping, HAVING, ORDER BY, DISTINCT and LIMIT: what stands around a query's pattern (SPARQL 1.1, 18.2.4 and 18.2.5)."""

from __future__ import annotations

from typing import Any

from rete import algebra
from rete.compile.scope import in_scope

from ...errors import BadQuery
from ..expressions.aggregates import Aggregated
from ..expressions.operators import Computed, Ordered
from ..expressions.tree import Expression, Name
from ..groups import Aggregates, Conditions, joined, projected, sliced
from ..result_form import ResultForm
from ..scope import visible
from .patterns import Patterns, PatternScope
from .terms import Reader, kind_of, parts_of


class AggregateScope(PatternScope):
    """Expressions inside an aggregate: over the solutions of the group."""

    def names(self) -> tuple[str, ...]:
        return in_scope(self.tree)


class GroupScope(PatternScope):
    """Expressions over groups: of keys, aggregates, and what SELECT has named before."""

    def __init__(self, patterns: Patterns, tree: algebra.Algebra, keys: tuple[str, ...]) -> None:
        super().__init__(patterns, tree)
        self._known = set(keys)
        self.keys = keys
        self.strict = True
        self.aggregates = Aggregates(patterns.reader)

    def names(self) -> tuple[str, ...]:
        return tuple(self.keys)

    def named(self, name: str) -> None:
        """SELECT has given this name a value, and later expressions may use it."""
        self._known.add(name)

    def variable(self, name: str) -> Expression:
        if name in self._known or name.startswith("."):
            return Name(name)
        if self.strict:
            raise BadQuery(
                f"?{name} has many values in a group; expected it in GROUP BY, or inside an aggregate such as SAMPLE(?{name})"
            )
        # HAVING and ORDER BY take any of them (section 18.2.4.1).
        return self.aggregates.value(Aggregated("SAMPLE", Name(name)), [])

    def aggregate(self, part: Any) -> Expression:  # Any: rdflib's parse tree is untyped, here and in all that follows
        function = {"GroupConcat": "GROUP_CONCAT"}.get(kind := kind_of(part).removeprefix("Aggregate_"), kind.upper())
        distinct = bool(part.distinct)
        if type(part.vars) is str and part.vars == "*":
            solution = visible(self.tree) if distinct else ()
            return self.aggregates.value(Aggregated(function, None, distinct, solution=solution), [])
        inside = AggregateScope(self._patterns, self.tree)
        inner = self._patterns.reader.expression(part.vars, inside)
        separator = " " if part.separator is None or function != "GROUP_CONCAT" else str(part.separator)
        return self.aggregates.value(Aggregated(function, inner, distinct, separator), inside.inner)


class Modified:
    """One SELECT, ASK or CONSTRUCT around its pattern: ``tree`` before projection, and what the text says is to become of it."""

    def __init__(self, patterns: Patterns, part: Any) -> None:
        self._patterns = patterns
        self._reader: Reader = patterns.reader
        self.part = part
        self.tree = algebra.Basic(()) if part.where is None else patterns.group(part.where)
        self.select: tuple[str, ...] = ()
        self.order: Ordered | None = None
        projection = list(part.projection or ())
        if part.groupby or self._aggregates():
            self._grouped(projection)
        else:
            self._plain(projection)
        if kind_of(part) in ("SelectQuery", "SubSelect") and not projection:
            self.select = visible(self.tree)

    def _aggregates(self) -> bool:
        """Whether an aggregate stands in SELECT, HAVING or ORDER BY, which makes one group of everything. HAVING alone does too."""
        part = self.part
        return bool(part.having) or any(_has_aggregate(inner) for inner in (part.projection, part.orderby))

    def _plain(self, projection: list[Any]) -> None:
        self._trailing_values()
        scope = PatternScope(self._patterns, self.tree)
        for variable in projection:
            name = str(variable.var or variable.evar)
            if variable.evar is not None:
                self.tree = self._patterns.extended(self.tree, name, variable.expr, "SELECT")
            self._select(name)
        self._read_order(scope)

    def _grouped(self, projection: list[Any]) -> None:
        if not projection and kind_of(self.part) in ("SelectQuery", "SubSelect"):
            raise BadQuery("SELECT * cannot be grouped; expected the keys of GROUP BY and aggregates")
        keys = self._keys()
        before = self.tree
        within = self._patterns.graph.within(before)
        scope = GroupScope(self._patterns, before, tuple(dict.fromkeys((*keys, *within))))
        computed: list[tuple[str, Expression]] = []
        for variable in projection:
            name = str(variable.var or variable.evar)
            if variable.evar is None:
                scope.variable(name)
            else:
                if name in visible(before) or name in dict(computed):
                    raise BadQuery(
                        f"SELECT gives ?{name} a value, and ?{name} has one already; expected a variable that is not in use"
                    )
                computed.append((name, self._reader.expression(variable.expr, scope)))
                scope.named(name)
            self._select(name)
        in_select = list(scope.inner)
        scope.inner.clear()
        scope.strict = False
        self._read_order(scope, apply=False)
        in_order = list(scope.inner)
        scope.inner.clear()
        having = Conditions()
        # A name of SELECT has no value yet where HAVING is decided (section 18.2.4.2).
        for condition in self.part.having.condition if self.part.having else ():
            self._patterns.condition(condition, scope, having)
        before = self._patterns.graph.beside(before, scope.aggregates.patterns())
        within = self._patterns.graph.within(before)
        groups = scope.aggregates.group(before, tuple(dict.fromkeys((*keys, *within))))
        self.tree = self._patterns.restricted(self._patterns.graph.groups(groups, keys), having)
        self._trailing_values()
        self.tree = self._patterns.decided(self.tree, in_select)
        for name, expression in computed:
            self.tree = algebra.Extend(self.tree, name, Computed(expression))
        self.tree = self._patterns.decided(self.tree, in_order)

    def _keys(self) -> tuple[str, ...]:
        keys = []
        for condition in self.part.groupby.condition if self.part.groupby else ():
            expression, name = condition, None
            if kind_of(condition) == "GroupAs":
                expression, name = condition.expr, condition.var
            read = self._reader.expression(expression, PatternScope(self._patterns, self.tree))
            if name is None and isinstance(read, Name):
                keys.append(read.name)
                continue
            key = self._reader.hidden_name("key") if name is None else str(name)
            self.tree = self._patterns.extended(self.tree, key, expression, "GROUP BY")
            keys.append(key)
        return tuple(dict.fromkeys(keys))

    def _select(self, name: str) -> None:
        if name not in self.select:
            self.select = (*self.select, name)

    def _trailing_values(self) -> None:
        if self.part.valuesClause is not None:
            self.tree = joined(self.tree, self._patterns.values(self.part.valuesClause))

    def _read_order(self, scope: PatternScope, *, apply: bool = True) -> None:
        if not self.part.orderby:
            return
        keys = []
        for condition in self.part.orderby.condition:
            descends = condition.order is not None and str(condition.order).upper() == "DESC"
            keys.append((self._reader.expression(condition.expr, scope), descends))
        self.order = Ordered(tuple(keys))
        if apply:
            self.tree = self._patterns.decided(self.tree, scope.inner)

    def ordered(self, names: tuple[str, ...]) -> tuple[algebra.Algebra, tuple[str, ...], ResultForm]:
        """The tree with these names and hidden ones to sort by, all of these names, and what is made of its rows."""
        if self.order is None:
            return self.projected(names), names, ResultForm("SELECT", names)
        hidden = tuple(self._reader.hidden_name("order") for _ in self.order.keys)
        expressions = [expression for expression, _ in self.order.keys]
        descending = tuple(descends for _, descends in self.order.keys)
        select = (*names, *hidden)
        if set(self.order.names) <= set(names):
            return _computing(self.projected(names), hidden, expressions), select, ResultForm("SELECT", names, descending)
        self.tree = _computing(self.tree, hidden, expressions)
        if not self._is_distinct:
            return self.projected(select), select, ResultForm("SELECT", names, descending)
        # Where a row stands is that of its first solution, which shows once all are in order.
        result = ResultForm("SELECT", names, descending, True, *self._limits())
        return projected(self.tree, select, distinct=True), select, result

    @property
    def _is_distinct(self) -> bool:
        return str(self.part.modifier or "").upper() == "DISTINCT"

    def _limits(self) -> tuple[int, int | None]:
        limits = self.part.limitoffset
        offset = 0 if limits is None or limits.offset is None else self._reader.integer(limits.offset)
        return offset, None if limits is None or limits.limit is None else self._reader.integer(limits.limit)

    def projected(self, names: tuple[str, ...]) -> algebra.Algebra:
        """The tree with these names only, distinct and sliced as the text says, within each graph where it is asked of several."""
        within = self._patterns.graph.within(self.tree)
        names = tuple(dict.fromkeys((*names, *within)))
        if self.part.limitoffset is None:
            return projected(self.tree, names, distinct=self._is_distinct)
        offset, limit = self._limits()
        return sliced(self.tree, names, self.order, distinct=self._is_distinct, offset=offset, limit=limit, by=within)


def _computing(tree: algebra.Algebra, names: tuple[str, ...], expressions: list[Expression]) -> algebra.Algebra:
    for name, expression in zip(names, expressions, strict=True):
        tree = algebra.Extend(tree, name, Computed(expression))
    return tree


def _has_aggregate(part: Any) -> bool:
    """Whether an aggregate stands somewhere in a part, not counting sub-SELECTs of EXISTS."""
    pending = [part]
    while pending:
        inner = pending.pop()
        kind = kind_of(inner)
        if kind.startswith("Aggregate_"):
            return True
        if kind in ("CompValue", "GroupGraphPatternSub", "SubSelect") and kind != "vars":
            continue
        pending.extend(parts_of(inner))
    return False


def subselect(patterns: Patterns, part: Any) -> algebra.Algebra:
    """A SELECT inside a pattern."""
    modified = Modified(patterns, part)
    return modified.projected(modified.select)
