"""The logical dataflow of a query: a DAG of relations, immutable, equal when they compute the same thing.

1. A relation knows its inputs and its schema; batches of it are Arrow record batches of `arrow_schema(schema)`.
2. Equality is structural, so equal sub-plans are one node and are computed once.
3. Streams only: a static table is a value inside `StaticJoin`, already computed by Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import pyarrow as pa
from pyspark.sql import types as T

from headway.dataflow.expr import Column, Expr
from headway.dataflow.types import Schema


@dataclass(frozen=True)
class Relation:
    """Base of relations."""

    schema: Schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return ()

    def over(self, inputs: Sequence[Relation]) -> Self:
        """The same relation of other inputs, as many as it has."""
        return self


@dataclass(frozen=True)
class Source(Relation):
    """A stream's beginning. `options` as the user gave them, keys in lower case, sorted.

    `payload` is the connector's own (for a Python data source, its pickled class), and is part of equality. `whole` is
    not None iff the source gives fewer columns than it has: those of `schema` (see `pruning`).
    """

    format: str
    options: tuple[tuple[str, str], ...]
    payload: bytes = b""
    whole: Schema | None = None

    def option(self, name: str, default: str | None = None) -> str | None:
        return dict(self.options).get(name.lower(), default)


@dataclass(frozen=True)
class Unary(Relation):
    input: Relation

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def over(self, inputs: Sequence[Relation]) -> Self:
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class Filter(Unary):
    """Rows for which `condition` is true (not false, not null)."""

    condition: Expr


@dataclass(frozen=True)
class Project(Unary):
    """One output column per expression."""

    exprs: tuple[Expr, ...]


@dataclass(frozen=True)
class Expand(Unary):
    """Every input row once per projection, the projections' rows interleaved or not: order is not promised."""

    projections: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True)
class Generate(Unary):
    """The columns `kept` of every input row beside each of the structs in its array `rows`, field by field.

    A row whose array is empty or null gives none; if `outer`, one with nulls in the place of the struct.
    """

    rows: Expr
    kept: tuple[int, ...]
    outer: bool


@dataclass(frozen=True)
class Watermark(Unary):
    """`column` is event time; rows may come up to `delay_us` behind the highest seen. Schema marks it event_time."""

    column: int
    delay_us: int


@dataclass(frozen=True)
class Order:
    """By what rows are sorted, and how."""

    by: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Sort(Unary):
    """Every batch, which must be a whole result, in the order of the first of `orders`, equals by the next, …"""

    orders: tuple[Order, ...]


@dataclass(frozen=True)
class Observe(Unary):
    """All rows as they are; `metrics`, an aggregation without keys, is computed of them and goes into progress."""

    name: str
    metrics: Relation


@dataclass(frozen=True)
class StaticTable:
    """A table that Spark computed when the query started. Equal when the plan that made it is."""

    fingerprint: str
    table: pa.Table = field(compare=False, repr=False)


@dataclass(frozen=True)
class StaticJoin(Unary):
    """Equi-join of the stream with a static table, stream columns first whatever side the user wrote.

    `how` is "inner", "left" (every stream row at least once), "semi" (once, with some match), "anti" (those without
    one, with nulls) or "exists" (every stream row once, with some match or with nulls). Null keys match nothing.
    `condition` is over stream columns then table columns, and decides what matches (for "left": before null-filling).
    """

    table: StaticTable
    stream_keys: tuple[Expr, ...]
    table_keys: tuple[Expr, ...]
    how: str
    condition: Expr | None = None


@dataclass(frozen=True)
class Union(Relation):
    """All rows of all branches; branches have the schema's types."""

    branches: tuple[Relation, ...]

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.branches

    def over(self, inputs: Sequence[Relation]) -> Self:
        return replace(self, branches=tuple(inputs))


