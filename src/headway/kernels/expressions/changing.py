"""Evaluation of leaves that have another value each time: the clock, random numbers, identifiers.

1. All clocks of a chain show one time per batch, in whole milliseconds, as Spark's show one per micro-batch: `one_time`
   says which rows these are. Outside of it a clock shows what it is.
2. Random values need no seed: Spark's are others after every restart too.
"""

from __future__ import annotations

import string
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.registry import evaluates, evaluates_lazily
from headway.kernels.zones import DAY, zone

_random = np.random.default_rng()
_CHARACTERS = np.frombuffer((string.digits + string.ascii_letters).encode(), np.uint8)


class _Moment(threading.local):
    held = False
    millis: int | None = None
    """Not None iff `held` and a clock was read since."""


_moment = _Moment()


@contextmanager
def one_time() -> Iterator[None]:
    """Clocks show the same inside."""
    _moment.held, _moment.millis = True, None
    try:
        yield
    finally:
        _moment.held, _moment.millis = False, None


def _now_ms() -> int:
    if _moment.millis is not None:
        return _moment.millis
    now = time.time_ns() // 1_000_000
    if _moment.held:
        _moment.millis = now
    return now


@evaluates_lazily("CurrentBatchTimestamp")
def _clock(call: Call, batch: pa.RecordBatch) -> pa.Array:
    value = _shown(call.type, _now_ms(), call.option("time_zone"))
    return pa.repeat(pa.scalar(value, arrow_type(call.type)), batch.num_rows)


def _shown(kind: T.DataType, millis: int, time_zone: str) -> int:
    """Microseconds or days since the epoch, where it is not the instant that is asked for, of local time."""
    if isinstance(kind, T.TimestampType):
        return millis * 1000
    local = int(zone(time_zone).local(np.array([millis * 1000]))[0])
    return local // DAY if isinstance(kind, T.DateType) else local


@evaluates_lazily("Rand")
def _rand(call: Call, batch: pa.RecordBatch) -> pa.Array:
    return pa.array(_random.random(batch.num_rows))


@evaluates_lazily("Randn")
def _randn(call: Call, batch: pa.RecordBatch) -> pa.Array:
    return pa.array(_random.standard_normal(batch.num_rows))


@evaluates_lazily("RandStr")
def _text(call: Call, batch: pa.RecordBatch) -> pa.Array:
    length, rows = call.option("length"), batch.num_rows
    chosen = _CHARACTERS[_random.integers(0, len(_CHARACTERS), rows * length)].tobytes()
    offsets = np.arange(rows + 1, dtype=np.int32) * length
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(chosen))


@evaluates("Shuffle")
def _shuffle(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    lists = args[0]
    first, counts = lists.offsets.to_numpy()[:-1], pc.list_value_length(lists).fill_null(0).to_numpy()
    rows = np.repeat(np.arange(len(lists)), counts)
    starts = np.cumsum(counts) - counts
    # Sorted by row, and by chance within each.
    order = np.lexsort((_random.random(len(rows)), rows))
    places = np.repeat(first - starts, counts) + order
    values = lists.values.take(pa.array(places))
    offsets = pa.array(np.append(starts, len(rows)).astype(np.int32), mask=np.append(lists.is_null(), False))
    return pa.ListArray.from_arrays(offsets, values, type=lists.type)


@evaluates_lazily("Uuid")
def _uuid(call: Call, batch: pa.RecordBatch) -> pa.Array:
    return pa.array([str(uuid.uuid4()) for _ in range(batch.num_rows)], arrow_type(call.type))
