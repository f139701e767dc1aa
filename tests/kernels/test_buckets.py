"""Key buckets are equal for equal keys, in every process and every run."""

from __future__ import annotations

import datetime as dt
import math
import struct

import pyarrow as pa
import pytest
from aggregation import SAMPLES, table_of

from headway.kernels.hashing import bucket_ids, owners_of


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_type_has_buckets_that_depend_on_the_value_alone(kind: str) -> None:
    spark_type, values = SAMPLES[kind]
    column = table_of({"k": (spark_type, [None, *values, None])}).column(0).combine_chunks()
    ids = bucket_ids([column], 128).tolist()
    assert all(0 <= i < 128 for i in ids)
    assert ids[0] == ids[-1]
    for at in range(len(column)):
        assert bucket_ids([column.slice(at, 1)], 128).tolist() == [ids[at]]


def test_equal_floats_share_a_bucket() -> None:
    nans = [struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF8 << 48, 0xFFF8 << 48, 0x7FF0 << 48 | 1)]
    ids = bucket_ids([pa.array([*nans, 0.0, -0.0])], 1000).tolist()
    assert all(math.isnan(nan) for nan in nans)
    assert len(set(ids[:3])) == 1
    assert ids[3] == ids[4]


def test_buckets_are_the_same_in_every_release() -> None:
    times = pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))
    columns = [pa.array(["ad"]), pa.array([7], pa.int64()), times]
    assert bucket_ids(columns, 128).tolist() == [123]


def test_no_keys_have_one_owner() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2])], ["a0_0"])
    assert owners_of(batch, [], 5).tolist() == [0, 0]


def test_buckets_spread() -> None:
    ids = bucket_ids([pa.array(range(10_000))], 16)
    assert all(500 < (ids == i).sum() < 750 for i in range(16))
