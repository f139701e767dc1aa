"""Lowering of joins of two streams, and when rows of each side can match nothing any more.

1. With event time among the keys, rows end when the watermark has reached their key.
2. Else a condition that orders the times of both sides bounds how far apart they are: `right + c < left` and a
   watermark w on the right leave no match to rows of the left up to w + c. Such conditions are those that Spark solves:
   sums of one time of each side and of constants.
3. Without either, rows are kept for ever, as Spark keeps them.
4. Rows of a join have the times of both its sides, and Spark refuses state behind it that sees more than one. Here an
   inner or semi join takes them: which of the times makes a row late nobody can say, so none does, and no watermark on
   such rows ends those of the other side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.graph import Ending, JoinSide, StreamJoin
from headway.dataflow.types import Schema
from headway.errors import UnsupportedPlan
from headway.frontend.matching import Matching, all_of, matching, over
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Lowered, PlanLowering, event_time, event_times
from headway.frontend.tree import Tree

_HOW = {
    "Inner": "inner",
    "Cross": "inner",
    "LeftOuter": "left",
    "RightOuter": "right",
    "FullOuter": "full",
    "LeftSemi": "semi",
}
_ORDERED = {
    "LessThan": (0, 1, False),
    "LessThanOrEqual": (0, 1, True),
    "GreaterThan": (1, 0, False),
    "GreaterThanOrEqual": (1, 0, True),
}
"""Which argument is the lower one, which the higher, and whether they may be equal."""
_UNITS = {"DAY": 86_400_000_000, "MICROSECOND": 1}
"""Microseconds, of what intervals of the calendar are made of; a day is one of 24 hours here, as in Spark."""


def stream_join(node: PlanNode, lower: PlanLowering, join_type: str) -> Lowered:
    how = _HOW.get(join_type)
    if how is None:
        raise UnsupportedPlan("plan node Join", f"{join_type} of two streams is not supported")
    left, right = (lower(child) for child in node.children)
    found = matching(node, lower, left, right)
    if not found.left_keys:
        raise UnsupportedPlan(
            "plan node Join", "a join of two streams without an equality between them, which Spark refuses too"
        )
    wide_left, left_keys = lower.with_columns(left, found.left_keys)
    wide_right, right_keys = lower.with_columns(right, found.right_keys)
    sides = (wide_left, wide_right)
    keys = tuple(tuple(key.index for key in side) for side in (left_keys, right_keys))
    if [key.type for key in left_keys] != [key.type for key in right_keys]:
        raise UnsupportedPlan("plan node Join", "its keys have other types on the left than on the right")
    own, common = _split(found, lower, sides)
    ends = _key_endings(sides, keys) or _value_endings(sides, common)
    times = [_late_by(side, how) for side in sides]
    described = [JoinSide(time, end, all_of(c)) for time, end, c in zip(times, ends, own, strict=True)]
    relation = StreamJoin(
        _schema(how, wide_left.schema, wide_right.schema),
        tuple(side.relation for side in sides),
        keys,
        how,
        (described[0], described[1]),
        all_of(common),
    )
    ids = wide_left.ids if how == "semi" else wide_left.ids + wide_right.ids
    return _without_keys(lower, Lowered(lower.intern(relation), ids))


def _schema(how: str, left: Schema, right: Schema) -> Schema:
    if how == "semi":
        return left
    left = tuple(f._replace(nullable=f.nullable or how in ("right", "full")) for f in left)
    return left + tuple(f._replace(nullable=f.nullable or how in ("left", "full")) for f in right)


def _without_keys(lower: PlanLowering, joined: Lowered) -> Lowered:
    """Without the columns that were added for keys: their ids are negative."""
    kept = [i for i, id_ in enumerate(joined.ids) if id_ >= 0]
    exprs = [Column(joined.schema[i].type, i) for i in kept]
    return lower.project(joined, exprs, [joined.schema[i].name for i in kept], [joined.ids[i] for i in kept])


def _split(found: Matching, lower: PlanLowering, sides: Sequence[Lowered]) -> tuple[list[list[Expr]], list[Expr]]:
    """The conditions of each side alone, over its columns, and those of both, over the left's, then the right's."""
    own: list[list[Expr]] = [[], []]
    common: list[Expr] = []
    scopes = [lower.expressions(side) for side in sides]
    both = lower.expressions(*sides)
    for conjunct in found.others:
        side = _alone(conjunct, found)
        if side is None:
            common.append(both(conjunct))
        else:
            own[side].append(scopes[side](conjunct))
    return own, common


def _alone(conjunct: Tree, found: Matching) -> int | None:
    return next((i for i, side in enumerate((found.left, found.right)) if over(conjunct, side)), None)


def _key_endings(sides: Sequence[Lowered], keys: tuple[tuple[int, ...], ...]) -> list[Ending | None] | None:
    """Rule 1; None if no key is event time."""
    for side, own in zip(sides, keys, strict=True):
        for place, key in enumerate(own):
            if side.schema[key].event_time and side.ids[key] >= 0:
                return [Ending(columns[place]) for columns in keys]
    return None


def _late_by(side: Lowered, how: str) -> int | None:
    """Rule 4."""
    times = event_times(side)
    return times[0] if len(times) == 1 else event_time(side) if how not in ("inner", "semi") else None


def _value_endings(sides: Sequence[Lowered], common: Sequence[Expr]) -> list[Ending | None]:
    """Rule 2, for each side."""
    width = len(sides[0].ids)
    left, right = event_times(sides[0]), [width + time for time in event_times(sides[1])]
    return [_ending(common, left, right, 0), _ending(common, right, left, width)]


def _ending(common: Sequence[Expr], own: Sequence[int], others: Sequence[int], first: int) -> Ending | None:
    """Of the side whose times are the columns `own` of both, and whose columns begin at `first`, given a watermark on
    the time of the other side."""
    for time in own if len(others) == 1 else ():
        shifts = tuple(shift for condition in common for shift in _shifts(condition, time, others[0]))
        if shifts:
            return Ending(time - first, shifts)
    return None


def _shifts(condition: Expr, own: int, other: int) -> Iterator[tuple[int, bool]]:
    """If `condition` says `other + c < own`: c, and whether they may be equal."""
    if not isinstance(condition, Call) or condition.function not in _ORDERED:
        return
    low, high, closed = _ORDERED[condition.function]
    terms = _terms(condition.args[low], 1), _terms(condition.args[high], -1)
    if terms[0] is None or terms[1] is None:
        return
    columns = terms[0].columns + terms[1].columns
    if sorted(columns) == sorted([(other, 1), (own, -1)]):
        yield int(terms[0].micros + terms[1].micros), closed


class _Sum(NamedTuple):
    """Columns with their signs, and the constants' sum in microseconds."""

    columns: tuple[tuple[int, int], ...]
    micros: float


