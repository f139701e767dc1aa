"""Functions of iterators that are called once for many batches."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pytest

from headway.kernels.user_code.calls import LongCall

Batches = Iterator[pa.RecordBatch]


def batch(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"v": pa.array(values, pa.int64())})


def rows(batches: list[pa.RecordBatch]) -> list[int]:
    return [value for one in batches for value in one.column(0).to_pylist()]


class Counted:
    """Adds one to all values, `at_once` batches at a time."""

    def __init__(self, at_once: int = 1) -> None:
        self.calls = 0
        self.ended = threading.Event()
        self._at_once = at_once

    def __call__(self, batches: Batches) -> Batches:
        self.calls += 1
        try:
            while taken := list(islice(batches, self._at_once)):
                yield batch(*(value + 1 for value in rows(taken)))
        finally:
            self.ended.set()


def test_one_call_for_all_batches() -> None:
    function = Counted()
    call = LongCall(function)
    for at in range(5):
        assert rows(call.give(iter([batch(at), batch(at, at)]))) == [at + 1] * 3
    assert call.give(iter([batch()]))[0].num_rows == 0
    assert (function.calls, function.ended.is_set()) == (1, False)


def test_rows_that_are_held_back_come_with_their_batch() -> None:
    function = Counted(at_once=3)
    call = LongCall(function)
    for at in range(4):
        assert rows(call.give(iter([batch(at), batch(at)]))) == [at + 1] * 2
    assert function.calls == 4


def test_a_function_that_ends_is_called_again() -> None:
    calls = []

    def first(batches: Batches) -> Batches:
        calls.append(1)
        yield next(batches)

    call = LongCall(first)
    assert [rows(call.give(iter([batch(at), batch(9)]))) for at in range(3)] == [[0], [1], [2]]
    assert len(calls) == 3


def test_what_it_raises_is_raised() -> None:
    def picky(batches: Batches) -> Batches:
        for one in batches:
            if 3 in rows([one]):
                raise ValueError("not three")
            yield one

    call = LongCall(picky)
    assert rows(call.give(iter([batch(1)]))) == [1]
    with pytest.raises(ValueError, match="not three"):
        call.give(iter([batch(3)]))
    assert rows(call.give(iter([batch(4)]))) == [4]


def test_a_call_that_is_dropped_ends() -> None:
    function = Counted()
    call = LongCall(function)
    call.give(iter([batch(1)]))
    del call
    gc.collect()
    assert function.ended.wait(30)
