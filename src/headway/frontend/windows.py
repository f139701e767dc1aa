"""Time windows: recognised in the arithmetic that Catalyst's analysis makes of `window(...)`, and lowered to one call.

`TimeWindow(time)` is a struct of start and end, with options duration, slide, offset (microseconds) and index:
start = time - floormod(time - offset, slide) - index * slide, end = start + duration.
`SessionWindow(start, end)` is what `session_window(...)` makes of one row: a struct of its arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.graph import (
    Expand,
    Filter,
    Generate,
    Observe,
    Project,
    Relation,
    StaticJoin,
    Union,
    Watermark,
)
from headway.dataflow.types import Schema
from headway.dataflow.user_code import EvalPython
from headway.errors import UnsupportedPlan
from headway.frontend.expressions import Lowering, lowers
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.tree import Tree


@dataclass(frozen=True)
class _Bound:
    """A window's start or end as written in the plan; `duration` is None iff it is the start."""

    time: Tree
    type: T.DataType
    offset: int
    slide: int
    shift: int
    duration: int | None


def time_window(tree: Tree, lower: Lowering) -> Expr | None:
    """The window, or one bound of it, that `tree` computes; None if it does not compute one."""
    if tree.name == "CreateNamedStruct" and _is_window_struct(tree):
        start, end = _bound(tree.children[1]), _bound(tree.children[3])
        if start is None or end is None or end.duration is None:
            return _session(tree, lower)
        return _call(start, end.duration, lower)
    if tree.name != "KnownNullable" or (bound := _bound(tree)) is None:
        return None
    # A start alone does not tell how long its window is, and does not need to.
    window = _call(bound, bound.duration or bound.slide, lower)
    return Call(bound.type, "GetStructField", (window,), (("ordinal", 0 if bound.duration is None else 1),))


def _session(tree: Tree, lower: Lowering) -> Expr:
    """The window of one row: from its time to the end of its gap."""
    start, end = (_inside(child, "KnownNullable") for child in tree.children[1::2])
    bounds = [lower(bound.children[0].children[0]) for bound in (start, end)]
    kind = bounds[0].type
    struct = T.StructType([T.StructField("start", kind), T.StructField("end", kind)])
    return Call(struct, "SessionWindow", tuple(bounds))


def is_session(relation: Relation, column: int) -> bool:
    """Whether a column of `relation` is the session window of each row, not yet merged with others."""
    if isinstance(relation, Project):
        expr = relation.exprs[column]
        if isinstance(expr, Column):
            return is_session(relation.input, expr.index)
        return isinstance(expr, Call) and expr.function == "SessionWindow"
    if isinstance(relation, Union):
        return any(is_session(branch, column) for branch in relation.branches)
    if isinstance(relation, Generate):
        return column < len(relation.kept) and is_session(relation.input, relation.kept[column])
    if isinstance(relation, Expand):
        columns = [row[column] for row in relation.projections]
        if any(isinstance(expr, Column) and is_session(relation.input, expr.index) for expr in columns):
            raise UnsupportedPlan("session window in grouping sets", "a session window cannot be null")
    if isinstance(relation, Filter | Watermark | Observe | StaticJoin | EvalPython):
        return column < len(relation.input.schema) and is_session(relation.input, column)
    return False


def follows_event_time(expr: Expr, schema: Schema) -> bool:
    """Whether `expr` is event time as the watermark means it: the column, a window of it, or `window_time`."""
    if isinstance(expr, Column):
        return schema[expr.index].event_time
    if not isinstance(expr, Call):
        return False
    if expr.function in ("TimeWindow", "SessionWindow"):
        return follows_event_time(expr.args[0], schema)
    end = _end_in_window_time(expr)
    return end is not None and ends_window(end, schema)


def ends_window(expr: Expr, schema: Schema) -> bool:
    """Whether `expr` is the end of a window of event time. The optimizer may keep no more of a window than that, for
    `window_time` needs no more: it does so before an array becomes rows."""
    if isinstance(expr, Column):
        return schema[expr.index].window_end
    if not isinstance(expr, Call) or expr.function != "GetStructField" or expr.option("ordinal") != 1:
        return False
    return follows_event_time(expr.args[0], schema)


