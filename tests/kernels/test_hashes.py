"""xxhash64 and hash equal Spark's, for every type."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from headway.kernels.murmur3 import murmur3
from headway.kernels.xxhash import xxhash64

TEXT = ["", "a", "abcd", "abcdefgh", "é😀", "x" * 31, "y" * 32, "z" * 33, "0123456789" * 13, None, "tail\u00ff\u0080!"]
COLUMNS = {
    "boolean": pa.array([True, False, None]),
    "tinyint": pa.array([0, -1, 127, -128, None], pa.int8()),
    "smallint": pa.array([0, -1, 32767, -32768, None], pa.int16()),
    "int": pa.array([0, -1, 2**31 - 1, -(2**31), None], pa.int32()),
    "bigint": pa.array([0, -1, 2**63 - 1, -(2**63), 2**32, None], pa.int64()),
    "float": pa.array([0.0, -0.0, float("nan"), float("inf"), 1.5, None], pa.float32()),
    "double": pa.array([0.0, -0.0, float("nan"), -float("inf"), 1e300, None], pa.float64()),
    "string": pa.array(TEXT),
    "binary": pa.array([None if t is None else t.encode() for t in TEXT]),
    "date": pa.array([0, -1, 20000, None], pa.date32()),
    "timestamp": pa.array([0, -1, 1_700_000_000_123_456, None], pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.array([0, -1, None], pa.timestamp("us")),
    "decimal(10,2)": pa.array([Decimal("0.00"), Decimal("-1.23"), None], pa.decimal128(10, 2)),
    "decimal(38,3)": pa.array(
        [Decimal(n) / 1000 for n in (0, 127, 128, -128, -129, 255, 256, 2**64, -(2**70))] + [None], pa.decimal128(38, 3)
    ),
}


def padded(column: pa.Array, length: int) -> pa.Array:
    return pa.concat_arrays([column, pa.nulls(length - len(column), column.type)])


@pytest.fixture(scope="module")
def table() -> pa.Table:
    length = max(map(len, COLUMNS.values()))
    return pa.table({f"c{i}": padded(column, length) for i, column in enumerate(COLUMNS.values())})


def test_every_type_hashes_as_in_spark(spark: SparkSession, table: pa.Table) -> None:
    names = table.column_names
    schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, COLUMNS, strict=True))
    df = spark.createDataFrame(table, schema)
    calls = [f"{function}({name}) AS {function}_{name}" for function in ("xxhash64", "hash") for name in names]
    expected = df.selectExpr(*calls, f"xxhash64({', '.join(names)}) AS folded").toArrow().to_pydict()
    folded = np.full(len(table), 42, np.int64)
    for name in names:
        column = table.column(name).combine_chunks()
        assert xxhash64(column).tolist() == expected[f"xxhash64_{name}"], column.type
        assert murmur3(column).tolist() == expected[f"hash_{name}"], column.type
        folded = xxhash64(column, folded)
    assert folded.tolist() == expected["folded"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.none() | st.text(max_size=80), min_size=1), st.data())
def test_a_slice_hashes_as_its_rows_alone(rows: list[str | None], data: st.DataObject) -> None:
    whole = pa.array(rows, pa.string())
    start = data.draw(st.integers(0, len(rows)))
    alone = [int(hashed(pa.array([row], pa.string()))[0]) for row in rows[start:] for hashed in (xxhash64, murmur3)]
    part = whole.slice(start)
    together = [int(h) for pair in zip(xxhash64(part), murmur3(part), strict=True) for h in pair]
    assert together == alone


def test_a_struct_hashes_as_its_fields() -> None:
    a, b = pa.array([1, 2, None], pa.int64()), pa.array(["x", None, "y"])
    struct = pa.StructArray.from_arrays([a, b], ["a", "b"])
    assert xxhash64(struct).tolist() == xxhash64(b, xxhash64(a)).tolist()
