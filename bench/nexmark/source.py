"""The streams as a Python data source that Headway polls, and as Spark's own rows made from their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.nexmark.events import FIRST_ID, KINDS, REFERENCES, RING, expires, expires_sql, refer, ring
from bench.numbered import TIME, Columns, Leg, NumberedInline, NumberedPartition, NumberedSource, times
from bench.ring import RingPartition

_KINDS = list(KINDS)


_TYPES = {"bigint": pa.int64(), "string": pa.string(), "timestamp": TIME}


def arrow_schema(kind: str) -> pa.Schema:
    """Of a kind's columns; nodes have no Spark to read a DDL with."""
    columns = [column.split() for column in KINDS[kind].ddl.split(", ")]
    return pa.schema([(name, _TYPES[type_]) for name, type_ in columns])


class NexmarkPartition(RingPartition):
    """One partition of a kind, polled by a node; with `rows` there is an end."""

    def __init__(self, position: dict[str, Any], columns: Columns = None) -> None:
        self._kind = _KINDS[position["kind"]]
        self._rows = position["rows"]
        self.schema = arrow_schema(self._kind)
        super().__init__(position, columns)
        self._references = {n: one for n, one in REFERENCES[self._kind].items() if n in self.schema.names}
        self._choices = {name: one.choices(self._table) for name, one in self._references.items()}

    def replayed(self, ring: pa.Table) -> list[str]:
        return list(ring.schema.names)

    @classmethod
    def ring(cls, position: dict[str, Any]) -> pa.Table:
        return ring(_KINDS[position["kind"]], position["seed"])

    def _due(self, now: float) -> int:
        left = -(-(self._rows - self._at["next"]) // self.step) if self._rows else super()._due(now)
        return max(0, min(super()._due(now), left))

    def next_due(self, now: float) -> float:
        ended = self._rows and self._at["next"] >= self._rows
        return float("inf") if ended else super().next_due(now)

    def columns(self, first: int, rows: int, leg: Leg) -> list[pa.Array]:
        at = np.empty(rows, np.int64)
        times(first - leg.first, self.step, leg.start_us, leg.rate, at)
        begin = self._row(first)
        drawn = self._table.slice(begin, rows)
        made = {"date_time": at} | {name: self._ids(name, first, begin, rows) for name in self._references}
        if self._kind != "bid":
            made["id"] = FIRST_ID + first + np.arange(rows) * self.step
        if "expires" in self.schema.names:
            made["expires"] = expires(at, drawn["length"].to_numpy(), leg.rate)
        return [
            pa.Array.from_buffers(field.type, rows, [None, pa.py_buffer(made[field.name])])
            if field.name in made
            else drawn[field.name]
            for field in self.schema
        ]

    def _ids(self, name: str, first: int, begin: int, rows: int) -> Any:
        """A column of references, of rows that begin at a place of the ring."""
        every, times, plus, _, _, place = self._references[name]
        ids = np.empty(rows, np.int64)
        refer(first, self.step, every, times, plus, place, self._choices[name][begin : begin + rows], ids)
        return ids


class NexmarkSource(NumberedSource):
    """`spark.readStream.format("nexmark")` with options kind (person, auction, bid), rate (rows/s of the kind), seed,
    t0_us and rows (0: without an end)."""

    opened: type[NumberedPartition] = NexmarkPartition
    numbers = ("seed", "kind", "rows")

    @classmethod
    def name(cls) -> str:
        return "nexmark"

    def schema(self) -> str:
        return KINDS[self.options["kind"]].ddl

    def headwaySource(self, schema: Any) -> NumberedInline:
        kind = str(_KINDS.index(self.options["kind"]))
        return NumberedInline(self.opened, {**dict(self.options), "kind": kind}, self.numbers)


def from_numbers(
    spark: SparkSession, numbers: DataFrame, kind: str, seed: int, rate: int | str, t0_us: int
) -> DataFrame:
    """The same rows for Spark, from their numbers (`value`); a look into the ring gives what does not grow."""
    drawn = ring(kind, seed).append_column("at", pa.array(range(RING), pa.int64()))
    time = F.expr(f"timestamp_micros({t0_us} + value * 1000000 div {rate})").alias("date_time")
    rows = numbers.select("value", time, (F.col("value") % RING).alias("at"))
    joined = rows.join(F.broadcast(spark.createDataFrame(drawn)), "at")
    grown = dict(KINDS[kind].grown)
    if kind == "auction":
        grown["expires"] = expires_sql(int(rate))
    names = arrow_schema(kind).names
    return joined.select(*[F.expr(grown[name]).alias(name) if name in grown else F.col(name) for name in names])
