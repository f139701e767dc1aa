"""The registry of relations: one small function per Catalyst plan node lowers it.

1. A lowered relation comes with Catalyst's expression ids of its columns, by position: names may repeat, ids tell.
2. Relations are interned from the leaves up, so that equal sub-plans are one object, and no deep hash is ever taken.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.graph import Project, Relation, StaticTable
from headway.dataflow.types import Field, Schema
from headway.errors import UnsupportedPlan
from headway.frontend.expressions import Lowering
from headway.frontend.expressions.files import FILE_ID
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.expressions.refusals import unsupported
from headway.frontend.plan import Plan, PlanNode
from headway.frontend.subqueries import subquery_value
from headway.frontend.tree import Tree
from headway.frontend.windows import ends_window, follows_event_time, time_window


class Columns(Protocol):
    """Columns by position, as expressions see them."""

    @property
    def ids(self) -> tuple[int, ...]: ...

    @property
    def schema(self) -> Schema: ...


@dataclass(frozen=True)
class Lowered:
    """A relation, and Catalyst's expression id of each of its columns."""

    relation: Relation
    ids: tuple[int, ...]

    @property
    def schema(self) -> Schema:
        return self.relation.schema


@dataclass(frozen=True)
class Expressions(Lowering):
    """Lowering of expressions in a plan: what the registry knows, subqueries, and time windows."""

    subquery: Callable[[Tree], Expr]

    def __call__(self, tree: Tree) -> Expr:
        if tree.name == "ScalarSubquery":
            return self.subquery(tree)
        return time_window(tree, self) or super().__call__(tree)


@dataclass
class PlanLowering:
    """Lowers the nodes of one plan, and holds what they share."""

    plan: Plan
    static_tables: list[tuple[Any, StaticTable]] = field(default_factory=list)
    _interned: dict[Hashable, Relation] = field(default_factory=dict)
    _subqueries: list[tuple[Any, Expr]] = field(default_factory=list)

    def __call__(self, node: PlanNode) -> Lowered:
        """Lower `node`, or raise `UnsupportedPlan` that names the class that has no entry."""
        found = self.with_file(node)
        if found.ids[-1:] != (FILE_ID,):
            return found
        kept = [Column(f.type, i) for i, f in enumerate(found.schema[:-1])]
        return self.project(found, kept, [f.name for f in found.schema[:-1]], found.ids[:-1])

    def with_file(self, node: PlanNode) -> Lowered:
        """The same, with the column behind `input_file_name()` as the last one, where there is one."""
        found = _RELATIONS.get(node.name)
        if found is None:
            raise unsupported("plan node", node.name)
        return found(node, self)

    def expressions(self, *inputs: Columns) -> Expressions:
        """What lowers expressions over the columns of `inputs`, one after the other.

        Where an id repeats, the values do too.
        """
        named = [pair for columns in inputs for pair in zip(columns.ids, columns.schema, strict=True)]
        columns = {id_: Column(f.type, i) for i, (id_, f) in enumerate(named)}
        return Expressions(columns, self.plan.ansi, self.plan.time_zone, self.subquery)

    def subquery(self, tree: Tree) -> Expr:
        """The value of a scalar subquery, which is run once: no two places of a plan see two states of a table."""
        wanted = tree.fields["expression"].plan()
        for known, value in self._subqueries:
            if known.sameResult(wanted):
                return value
        self._subqueries.append((wanted, subquery_value(self.plan, tree)))
        return self._subqueries[-1][1]

    def intern(self, relation: Relation) -> Relation:
        """`relation`, or the equal one that was made before; its inputs must be interned."""
        key = (type(relation), *(_shallow(getattr(relation, f.name)) for f in dataclasses.fields(relation)))
        return self._interned.setdefault(key, relation)

    def project(self, below: Lowered, exprs: Iterable[Expr], names: Iterable[str], ids: Iterable[int]) -> Lowered:
        """`exprs` over `below`; `below` itself where nothing changes."""
        made = tuple(exprs)
        schema = tuple(field_of(name, expr, below.schema) for name, expr in zip(names, made, strict=True))
        if schema == below.schema and made == tuple(Column(f.type, i) for i, f in enumerate(below.schema)):
            return Lowered(below.relation, tuple(ids))
        input_ = below.relation
        if isinstance(input_, Project) and all(isinstance(expr, Column) for expr in input_.exprs):
            made, input_ = tuple(_substituted(expr, input_.exprs) for expr in made), input_.input
        return Lowered(self.intern(Project(schema, input_, made)), tuple(ids))

    def with_columns(self, below: Lowered, exprs: Iterable[Expr]) -> tuple[Lowered, list[Column]]:
        """`below` with a column, after its own, for each of `exprs` that is not one already; and their columns."""
        wanted = list(exprs)
        computed = list(dict.fromkeys(expr for expr in wanted if not isinstance(expr, Column)))
        if not computed:
            return below, [expr for expr in wanted if isinstance(expr, Column)]
        width = len(below.ids)
        same = [Column(f.type, i) for i, f in enumerate(below.schema)]
        names = [f.name for f in below.schema] + [f"_key{i}" for i in range(len(computed))]
        # Nothing refers to the computed columns by an id of Catalyst's, which are never negative.
        widened = self.project(below, [*same, *computed], names, [*below.ids, *range(-len(computed), 0)])
        places = {expr: Column(expr.type, width + i) for i, expr in enumerate(computed)}
        return widened, [expr if isinstance(expr, Column) else places[expr] for expr in wanted]