def _end_in_window_time(expr: Call) -> Expr | None:
    """`window_time(w)` is the last microsecond of w: its end as a number, minus one, as a timestamp again."""
    at: Expr = expr
    for function in ("PreciseTimestampConversion", "Subtract", "PreciseTimestampConversion"):
        if not isinstance(at, Call) or at.function != function:
            return None
        if function == "Subtract" and not (isinstance(at.args[1], Literal) and at.args[1].value == 1):
            return None
        at = at.args[0]
    return at


def _is_window_struct(tree: Tree) -> bool:
    """Also true of session windows, which convert timestamps in the same way."""
    names = [child.fields.get("value") for child in tree.children[::2]]
    return names == ["start", "end"] and all(
        _inside(child, "KnownNullable").name == "PreciseTimestampConversion" for child in tree.children[1::2]
    )


def _call(bound: _Bound, duration: int, lower: Lowering) -> Expr:
    time = lower(bound.time)
    struct = T.StructType([T.StructField("start", bound.type), T.StructField("end", bound.type)])
    options = (
        ("duration", duration),
        ("slide", bound.slide),
        ("offset", bound.offset),
        ("index", bound.shift // bound.slide),
    )
    return Call(struct, "TimeWindow", (time,), options)


def _bound(tree: Tree) -> _Bound | None:
    """Reads `(((time - CASE …) - shift) + duration)`, the last part only at an end."""
    conversion = _inside(tree, "KnownNullable")
    if conversion.name != "PreciseTimestampConversion" or conversion.fields["fromType"] != "long":
        return None
    body, duration = conversion.children[0], None
    if body.name == "Add":
        body, duration = body.children[0], _number(body.children[1])
        if duration is None:
            return None
    shifted = _pair(body, "Subtract")
    unshifted = _pair(shifted[0], "Subtract") if shifted else None
    if shifted is None or unshifted is None or (shift := _number(shifted[1])) is None:
        return None
    remainder = _remainder(unshifted[1])
    if remainder is None or remainder[0] != unshifted[0] or unshifted[0].name != "PreciseTimestampConversion":
        return None
    _, offset, slide = remainder
    to_type = spark_type(conversion.fields["toType"])
    return _Bound(unshifted[0].children[0], to_type, offset, slide, shift, duration)


def _remainder(tree: Tree) -> tuple[Tree, int, int] | None:
    """Time, offset and slide of `CASE WHEN r < 0 THEN r + slide ELSE r END` where r is `(time - offset) % slide`."""
    if tree.name != "CaseWhen" or len(tree.children) != 3:
        return None
    test, negative, r = tree.children
    modulo = _pair(r, "Remainder")
    distance = _pair(modulo[0], "Subtract") if modulo else None
    if modulo is None or distance is None:
        return None
    offset, slide = _number(distance[1]), _number(modulo[1])
    less, more = _pair(test, "LessThan"), _pair(negative, "Add")
    if offset is None or slide is None or less is None or more is None:
        return None
    whole = less[0] == r and _number(less[1]) == 0 and more[0] == r and _number(more[1]) == slide
    return (distance[0], offset, slide) if whole else None


def _pair(tree: Tree, name: str) -> tuple[Tree, Tree] | None:
    return (tree.children[0], tree.children[1]) if tree.name == name else None


def _number(tree: Tree) -> int | None:
    return int(tree.fields["value"]) if tree.name == "Literal" and tree.fields["dataType"] == "long" else None


def _inside(tree: Tree, wrapper: str) -> Tree:
    return tree.children[0] if tree.name == wrapper else tree


@lowers("PreciseTimestampConversion")
def _conversion(tree: Tree, lower: Lowering) -> Expr:
    return Call(spark_type(tree.fields["toType"]), tree.name, (lower(tree.children[0]),))
