"""Writes the source of one kernel function, statement by statement.

1. Constants are parameters: source is a chain's shape, and two queries of one shape give the same source.
2. A value is computed where it is first needed and found again below that place, never outside its branch: what a
   branch that is not taken would compute must not raise.
3. An expression that may fail leaves the function with an error code; nobody needs the row, the batch is run again
   interpreted to tell the user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.kernels.compiled.values import AnyValue, NotCompilable, Struct, Value, is_float, storage, zero

if TYPE_CHECKING:
    from headway.kernels.compiled.quick import Quick

ROW_ERROR = 1
SUM_OVERFLOW = 2
Resolver = Callable[[], AnyValue]


@dataclass
class Parameters:
    """The constants of one chain, in the order in which the source names them."""

    integers: list[int] = field(default_factory=list)
    floats: list[float] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)

    def integer(self, value: int) -> str:
        self.integers.append(value)
        return f"n{len(self.integers) - 1}"

    def real(self, value: float) -> str:
        self.floats.append(value)
        return f"r{len(self.floats) - 1}"

    def array(self, values: np.ndarray) -> str:
        """The address of an array, which lives as long as the kernel does."""
        self.arrays.append(np.ascontiguousarray(values))
        return self.integer(self.arrays[-1].ctypes.data)

    def preamble(self) -> list[str]:
        integers = [f"n{i} = constants[{i}]" for i in range(len(self.integers))]
        return integers + [f"r{i} = reals[{i}]" for i in range(len(self.floats))]


@dataclass(frozen=True)
class Ref:
    """A column, computed when called; `origin` is the input column it is a copy of.

    `missing` gives whether it is null without its value, which may be of a type that kernels do not have.
    """

    compute: Resolver
    origin: int | None = None
    missing: Callable[[], str] | None = None

    def __call__(self) -> AnyValue:
        return self.compute()


@dataclass(frozen=True, eq=False)
class Scope:
    """The columns that expressions of one step see."""

    columns: tuple[Ref, ...]


class Emitter:
    """The function being written. `nullable` tells whether batches of this variant may have nulls."""

    def __init__(self, nullable: bool) -> None:
        self.nullable = nullable
        self.parameters = Parameters()
        self.preamble: list[str] = []
        self.raises = False
        self.used: dict[int, T.DataType] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.quick: Quick | None = None
        """Not None iff a row is written that may have a quick way to its group."""
        self._names = 0
        self._known: list[dict[object, AnyValue]] = [{}]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, prefix: str = "t") -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def let(self, code: str, prefix: str = "t") -> str:
        """A name for the value of `code`; constants and names stay as they are."""
        if code.isidentifier():
            return code
        name = self.name(prefix)
        self.line(f"{name} = {code}")
        return name

    def state(self, initial: str, prefix: str = "s") -> str:
        """A variable that lives through the whole call."""
        name = self.name(prefix)
        self.preamble.append(f"{name} = {initial}")
        return name

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Statements below `header`; what they compute is not known after it."""
        self.line(header)
        self.depth += 1
        self._known.append({})
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self._known.pop()
        self.depth -= 1

    @contextmanager
    def at(self, depth: int) -> Iterator[None]:
        """Statements that are so deep."""
        before, self.depth = self.depth, depth
        yield
        self.depth = before

    @contextmanager
    def attempt(self) -> Iterator[Attempt]:
        """Statements set aside, with the answer whether one of them may fail; `keep` or drop them afterwards."""
        attempt = Attempt(self, self.lines, self.raises, self._known)
        self.lines, self.raises, self._known = [], False, [*self._known, {}]
        yield attempt
        attempt.close(self.lines, self.raises, self._known[-1])
        self.lines, self.raises, self._known = attempt.before, attempt.raised_before, attempt.known_before

    def extend(self, lines: list[str], deeper: int = 0) -> None:
        self.lines.extend("    " * deeper + line for line in lines)

    def remember(self, known: dict[object, AnyValue]) -> None:
        self._known[-1].update(known)

    def fail_if(self, condition: str, code: int = ROW_ERROR) -> None:
        """Leave the kernel where `condition` holds."""
        if condition == "False":
            return
        self.raises = True
        self.line(f"if {condition}: return {code}")

    def once(self, key: object, compute: Resolver) -> AnyValue:
        """The value known by `key` here, computed if it is not."""
        for known in reversed(self._known):
            if key in known:
                return known[key]
        value = compute()
        self._known[-1][key] = value
        return value

    def value(self, expr: Expr, scope: Scope) -> AnyValue:
        """The value of `expr` for the current row."""
        if isinstance(expr, Column):
            return scope.columns[expr.index]()
        if isinstance(expr, Literal):
            return self.constant(expr)
        assert isinstance(expr, Call)
        return self.once((scope, expr), lambda: compile_call(expr, self, scope))

    def null(self, expr: Expr, scope: Scope) -> str:
        """Whether `expr` is null for the current row."""
        missing = scope.columns[expr.index].missing if isinstance(expr, Column) else None
        return missing() if missing else self.value(expr, scope).null

    def scalar(self, expr: Expr, scope: Scope) -> Value:
        value = self.value(expr, scope)
        if isinstance(value, Struct):
            raise NotCompilable(f"{expr} is a struct where a value is needed")
        return value

    def constant(self, literal: Literal) -> Value:
        if literal.value is None:
            return Value(zero(literal.type), "True")
        kind = storage(literal.type)
        if kind == "bit":
            return Value("True" if literal.value else "False")
        if is_float(literal.type):
            real = self.parameters.real(float(literal.value))
            return Value(real if kind == "f64" else self.let(f"f32({real})"))
        return Value(self.parameters.integer(int(literal.value)))

    def source(self, name: str) -> list[str]:
        """The finished function."""
        top = [*self.parameters.preamble(), *self.preamble]
        return [f"def {name}(header, constants, reals):", *("    " + line for line in top), *self.lines]


