"""Writes a chain as the source of a kernel: a loop over blocks of rows, and in it the steps, nested.

1. A block is first reduced to the rows that pass the leading filter, without a branch per row (a filter that lets
   through a third of the rows would be mispredicted every third row); the other steps then run row by row. Of a filter
   that may fail, that is done with the conditions before the first that may: they decide which rows reach it.
2. A projection writes nothing: its expressions are computed where something needs them.
3. The source depends on the chain's shape alone; two variants are written, for batches with and without nulls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import takewhile
from typing import Any

from headway.dataflow.expr import Call, Column, Expr, conjuncts
from headway.dataflow.graph import Expand, Filter, Project, Relation, StaticJoin, Watermark
from headway.kernels.api import Chain
from headway.kernels.compiled import layout
from headway.kernels.compiled.aggregation import (
    AggregationPlan,
    write_aggregation,
    write_approach,
    write_full_check,
    write_hash,
)
from headway.kernels.compiled.emitter import Emitter, Ref, Scope
from headway.kernels.compiled.expansion import expanded
from headway.kernels.compiled.inputs import inputs_of, is_plain
from headway.kernels.compiled.lookup import write_lookup
from headway.kernels.compiled.output import OutputPlan, write_output
from headway.kernels.compiled.quick import Quick, write_row
from headway.kernels.compiled.values import AnyValue, NotCompilable, Struct, Value, both, negate, storage


@dataclass
class Variant:
    """One function of a kernel: its source, its constants, the input columns it reads."""

    name: str
    source: list[str]
    emitter: Emitter
    aggregation: AggregationPlan | None
    output: OutputPlan | None


def write(chain: Chain, nullable: bool, like: AggregationPlan | None = None) -> Variant:
    """The kernel function of `chain`; `like` is the group layout of the other variant, which shares the groups."""
    writer = _Writer(chain, nullable, like)
    writer.write()
    name = "with_nulls" if nullable else "without_nulls"
    return Variant(name, writer.emitter.source(name), writer.emitter, writer.aggregation, writer.output)


class _Writer:
    def __init__(self, chain: Chain, nullable: bool, like: AggregationPlan | None) -> None:
        self.chain = chain
        self.steps: list[Relation] = list(chain.steps)
        """What is written; the leading filter may be cut in two."""
        self.selects = False
        """True iff blocks are reduced to a selection of their rows."""
        self.parts = False
        """True iff the rows of a block are taken in parts."""
        self.ahead = False
        """True iff the hashes of a part's keys may be computed before the rest."""
        self.emitter = Emitter(nullable)
        self.inputs = inputs_of(chain.input.schema)
        self.numbers = {column.path: number for number, column in enumerate(self.inputs)}
        self.aggregation = like
        self.output: OutputPlan | None = None
        self.fan_out = 1
        for step in chain.steps:
            self.fan_out *= len(step.projections) if isinstance(step, Expand) else 1

    def write(self) -> None:
        emitter = self.emitter
        emitter.preamble += [f"rows = header[{layout.ROWS}]", f"latest = header[{layout.TIME}]", "out = i64(0)"]
        scope = Scope(tuple(self._input(i) for i in range(len(self.chain.input.schema))))
        with emitter.block(f"for begin in range(header[{layout.FROM}], rows, {layout.BLOCK}):"):
            emitter.line(f"end = min(begin + {layout.BLOCK}, rows)")
            done = self._leading(scope)
            with self._parts(done):
                self._hash_ahead(scope)
                with self._rows():
                    self._row(done, self._after(scope, done))
        self._finish()

    def _row(self, done: int, scope: Scope) -> None:
        """Write the steps that are left for one row, and a quick way to its group if there is one."""
        aggregate, emitter = self.chain.aggregate, self.emitter
        if aggregate is None or not aggregate.keys or self.fan_out > 1:
            self._full_check()
            self._steps(done, scope)
            return
        near = emitter.state("i64(0)", "near")
        with emitter.attempt() as body:
            quick = emitter.quick = Quick(near, emitter.lines)
            self._steps(done, scope)
            emitter.quick = None
        write_row(body, quick, emitter)

    @contextmanager
    def _parts(self, done: int) -> Iterator[None]:
        """A loop over parts of the block, if nearly every row that is left has a group."""
        aggregate = self.chain.aggregate
        self.parts = aggregate is not None and bool(aggregate.keys) and all(map(_keeps_most, self.steps[done:]))
        if not self.parts:
            yield
            return
        first, last = ("0", "selected") if self.selects else ("begin", "end")
        with self.emitter.block(f"for part in range({first}, {last}, {layout.PART}):"):
            self.emitter.line(f"stop = min(part + {layout.PART}, {last})")
            yield

    @contextmanager
    def _rows(self) -> Iterator[None]:
        """A loop over the rows of the block, or of the part of it, that are left."""
        row, whole = ("j", "selected") if self.selects else ("i", "begin, end")
        with self.emitter.block(f"for {row} in range({'part, stop' if self.parts else whole}):"):
            if self.selects:
                self.emitter.line("i = load_i32(selection, j)")
            yield

    @property
    def _place(self) -> str:
        """The row's number among those of the part."""
        return "j - part" if self.selects else "i - part"

    def _hash_ahead(self, scope: Scope) -> None:
        """Write a pass over the part in which keys are hashed and their groups' memory is asked for, if finding the
        keys cannot fail."""
        emitter, aggregate = self.emitter, self.chain.aggregate
        if not self.parts or aggregate is None:
            return
        with emitter.attempt() as attempt:
            emitter.line(f"ahead = groups > {layout.FAR} and key_range == 0")
            with emitter.block("if ahead:"):
                with self._rows():
                    write_hash(aggregate, emitter, self._after(scope, len(self.steps)), self.aggregation, self._place)
                with self._rows():
                    write_approach(emitter, self._place)
        self.ahead = not attempt.raises
        if self.ahead:
            attempt.keep()

    def _finish(self) -> None:
        groups = [f"header[{layout.GROUPS}] = groups"] if self.chain.aggregate else []
        for line in [f"header[{layout.TIME}] = latest", f"header[{layout.OUT}] = out", *groups]:
            self.emitter.line(line)
        self.emitter.line(f"return {layout.DONE}")

    def _full_check(self) -> None:
        """A row that gives one group finds out where it makes that one; one that gives more takes none or all."""
        if self.chain.aggregate is not None and self.chain.aggregate.keys and self.fan_out > 1:
            write_full_check(self.fan_out, self.emitter)

    def _input(self, index: int) -> Ref:
        def load() -> AnyValue:
            kind = self.inputs[index].type
            if is_plain(kind):
                fields = (self.numbers[index, field] for field in range(len(kind)))
                return Struct(tuple(map(self._load, fields)), self._missing(index))
            return self._load(index)

        return Ref(lambda: self.emitter.once(("input", index), load), index, lambda: self._missing(index))

    def _load(self, number: int) -> Value:
        kind = storage(self.inputs[number].type)
        self._declare(number)
        code = f"bit(c{number}, o{number} + i)" if kind == "bit" else f"load_{kind}(c{number}, i)"
        return Value(self.emitter.let(code), self._missing(number))

    def _missing(self, number: int) -> str:
        def null() -> Value:
            self._declare(number)
            nullable = self.emitter.nullable and self.inputs[number].nullable
            return Value("False", self.emitter.let(f"not bit(v{number}, o{number} + i)" if nullable else "False"))

        return self.emitter.once(("null", number), null).null

    def _declare(self, number: int) -> None:
        """Have the column's addresses at hand."""
        if number not in self.emitter.used:
            self.emitter.used[number] = self.inputs[number].type
            slot = layout.column_slot(number)
            names = (f"c{number}", f"v{number}", f"o{number}")
            self.emitter.preamble += [f"{name} = header[{slot + n}]" for n, name in enumerate(names)]

    def _leading(self, scope: Scope) -> int:
        """Write the leading steps that work on whole blocks; how many of the steps that covers."""
        for position, step in enumerate(self.steps):
            if isinstance(step, Filter):
                self.selects = self._select(position, step, self._after(scope, position))
                if self.selects:
                    self._watermarks(scope, position)
                    return position + 1
            if not isinstance(step, Project | Watermark):
                break
        return 0

    def _select(self, position: int, step: Filter, scope: Scope) -> bool:
        """Write the selection by a filter, or by the conditions of it before the first that may fail: these become a
        filter of their own. Whether there is one."""
        if self._selection(step.condition, scope):
            return True
        parts = conjuncts(step.condition)
        safe = list(takewhile(lambda part: self._decides(part, scope), parts))
        if not safe:
            return False
        first, rest = reduce(_both, safe), reduce(_both, parts[len(safe) :])
        self.steps[position : position + 1] = [replace(step, condition=first), replace(step, condition=rest)]
        return self._selection(first, scope)

    def _decides(self, condition: Expr, scope: Scope) -> bool:
        """Whether a condition cannot fail and is never null: what follows a null one is evaluated too."""
        with self.emitter.attempt() as attempt:
            value = self.emitter.scalar(condition, scope)
        return not attempt.raises and value.null == "False"

    def _selection(self, condition: Expr, scope: Scope) -> bool:
        """Write the rows of the block that pass, unless computing the condition may fail."""
        emitter = self.emitter
        with emitter.attempt() as attempt:
            emitter.line("selected = i64(0)")
            with emitter.block("for i in range(begin, end):"):
                value = emitter.scalar(condition, scope)
                emitter.line("store_i32(selection, selected, i64(i))")
                emitter.line(f"selected += i64({both(value.code, negate(value.null))})")
        if attempt.raises:
            return False
        emitter.preamble.append(f"selection = header[{layout.SELECTION}]")
        attempt.keep()
        return True

    def _watermarks(self, scope: Scope, until: int) -> None:
        """The watermark before the leading filter sees all rows of the block."""
        for position, step in enumerate(self.steps[:until]):
            if isinstance(step, Watermark):
                with self.emitter.block("for i in range(begin, end):"):
                    self._watermark(step, self._after(scope, position))

    def _watermark(self, step: Watermark, scope: Scope) -> None:
        if self.emitter.quick is not None:
            self.emitter.quick.refuse_after()
        time = self.emitter.scalar(Column(step.schema[step.column].type, step.column), scope)
        later = both(f"({time.code} > latest)", negate(time.null))
        self.emitter.line(f"latest = {time.code} if {later} else latest")

    def _after(self, scope: Scope, count: int) -> Scope:
        """What is visible after the first `count` steps, which change no rows."""
        for step in self.steps[:count]:
            if isinstance(step, Project):
                scope = self._projected(step.exprs, scope)
        return scope

    def _projected(self, exprs: tuple[Expr, ...], scope: Scope) -> Scope:
        return Scope(tuple(self._deferred(expr, scope) for expr in exprs))

    def _deferred(self, expr: Expr, scope: Scope) -> Ref:
        if isinstance(expr, Column):
            return scope.columns[expr.index]
        return Ref(lambda: self.emitter.value(expr, scope))

    def _steps(self, position: int, scope: Scope) -> None:
        """Write the steps from `position` on, for one row."""
        if position == len(self.steps):
            self._end(scope)
            return
        step = self.steps[position]
        match step:
            case Project():
                self._steps(position + 1, self._projected(step.exprs, scope))
            case Watermark():
                self._watermark(step, scope)
                self._steps(position + 1, scope)
            case Filter():
                value = self.emitter.scalar(step.condition, scope)
                self._nested(f"if {both(value.code, negate(value.null))}:", position + 1, scope)
            case Expand():
                counter = self.emitter.name("e")
                with self.emitter.block(f"for {counter} in range({len(step.projections)}):"):
                    self._steps(position + 1, expanded(step, counter, self.emitter, scope))
            case StaticJoin():
                condition, joined = write_lookup(step, self.emitter, scope)
                self._nested(f"if {condition}:", position + 1, joined)
            case _:
                raise NotCompilable(f"{type(step).__name__} has no compiled form")

    def _nested(self, header: str, position: int, scope: Scope) -> None:
        if header == "if True:":
            self._steps(position, scope)
            return
        if self.emitter.quick is not None and not isinstance(self.steps[position - 1], StaticJoin):
            self.emitter.quick.refuse_after()
        with self.emitter.block(header):
            self._steps(position, scope)

    def _end(self, scope: Scope) -> None:
        if self.chain.aggregate is not None:
            ahead = self._place if self.ahead else None
            self.aggregation = write_aggregation(self.chain.aggregate, self.emitter, scope, self.aggregation, ahead)
            return
        steps: tuple[Any, ...] = self.chain.steps
        one_to_one = all(isinstance(s, Project | Watermark) or _keeps_all(s) for s in steps)
        schema = steps[-1].schema if steps else self.chain.input.schema
        self.output = write_output(schema, one_to_one, len(self.inputs), self.emitter, scope)


def _both(left: Expr, right: Expr) -> Expr:
    return Call(left.type, "And", (left, right))


def _keeps_most(step: Relation) -> bool:
    """Whether nearly every row is expected to come through: filters that only ask for nulls are Catalyst's mostly."""
    if isinstance(step, Filter):
        return all(isinstance(part, Call) and part.function == "IsNotNull" for part in conjuncts(step.condition))
    return isinstance(step, Project | Watermark)


def _keeps_all(step: Relation) -> bool:
    return isinstance(step, StaticJoin) and step.how in ("left", "exists")
