"""Aggregations run as a cluster would, and rows made comparable; used by the tests beside it."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from headway.dataflow.expr import Column, Expr
from headway.dataflow.graph import AggCall, Aggregate, Source
from headway.dataflow.types import Field, arrow_schema
from headway.kernels.api import Chain, MergeKernel
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.merge import Merge
from headway.kernels.merges import merge_kernel

WINDOW = T.StructType([T.StructField("start", T.TimestampType()), T.StructField("end", T.TimestampType())])
UTC = dt.UTC
TIMES = [dt.datetime(2024, 3, 10, 6, 59, 59, 999_999, UTC), dt.datetime(1969, 12, 31, 0, 0, 0, 1, UTC)]

# Per name: the Spark type and values of it worth trying.
SAMPLES: dict[str, tuple[T.DataType, list[Any]]] = {
    "bool": (T.BooleanType(), [True, False]),
    "byte": (T.ByteType(), [-128, 0, 127, 5]),
    "short": (T.ShortType(), [-32768, 0, 32767, 7]),
    "int": (T.IntegerType(), [-(2**31), 0, 2**31 - 1, 9]),
    "long": (T.LongType(), [-(2**44) - 1, 0, 2**44 + 1, 11, 12]),
    "float": (T.FloatType(), [0.0, -0.0, math.nan, math.inf, -1.5, 3.25]),
    "double": (T.DoubleType(), [0.0, -0.0, math.nan, math.inf, -math.inf, 1e300, 0.1]),
    "decimal_10_2": (
        T.DecimalType(10, 2),
        [Decimal("0.00"), Decimal("-99999999.99"), Decimal("0.01"), Decimal("7.05")],
    ),
    "decimal_38_10": (T.DecimalType(38, 10), [Decimal("1e20"), Decimal("-0.0000000001"), Decimal("123.456")]),
    "string": (T.StringType(), ["", "a", "ab", "é", "\U0001f600", "\uffff", "z" * 40]),
    "binary": (T.BinaryType(), [b"", b"\x00", b"\xff", b"a", b"a\x00"]),
    "date": (T.DateType(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    "timestamp": (T.TimestampType(), TIMES),
    "timestamp_ntz": (T.TimestampNTZType(), [t.replace(tzinfo=None) for t in TIMES]),
    "window": (WINDOW, [{"start": t, "end": t + dt.timedelta(seconds=10)} for t in TIMES]),
}


def table_of(columns: dict[str, tuple[T.DataType, list[Any]]]) -> pa.Table:
    schema = arrow_schema(tuple(Field(name, kind) for name, (kind, _) in columns.items()))
    return pa.Table.from_arrays(
        [pa.array(values, field.type) for field, (_, values) in zip(schema, columns.values(), strict=True)],
        schema=schema,
    )


def source_of(columns: Iterable[tuple[str, T.DataType]]) -> Source:
    return Source(tuple(Field(name, kind) for name, kind in columns), "test", ())


def aggregate_of(
    source: Source, keys: Sequence[int], calls: Sequence[AggCall], event_key: int | None = None
) -> Aggregate:
    key_fields = tuple(source.schema[i] for i in keys)
    fields = tuple(Field(f"r{i}", call.type) for i, call in enumerate(calls))
    columns = tuple(Column(source.schema[i].type, i) for i in keys)
    return Aggregate(key_fields + fields, source, columns, tuple(calls), event_key)


def call(function: str, arg: Expr | None, **options: Any) -> AggCall:
    """An aggregate as the frontend would make it of `function(arg)`."""
    filter_ = options.pop("filter", None)
    kind = _result_type(function, arg.type if arg is not None else T.NullType())
    return AggCall(function, () if arg is None else (arg,), kind, filter_, tuple(options.items()))


def _result_type(function: str, arg: T.DataType) -> T.DataType:
    if function in ("count", "approx_count_distinct"):
        return T.LongType()
    if function in ("min", "max"):
        return arg
    if isinstance(arg, T.DecimalType):
        grow = 10 if function == "sum" else 4
        return T.DecimalType(min(38, arg.precision + grow), min(38, arg.scale + (4 if function == "avg" else 0)))
    integral = function == "sum" and not isinstance(arg, T.FloatType | T.DoubleType)
    return T.LongType() if integral else T.DoubleType()


def hll_options(spark: SparkSession, p: int) -> dict[str, Any]:
    tables = spark._jvm.org.apache.spark.sql.catalyst.util.HyperLogLogPlusPlusHelper
    raw, bias = tuple(tables.RAW_ESTIMATE_DATA()[p - 4]), tuple(tables.BIAS_DATA()[p - 4])
    return {"p": p, "thresholds": tuple(tables.THRESHOLDS()), "raw": raw, "bias": bias}


class Cluster:
    """Chains and merges of one aggregate on a few nodes; rows, flushes, snapshots and restores come at random."""

    def __init__(self, aggregate: Aggregate, seed: int) -> None:
        self.aggregate = aggregate
        self.random, self._kinds = random.Random(seed), random.Random(seed)
        self.chains = [self._chain() for _ in range(3)]
        self.merges = [self._merge() for _ in range(3 if aggregate.exchange_keys else 1)]

    def run(self, table: pa.Table) -> pa.Table:
        """All results, as complete mode gives them."""
        for batch in self.batches(table):
            chain = self.random.randrange(len(self.chains))
            assert self.chains[chain].process(batch)[0] is None
            if self.random.random() < 0.3:
                self.exchange(self.chains[chain])
            if self.random.random() < 0.2:
                self.restart()
        for chain_ in self.random.sample(self.chains, len(self.chains)):
            self.exchange(chain_)
        return self.emit("complete", None)

    def batches(self, table: pa.Table) -> list[pa.RecordBatch]:
        cuts = sorted(self.random.sample(range(table.num_rows + 1), min(12, table.num_rows)))
        whole = table.combine_chunks().to_batches()[0] if table.num_rows else None
        pairs = zip([0, *cuts], [*cuts, table.num_rows], strict=True)
        return [whole.slice(a, b - a) for a, b in pairs] if whole is not None else []

    def exchange(self, chain: InterpretedChain, watermark: int | None = None) -> None:
        parts = chain.flush_to(watermark, len(self.merges))
        for merge, part in zip(self.merges, parts or [], strict=parts is not None):
            merge.merge(part, None)

    def restart(self) -> None:
        """One kernel of each kind dies, and another goes on from its snapshot, which was cut in two."""
        at = self.random.randrange(len(self.chains))
        fresh = self._chain()
        _restore_in_two(fresh, self.chains[at].snapshot())
        self.chains[at] = fresh
        at = self.random.randrange(len(self.merges))
        merge = self._merge()
        _restore_in_two(merge, self.merges[at].snapshot())
        self.merges[at] = merge

    def emit(self, mode: str, watermark: int | None) -> pa.Table:
        schema = arrow_schema(self.aggregate.schema)
        batches = [batch for merge in self.merges if (batch := merge.emit(mode, watermark)) is not None]
        return pa.Table.from_batches(batches, schema)

    def _merge(self) -> MergeKernel:
        """Of any kind that there is: they take each other's states."""
        if not self.aggregate.session and self._kinds.random() < 0.5:
            return Merge(self.aggregate)
        return merge_kernel(self.aggregate)

    def _chain(self) -> InterpretedChain:
        return InterpretedChain(Chain(self.aggregate.input, (), self.aggregate))


def _restore_in_two(kernel: InterpretedChain | MergeKernel, state: pa.Table) -> None:
    kernel.restore(state.slice(0, state.num_rows // 2))
    kernel.restore(state.slice(state.num_rows // 2))


def comparable(table: pa.Table) -> Counter[str]:
    """The rows of `table` as a bag; doubles to twelve digits, since the order of a sum is not promised."""
    columns = [[_value(value) for value in column.to_pylist()] for column in table.columns]
    return Counter(repr(row) for row in zip(*columns, strict=True))


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value + 0.0:.12g}"
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    if isinstance(value, dict):
        return tuple(_value(v) for v in value.values())
    return value


def view(spark: SparkSession, table: pa.Table, name: str) -> None:
    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    spark.createDataFrame(table, schema).createOrReplaceTempView(name)


def spark_rows(spark: SparkSession, table: pa.Table, sql: str) -> Counter[str]:
    """What Spark answers to `sql` over `table` as the view `t`."""
    view(spark, table, "t")
    return comparable(spark.sql(sql).toArrow())