def _terms(expr: Expr, sign: int) -> _Sum | None:
    """`expr` as a sum; numbers count as seconds. None if it is not one."""
    if isinstance(expr, Column):
        return _Sum(((expr.index, sign),), 0.0)
    if isinstance(expr, Literal):
        return _constant(expr, sign)
    assert isinstance(expr, Call)
    if expr.function == "TimestampAddInterval":
        return _plus(_terms(expr.args[0], sign), _Sum((), sign * float(expr.option("micros"))))
    if expr.function == "TimestampAdd" and isinstance(expr.args[0], Literal) and expr.option("unit") in _UNITS:
        micros = float(expr.args[0].value or 0) * _UNITS[expr.option("unit")]
        return _plus(_terms(expr.args[1], sign), _Sum((), sign * micros))
    if expr.function in ("Add", "Subtract"):
        return _plus(_terms(expr.args[0], sign), _terms(expr.args[1], sign if expr.function == "Add" else -sign))
    if expr.function == "UnaryMinus":
        return _terms(expr.args[0], -sign)
    if expr.function == "Cast" and isinstance(expr.type, T.NumericType | T.TimestampType):
        return _terms(expr.args[0], sign)
    return None


def _constant(literal: Literal, sign: int) -> _Sum | None:
    if literal.value is None:
        return None
    if isinstance(literal.type, T.DayTimeIntervalType):
        return _Sum((), sign * float(literal.value))
    return _Sum((), sign * float(literal.value) * 1e6) if isinstance(literal.type, T.NumericType) else None


def _plus(one: _Sum | None, other: _Sum | None) -> _Sum | None:
    if one is None or other is None:
        return None
    return _Sum(one.columns + other.columns, one.micros + other.micros)
