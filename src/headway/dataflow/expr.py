"""Expressions over the columns of one batch: immutable, typed, comparable and hashable.

1. `Column` is a position in the input batch, never a name: names may repeat in Spark.
2. `Call.function` is the simple name of Catalyst's expression class ("Add", "CaseWhen"), so one word serves the
   frontend's registry, both kernel tiers and error messages.
3. `Variable` is an argument of the lambda around it, by its level: lambdas outside have lower ones.
4. What is not a column of rows (a format's pattern, a rounding scale, ANSI or not) is an option, a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as T


@dataclass(frozen=True, slots=True)
class Expr:
    """Base of expressions; `type` is the Spark type of the result."""

    type: T.DataType

    @property
    def children(self) -> tuple[Expr, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Column(Expr):
    """The input column at `index`."""

    index: int

    def __str__(self) -> str:
        return f"#{self.index}"


@dataclass(frozen=True, slots=True)
class Variable(Expr):
    """An argument of a lambda. The batch on which the lambda's body is evaluated has a column named `name`."""

    level: int

    @property
    def name(self) -> str:
        return f"lambda {self.level}"

    def __str__(self) -> str:
        return f"x{self.level}"


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant: bool, int, float, Decimal, str, bytes or None; timestamps are microseconds, dates days (ints).

    Arrays and structs are tuples of such, maps tuples of pairs.
    """

    value: Any

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A function of Spark's applied to expressions."""

    function: str
    args: tuple[Expr, ...]
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args

    def option(self, name: str) -> Any:
        return dict(self.options)[name]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


def moved(expr: Expr, places: Mapping[int, int] | Sequence[int]) -> Expr:
    """`expr` with its columns at other places.

    >>> str(moved(Call(T.LongType(), "Add", (Column(T.LongType(), 0), Column(T.LongType(), 2))), {0: 1, 2: 0}))
    'Add(#1, #0)'
    """
    if isinstance(expr, Column):
        return Column(expr.type, places[expr.index])
    if isinstance(expr, Call):
        return Call(expr.type, expr.function, tuple(moved(arg, places) for arg in expr.args), expr.options)
    return expr


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything below it, parents first."""
    yield expr
    for child in expr.children:
        yield from walk(child)


def conjuncts(condition: Expr) -> list[Expr]:
    """The conditions that must all be true for `condition` to be, in the order in which they are evaluated.

    >>> [str(part) for part in conjuncts(Call(T.BooleanType(), "And", (Literal(T.BooleanType(), True),) * 2))]
    ['True', 'True']
    """
    if isinstance(condition, Call) and condition.function == "And":
        return [part for arg in condition.args for part in conjuncts(arg)]
    return [condition]