@dataclass(frozen=True)
class AggCall:
    """An aggregate function over expressions of the input: count, sum, avg, min, max, approx_count_distinct.

    `count` with no argument counts rows; with arguments, rows in which none of them is null. Rows for which `filter`
    is not true do not count. `type` is the result's Spark type. `options` is the function's own (HLL's precision).
    """

    function: str
    args: tuple[Expr, ...]
    type: T.DataType
    filter: Expr | None = None
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Aggregate(Unary):
    """Rows grouped by `keys`; one row per group: the keys, then the result of each of `aggs`, as in `schema`.

    `event_key` is the position in `keys` of the event-time key (a window struct or a timestamp), None if none: a
    group ends when the watermark has reached its window's end (for a plain timestamp key, the timestamp itself).
    No keys: one group, and it exists even without rows, as in Spark.

    `session`: the last key is a session window. A row has one of its own, from its time to the end of its gap; those of
    equal other keys that overlap or touch are one group, from the first start to the last end.
    """

    keys: tuple[Column, ...]
    aggs: tuple[AggCall, ...]
    event_key: int | None = None
    session: bool = False

    @property
    def exchange_keys(self) -> tuple[int, ...]:
        """The positions in `keys` of those that tell which operator has a group: the first ones."""
        return tuple(range(len(self.keys) - self.session))

    @property
    def operator(self) -> str:
        """What Spark's progress calls it."""
        return "sessionWindowStateStoreSaveExec" if self.session else "stateStoreSave"


@dataclass(frozen=True)
class Keyed(Relation):
    """Keeps state by key: rows of all inputs with equal keys meet in one operator.

    `keys` are, for every input, the columns that are its key: as many in each, of the same types. With no key columns
    one operator takes all rows. `operator` is what Spark's progress calls the operator.
    """

    operator: ClassVar[str]
    streams: tuple[Relation, ...]
    keys: tuple[tuple[int, ...], ...]

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.streams

    def over(self, inputs: Sequence[Relation]) -> Self:
        return replace(self, streams=tuple(inputs))


@dataclass(frozen=True)
class Limit(Keyed):
    """The first `count` rows that ever come; where batches are whole results, the first of each."""

    operator: ClassVar[str] = "globalLimit"
    count: int = 0


@dataclass(frozen=True)
class Deduplicate(Keyed):
    """Of rows with equal keys the first to come.

    `time` is the event-time column, by which rows are late, None if there is none. A key is forgotten when the
    watermark has reached its time: `ends` is the column of the keys that says it, None: keys are kept for ever.
    """

    operator: ClassVar[str] = "dedupe"
    time: int | None = None
    ends: int | None = None


@dataclass(frozen=True)
class DeduplicateWithin(Deduplicate):
    """The same, but a key is forgotten when the watermark is `delay_us` past the time of the row that was kept."""

    operator: ClassVar[str] = "dedupeWithinWatermark"
    delay_us: int = 0


@dataclass(frozen=True)
class Ending:
    """When rows of one side of a join can match nothing any more, by the time in `column` (of a window, its end).

    That is when the watermark has reached it; with `shifts`, when the least of the shifted watermarks has: one per
    condition that orders the two sides' times, with the microseconds to add, and whether times may be equal too.
    """

    column: int
    shifts: tuple[tuple[int, bool], ...] = ()

    def until(self, watermark: int) -> int:
        """Rows up to this time have ended. Spark counts in milliseconds here."""
        if not self.shifts:
            return watermark
        return 1000 * min((watermark + shift) // 1000 - closed for shift, closed in self.shifts)


@dataclass(frozen=True)
class JoinSide:
    """One side of a join of streams: `time` is its event-time column, by which rows are late; `ends` is None iff its
    rows are kept for ever; rows for which `condition`, over this side alone, is not true match nothing."""

    time: int | None = None
    ends: Ending | None = None
    condition: Expr | None = None


@dataclass(frozen=True)
class StreamJoin(Keyed):
    """Equi-join of two streams, left columns first; "semi" has the left ones only. Null keys match nothing.

    `how` is "inner", "left", "right", "full" or "semi"; rows of an outer side leave alone when they have ended, or can
    match nothing from the start. `condition` is over left columns, then right ones.
    """

    operator: ClassVar[str] = "symmetricHashJoin"
    how: str
    sides: tuple[JoinSide, JoinSide]
    condition: Expr | None = None

    def outer(self, side: int) -> bool:
        """Whether rows of a side that match nothing are in the result."""
        return self.how in ("full", ("left", "right")[side])

    def output_watermark(self, watermark: int) -> int:
        """Rows out are not before it: the lowest of the input's and of both sides' ends."""
        ends = [side.ends.until(watermark) for side in self.sides if side.ends is not None]
        return min([watermark, *ends])
