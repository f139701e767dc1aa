"""Lowering of Aggregate: keys become columns, each distinct aggregate function one call, the rest a projection after.

Catalyst mixes grouping, aggregation and arithmetic on results in one node; here they are two or three relations. What
`observe` adds is an aggregation too, beside the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pyspark.sql import types as T

from headway.dataflow.expr import Column, Expr
from headway.dataflow.graph import AggCall, Aggregate, Observe, Source
from headway.dataflow.types import Field
from headway.errors import UnsupportedPlan
from headway.frontend.aggregate_functions import NEVER_NULL, aggregate_call
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Expressions, Lowered, PlanLowering, expr_id, field_of, lowers_relation
from headway.frontend.tree import Tree
from headway.frontend.windows import is_session

Trees = tuple[Tree, ...]


@dataclass
class _Calls:
    """The distinct aggregate calls of one node, in order of appearance, with the name of their first use."""

    lower: PlanLowering
    input: Expressions
    calls: list[AggCall] = field(default_factory=list)

    def index(self, tree: Tree) -> int:
        """The position of an AggregateExpression among the calls."""
        return self._place(self._call(tree))

    def size(self, tree: Tree) -> int:
        """The same of the size of the set that an AggregateExpression collects."""
        return self._place(replace(self._call(tree), function="set_size", type=T.IntegerType()))

    def _place(self, call: AggCall) -> int:
        if call not in self.calls:
            self.calls.append(call)
        return self.calls.index(call)

    def _call(self, tree: Tree) -> AggCall:
        function = tree.children[0]
        if tree.fields["isDistinct"]:
            raise UnsupportedPlan(f"{function.name.lower()}(distinct ...)")
        filtered = self.input(tree.children[1]) if "filter" in tree.fields else None
        return aggregate_call(function, filtered, self.input, self.lower.plan)


@dataclass(frozen=True)
class _Results(Expressions):
    """Lowers result expressions: `columns` are the keys, aggregate functions are the columns after them."""

    calls: _Calls
    keys: dict[str, Column]
    width: int

    def __call__(self, tree: Tree) -> Expr:
        if tree.name == "AggregateExpression":
            return self._result(self.calls.index(tree))
        if _is_set_size(tree):
            return self._result(self.calls.size(tree.children[0]))
        key = self.keys.get(_shape(tree))
        return key if key is not None else super().__call__(tree)

    def _result(self, at: int) -> Column:
        return Column(self.calls.calls[at].type, self.width + at)


def _is_set_size(tree: Tree) -> bool:
    """Whether a set is collected just to be counted."""
    collected = tree.children[0] if tree.name == "Size" else None
    return (
        collected is not None
        and collected.name == "AggregateExpression"
        and not collected.fields["isDistinct"]
        and collected.children[0].name == "CollectSet"
    )


@lowers_relation("Aggregate")
def _aggregate(node: PlanNode, lower: PlanLowering) -> Lowered:
    grouping = node.expressions("groupingExpressions")
    return _aggregated(lower(node.children[0]), grouping, node.expressions("aggregateExpressions"), lower)


@lowers_relation("CollectMetrics")
def _observe(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower(node.children[0])
    rows = Lowered(lower.intern(Source(below.schema, "observed", ())), below.ids)
    metrics = _aggregated(rows, (), node.expressions("metrics"), lower).relation
    relation = Observe(below.schema, below.relation, node.tree.fields["name"], metrics)
    return Lowered(lower.intern(relation), below.ids)


def _aggregated(below: Lowered, grouping: Trees, named: Trees, lower: PlanLowering) -> Lowered:
    below, keys = lower.with_columns(below, map(lower.expressions(below), grouping))
    pairs = list(zip(keys, grouping, strict=True))
    pairs.sort(key=lambda pair: is_session(below.relation, pair[0].index))
    keys, grouping = [key for key, _ in pairs], tuple(tree for _, tree in pairs)
    calls = _Calls(lower, lower.expressions(below))
    results = _results(calls, below, keys, grouping)
    exprs = [results(tree) for tree in named]
    names = [tree.fields["name"] for tree in named]
    relation = _relation(lower, below, keys, calls.calls, dict(zip(exprs, names, strict=True)))
    return lower.project(relation, exprs, names, map(expr_id, named))


def _results(calls: _Calls, below: Lowered, keys: list[Column], grouping: tuple[Tree, ...]) -> _Results:
    after = [Column(key.type, i) for i, key in enumerate(keys)]
    by_index = {key.index: column for key, column in zip(keys, after, strict=True)}
    columns = {id_: by_index[i] for i, id_ in enumerate(below.ids) if i in by_index}
    shapes = {_shape(tree): column for tree, column in zip(grouping, after, strict=True)}
    plan = calls.lower.plan
    return _Results(columns, plan.ansi, plan.time_zone, calls.lower.subquery, calls, shapes, len(keys))


def _relation(
    lower: PlanLowering, below: Lowered, keys: list[Column], calls: list[AggCall], names: dict[Expr, str]
) -> Lowered:
    """The aggregation itself; a column is named as the result that is just it, so that often no projection follows."""
    fields = [field_of(below.schema[key.index].name, key, below.schema) for key in keys]
    fields += [Field(call.function, call.type, call.function not in NEVER_NULL) for call in calls]
    schema = tuple(f._replace(name=names.get(Column(f.type, i), f.name)) for i, f in enumerate(fields))
    event_key = next((i for i, f in enumerate(fields[: len(keys)]) if f.event_time), None)
    session = bool(keys) and is_session(below.relation, keys[-1].index)
    relation = Aggregate(schema, below.relation, tuple(keys), tuple(calls), event_key, session)
    return Lowered(lower.intern(relation), tuple(range(-len(schema), 0)))


def _shape(tree: Tree) -> str:
    """Equal for trees that compute the same from the same attributes."""
    if tree.name in ("AttributeReference", "Alias"):
        return f"{tree.name}#{expr_id(tree)}"
    kept = {name: value for name, value in tree.fields.items() if not isinstance(value, list)}
    return f"{tree.name}{sorted(kept.items(), key=str)}({','.join(map(_shape, tree.children))})"
