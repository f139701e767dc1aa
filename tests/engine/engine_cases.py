"""Rows of every type, queries over them as streams, and Spark's batch answer to compare with."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headway import Headway
from headway.query import StreamingQuery
from headway.testing import MemoryStream
from same_rows import same

Rows = Sequence[tuple[Any, ...]]
Build = Callable[[DataFrame], DataFrame]
EVENTS = (
    "k long, s string, b boolean, y byte, h short, i int, f float, d double, m decimal(12,3), x binary, "
    "day date, ts timestamp, ntz timestamp_ntz"
)
START = dt.datetime(2024, 5, 1, 12)
_names = itertools.count()
_answers: dict[str, Counter[tuple[Any, ...]]] = {}


def events(count: int = 80, seed: int = 1) -> list[tuple[Any, ...]]:
    """Rows of `EVENTS`, over two minutes of event time, a tenth of all values null."""
    rng = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    def row(at: int) -> tuple[Any, ...]:
        time = START + dt.timedelta(seconds=at * 120 // count, microseconds=rng.randrange(10**6))
        values = (
            rng.randrange(5),
            rng.choice(["", "a", "Zürich", "zz top", "\U0001f600"]),
            rng.random() < 0.5,
            rng.randrange(-128, 128),
            rng.randrange(-(2**15), 2**15),
            rng.randrange(-(2**20), 2**20),
            rng.choice([0.0, -0.0, math.nan, 1.5, -2.25]),
            rng.choice([0.0, -0.0, math.nan, math.inf, 0.1, -1e10, 7.75]),
            Decimal(rng.randrange(-(10**12) + 1, 10**12)).scaleb(-3),
            rng.choice([b"", b"\x00", b"\xff\xfe", b"abc"]),
            dt.date(2024, 2, 28) + dt.timedelta(days=rng.randrange(3)),
            time,
            time.replace(year=1969),
        )
        return tuple(value if place == 11 else maybe(value) for place, value in enumerate(values))

    return [row(at) for at in range(count)]


class Runner:
    """Starts queries with given options, and stops them all at the end."""

    def __init__(self, spark: SparkSession, hw: Headway, options: dict[str, str]) -> None:
        self.spark = spark
        self.hw = hw
        self._options = options
        self._queries: list[StreamingQuery] = []

    def stream(self, schema: str = EVENTS, partitions: int = 3) -> MemoryStream:
        return MemoryStream(self.spark, schema, partitions=partitions)

    def start(self, df: DataFrame, output: str = "append", **options: str) -> StreamingQuery:
        """Start `df` into a memory view of a new name."""
        writer = self.hw.writeStream(df).format("memory").queryName(f"engine_{next(_names)}").outputMode(output)
        query = writer.options(**(self._options | options)).start(fallback=False)
        self._queries.append(query)
        return query

    def keep(self, query: StreamingQuery) -> StreamingQuery:
        """Stop this one at the end too."""
        self._queries.append(query)
        return query

    def table(self, query: StreamingQuery) -> list[tuple[Any, ...]]:
        """What the query has given so far."""
        return [tuple(row) for row in self.spark.table(str(query.name)).collect()]

    def answer(
        self, build: Build, rows: Rows, schema: str = EVENTS, output: str = "append", seed: int = 1
    ) -> list[tuple[Any, ...]]:
        """What `build` gives for `rows`, which come in shuffled, in several pieces and partitions."""
        stream = self.stream(schema)
        query = self.start(build(stream.toDF()), output)
        scatter(stream, rows, seed)
        query.processAllAvailable()
        return self.table(query)

    def check(self, name: str, build: Build, rows: Rows, schema: str = EVENTS, output: str = "append") -> None:
        """Assert that `build` gives what it gives in a batch. `name` tells answers of Spark apart."""
        if name not in _answers:
            _answers[name] = same(build(self.spark.createDataFrame(list(rows), schema)).collect())
        assert same(self.answer(build, rows, schema, output)) == _answers[name]

    def stop(self) -> None:
        for query in self._queries:
            query.stop()


def scatter(stream: MemoryStream, rows: Rows, seed: int = 1, pieces: int = 6) -> None:
    """Add `rows` in another order and in pieces, one of them empty, over all partitions."""
    shuffled = random.Random(seed).sample(list(rows), len(rows))
    size = -(-len(rows) // pieces) or 1
    for at in range(0, len(rows), size):
        stream.addData(*shuffled[at : at + size])
    stream.addData()