@dataclass
class Attempt:
    """Statements that were set aside, and what was there before."""

    emitter: Emitter
    before: list[str]
    raised_before: bool
    known_before: list[dict[object, AnyValue]]
    lines: list[str] = field(default_factory=list)
    raises: bool = False
    known: dict[object, AnyValue] = field(default_factory=dict)

    def close(self, lines: list[str], raises: bool, known: dict[object, AnyValue]) -> None:
        self.lines, self.raises, self.known = lines, raises, known

    def keep(self) -> None:
        """Put the statements here."""
        self.emitter.extend(self.lines)
        self.emitter.remember(self.known)
        self.emitter.raises |= self.raises

    def keep_under(self, header: str, last: list[str]) -> None:
        """Put the statements into a block, `last` at its end."""
        self.emitter.line(header)
        self.emitter.extend(self.lines, 1)
        with_indent = ["    " + line for line in last]
        for line in with_indent:
            self.emitter.line(line)
        self.emitter.raises |= self.raises


Compiles = Callable[[Call, Emitter, Scope], AnyValue]
_COMPILES: dict[str, Compiles] = {}


def compiles(*names: str) -> Callable[[Compiles], Compiles]:
    """Register a function for the expression classes `names`."""

    def register(function: Compiles) -> Compiles:
        _COMPILES.update(dict.fromkeys(names, function))
        return function

    return register


def compilable() -> frozenset[str]:
    """The names of all expression classes that have a compiled form."""
    return frozenset(_COMPILES)


def compile_call(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    found = _COMPILES.get(call.function)
    if found is None:
        why = "works on strings" if isinstance(call.type, T.StringType | T.BinaryType) else "has no compiled form"
        raise NotCompilable(f"expression {call.function} {why}")
    if any(isinstance(part.type, T.DecimalType) for part in (call, *call.args)):
        raise NotCompilable(f"expression {call.function} works on decimals")
    return found(call, emitter, scope)
