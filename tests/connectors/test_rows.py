"""Rows for user code are those of PySpark's own conversion."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T
from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.pandas.types import to_arrow_schema

from headway.connectors.sinks.rows import Rows

TIME = T.TimestampType()
WINDOW = T.StructType([T.StructField("start", TIME), T.StructField("end", TIME)])
NIGHT, MORNING = datetime(2026, 3, 8, 1, 59, 59, 999_999), datetime(2026, 11, 1, 6, 30)
CASES: dict[str, tuple[T.DataType, list[Any]]] = {
    "numbers": (T.LongType(), [1, None, -5]),
    "times": (TIME, [NIGHT, None, MORNING, NIGHT, None]),
    "times without values": (TIME, [None, None]),
    "windows": (WINDOW, [{"start": NIGHT, "end": MORNING}, None, {"start": None, "end": NIGHT}]),
    "structs in structs": (
        T.StructType([T.StructField("w", WINDOW), T.StructField("n", T.IntegerType())]),
        [{"w": None, "n": 1}, {"w": {"start": NIGHT, "end": None}, "n": None}, None],
    ),
    "lists of times": (T.ArrayType(TIME), [[NIGHT, None], [], None]),
    "maps to windows": (T.MapType(T.StringType(), WINDOW), [[("a", None)], [("b", {"start": NIGHT, "end": NIGHT})]]),
    "structs without fields": (T.StructType([]), [{}, None]),
    "bytes": (T.BinaryType(), [b"x", None]),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_are_pysparks(case: str) -> None:
    kind, values = CASES[case]
    schema = T.StructType([T.StructField("first", kind), T.StructField("second", T.IntegerType())])
    arrow = to_arrow_schema(schema, timezone="UTC", prefers_large_types=False)
    batch = pa.RecordBatch.from_pydict({"first": values, "second": list(range(len(values)))}, schema=arrow)
    for part in (batch, batch.slice(1), batch.slice(0, 0)):
        ours, theirs = Rows(schema)(part), ArrowTableToRowsConversion.convert(pa.Table.from_batches([part]), schema)
        assert ours == theirs
        assert list(map(repr, ours)) == list(map(repr, theirs))


def test_rows_without_columns() -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert Rows(T.StructType([]))(batch) == ArrowTableToRowsConversion.convert(
        pa.Table.from_struct_array(pa.array([{}, {}], pa.struct([]))), T.StructType([])
    )
