"""Rows grouped and reduced by machine code, beside the same by Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headway.kernels.grouping import grouped, number_rows

PYTHON = {"sum": sum, "min": min, "max": max, "any": any, "list": list}
KEYS = {
    "long": pa.array([5, 2**62, 5, -1, 2**62, 5, None, None]),
    "no_nulls": pa.array([5, 2**62, 5, -1, 2**62, 5, 7, 7]),
    "short": pa.array([1, 2, 1, 1, 3, 2, 3, 1], pa.int16()),
    "time": pa.array([1, 2, 1, 1, 3, 2, 3, 1], pa.timestamp("us")),
    "text": pa.array(["a", "b", None, "a", "", "b", "a", None]),
    "flag": pa.array([True, False, None, True, True, False, None, True]),
    "same": pa.array(["x"] * 8),
    "nothing": pa.nulls(8),
}


def _groups(keys: list[pa.Array]) -> list[list[int]]:
    found: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(zip(*(key.to_pylist() for key in keys), strict=True)):
        found.setdefault(key, []).append(row)
    return list(found.values())


@pytest.mark.parametrize("one", KEYS)
@pytest.mark.parametrize("other", KEYS)
def test_rows_of_equal_keys_are_one_group(one: str, other: str) -> None:
    keys = [KEYS[one], KEYS[other]]
    numbers, firsts = number_rows(keys)
    groups = _groups(keys)
    assert [np.flatnonzero(numbers == n).tolist() for n in range(len(firsts))] == groups
    assert firsts.tolist() == [rows[0] for rows in groups]


@pytest.mark.parametrize("rows", [0, 1, 5, 3000])
def test_columns_are_reduced(rows: int) -> None:
    random = np.random.default_rng(rows)
    columns = {
        "k": pa.array(random.integers(0, 40, rows)),
        "sum": pa.array(random.integers(-(2**40), 2**40, rows)),
        "min": pa.array(random.integers(-9, 9, rows)).cast(pa.timestamp("us")),
        "max": pa.array(random.integers(-9, 9, rows)),
        "any": pa.array(random.random(rows) < 0.02),
        "list": pa.array(np.arange(rows)),
        "max_text": pa.array([f"t{n}" for n in random.integers(0, 9, rows)], pa.string()),
        "min_some": pa.array(random.integers(0, 9, rows), mask=random.random(rows) < 0.5),
        "sum_floats": pa.array(random.integers(0, 9, rows).astype(np.float64)),
    }
    reductions = [(name, name.split("_")[0]) for name in columns if name != "k"]
    found = grouped(pa.table(columns), ["k"], reductions)
    groups = _groups([columns["k"]])
    assert found.column("k").to_pylist() == [columns["k"][rows[0]].as_py() for rows in groups]
    for name, how in reductions:
        values = columns[name].to_pylist()
        present = [[values[row] for row in rows if values[row] is not None] for rows in groups]
        assert found.column(name).to_pylist() == [PYTHON[how](some) if some else None for some in present], name
        assert found.schema.field(name).type == (pa.list_(pa.int64()) if how == "list" else columns[name].type)
