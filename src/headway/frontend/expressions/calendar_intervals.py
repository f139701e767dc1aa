"""Intervals of the calendar (months, days, microseconds) as three expressions: they are no column of their own here.

Calls: `IntervalDays(text)` and `IntervalMicros(text)`, null where the text is no interval.
"""

from __future__ import annotations

import re

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.errors import InvalidOption, UnsupportedPlan
from headway.frontend.expressions.registry import Lowering
from headway.frontend.tree import Tree
from headway.intervals import calendar

Parts = tuple[Expr, Expr, Expr]
_LONG = T.LongType()
_TYPE = "interval"
_MICROS = (3_600_000_000, 60_000_000)
_MONTHS = re.compile(r"(-?\d+) (year|month)s ?")


def calendar_interval(tree: Tree, lowering: Lowering) -> Parts | None:
    """The months, days and microseconds of an interval of the calendar; None if `tree` is none."""
    if tree.name == "Literal" and tree.fields["dataType"] == _TYPE:
        return _literal(tree)
    if tree.name == "Cast" and tree.fields["dataType"] == _TYPE:
        text = lowering(tree.children[0])
        # Texts are the gaps of sessions, which have no months.
        return Literal(_LONG, 0), Call(_LONG, "IntervalDays", (text,)), Call(_LONG, "IntervalMicros", (text,))
    if tree.name == "MakeInterval":
        return _made(tree, lowering)
    return _chosen(tree, lowering) if tree.name in ("If", "CaseWhen", "Coalesce") else None


def _literal(tree: Tree) -> Parts:
    written = tree.fields["value"]
    if written is None:
        return Literal(_LONG, None), Literal(_LONG, None), Literal(_LONG, None)
    months = sum(int(count) * (12 if unit == "year" else 1) for count, unit in _MONTHS.findall(written))
    rest = _MONTHS.sub("", written)
    try:
        days, micros = calendar(rest) if rest else (0, 0)
    except InvalidOption as error:
        raise UnsupportedPlan(f"interval {written}", str(error)) from None
    return Literal(_LONG, months), Literal(_LONG, days), Literal(_LONG, micros)


def _made(tree: Tree, lowering: Lowering) -> Parts:
    years, months, weeks, days, hours, minutes, seconds = map(lowering, tree.children[:7])
    ansi = bool(tree.fields["failOnError"])
    micros: Expr = Call(_LONG, "UnscaledValue", (seconds,))
    for part, length in zip((hours, minutes), _MICROS, strict=True):
        micros = _plus(micros, _times(part, length, ansi, lowering), ansi)
    every = _plus(_times(years, 12, ansi, lowering), _times(months, 1, ansi, lowering), ansi)
    return every, _plus(_times(weeks, 7, ansi, lowering), _times(days, 1, ansi, lowering), ansi), micros


def _times(count: Expr, length: int, ansi: bool, lowering: Lowering) -> Expr:
    if isinstance(count, Literal):
        return Literal(_LONG, None if count.value is None else count.value * length)
    long = Call(_LONG, "Cast", (count,), (("time_zone", lowering.time_zone), ("ansi", ansi)))
    return Call(_LONG, "Multiply", (long, Literal(_LONG, length)), (("ansi", ansi),))


def _plus(left: Expr, right: Expr, ansi: bool) -> Expr:
    if isinstance(left, Literal) and isinstance(right, Literal) and None not in (left.value, right.value):
        return Literal(_LONG, left.value + right.value)
    return Call(_LONG, "Add", (left, right), (("ansi", ansi),))


def _chosen(tree: Tree, lowering: Lowering) -> Parts | None:
    """A conditional whose values are such intervals, as one for each of their parts."""
    count = len(tree.children)
    last = [count - 1] if tree.name == "CaseWhen" and count % 2 else []
    places = {"If": [1, 2], "CaseWhen": [*range(1, count, 2), *last], "Coalesce": list(range(count))}[tree.name]
    values = {at: calendar_interval(tree.children[at], lowering) for at in places}
    if any(value is None for value in values.values()):
        return None
    sides = []
    for side in range(3):
        args = [value[side] if (value := values.get(at)) else lowering(c) for at, c in enumerate(tree.children)]
        if tree.name == "CaseWhen" and count % 2 == 0:
            args.append(Literal(_LONG, None))
        sides.append(Call(_LONG, tree.name, tuple(args)))
    return sides[0], sides[1], sides[2]