def _substituted(expr: Expr, columns: tuple[Expr, ...]) -> Expr:
    """`expr` with each of its columns replaced."""
    if isinstance(expr, Column):
        return columns[expr.index]
    if isinstance(expr, Call):
        return dataclasses.replace(expr, args=tuple(_substituted(arg, columns) for arg in expr.args))
    return expr


def _shallow(value: Any) -> Hashable:
    """Stands for a field's value in a key: interned relations by identity, the rest by value."""
    if isinstance(value, Relation):
        return id(value)
    if isinstance(value, tuple):
        return tuple(map(_shallow, value))
    return value if isinstance(value, Hashable) else repr(value)


def field_of(name: str, expr: Expr, schema: Schema) -> Field:
    """The output field of `expr` over rows of `schema`."""
    time, end = follows_event_time(expr, schema), ends_window(expr, schema)
    return Field(name, expr.type, _nullable(expr, schema), time, end)


def _nullable(expr: Expr, schema: Schema) -> bool:
    if isinstance(expr, Column):
        return schema[expr.index].nullable
    if isinstance(expr, Literal):
        return expr.value is None
    return not (isinstance(expr, Call) and expr.function in ("TimeWindow", "SessionWindow", "IsNull", "IsNotNull"))


def event_times(below: Lowered) -> list[int]:
    """The columns that are event time, each once."""
    marked = {below.ids[i]: i for i, f in reversed(list(enumerate(below.schema))) if f.event_time and below.ids[i] >= 0}
    return sorted(marked.values())


def event_time(below: Lowered) -> int | None:
    """The column that is event time, None if there is none."""
    marked = event_times(below)
    if len(marked) > 1:
        names = ", ".join(below.schema[i].name for i in marked)
        raise UnsupportedPlan(
            "event time", f"there are several such columns ({names}) where state is kept, which Spark refuses too"
        )
    return marked[0] if marked else None


def attribute(tree: Tree) -> tuple[Field, int]:
    """The field and the expression id of an attribute of a leaf's output."""
    return Field(tree.fields["name"], spark_type(tree.fields["dataType"]), tree.fields["nullable"]), expr_id(tree)


def expr_id(tree: Tree) -> int:
    """The id of a named expression."""
    return int(tree.fields["exprId"]["id"])


RelationFunction = Callable[[PlanNode, PlanLowering], Lowered]
_RELATIONS: dict[str, RelationFunction] = {}


def lowers_relation(*names: str) -> Callable[[RelationFunction], RelationFunction]:
    """Register a function for the Catalyst plan nodes `names`."""

    def register(function: RelationFunction) -> RelationFunction:
        for name in names:
            if name in _RELATIONS:
                raise ValueError(f"{name} is registered twice")
            _RELATIONS[name] = function
        return function

    return register


def known() -> frozenset[str]:
    """The names of all plan nodes that can be lowered."""
    return frozenset(_RELATIONS)
