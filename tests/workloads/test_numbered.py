"""Rows are due when their pace says, however they are polled and shared; rings replay their rows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bench.numbered import TIME, NumberedInline, Pace, times
from bench.ring import RingPartition, occurrences

T0 = 1_700_000_000_000_000
STEPS = "1000,2:3000,3.5:7"


class Digits(RingPartition):
    schema = pa.schema([("event_time", TIME), ("digit", pa.int64())])

    @classmethod
    def ring(cls, position: dict[str, Any]) -> pa.Table:
        return pa.table({"digit": np.arange(10)})


def polled(partitions: int, max_rows: int, seconds: float) -> pa.Table:
    batches = []
    source = NumberedInline(Digits, {"rate": STEPS, "t0_us": str(T0)}, ())
    for position in source.partitions(partitions, None, now=0.0):
        partition = source.open(position)
        while (found := partition.poll(T0 / 1e6 + seconds, max_rows)) is not None:
            assert found.first_arrival <= found.last_arrival <= T0 / 1e6 + seconds
            partition = source.open(partition.position())  # as after a restart
            batches.append(found.batch)
        assert partition.next_due(0.0) > T0 / 1e6 + seconds
        assert partition.backlog(T0 / 1e6 + seconds) == 0
    return pa.Table.from_batches(batches)


def test_a_pace_of_steps() -> None:
    pace = Pace(STEPS, T0)
    due = [pace.time_us(number) for number in range(6600)]
    assert due == sorted(due)
    assert due[2000] == T0 + 2_000_000
    assert due[6500] == T0 + 3_500_000
    for at in (T0 - 5, T0, T0 + 1_999_999, T0 + 2_000_000, T0 + 2_000_001, T0 + 3_500_000, T0 + 4_000_000):
        assert pace.first_at(at) == sum(time < at for time in due)
    assert pace.scheduled(T0 - 1) == 0
    assert pace.scheduled(T0 + 3_500_000) == 6501


@pytest.mark.parametrize(("partitions", "max_rows"), [(1, 1 << 20), (2, 97), (3, 1000)])
def test_rows_are_those_of_the_ring_at_their_pace(partitions: int, max_rows: int) -> None:
    rows = polled(partitions, max_rows, 4.0)
    pace = Pace(STEPS, T0)
    expected = sorted((pace.time_us(number), number % 10) for number in range(pace.scheduled(T0 + 4_000_000)))
    times = rows["event_time"].cast(pa.int64()).to_pylist()
    assert sorted(zip(times, rows["digit"].to_pylist(), strict=True)) == expected


@pytest.mark.parametrize("rate", [7, 999_999, 2_000_000, 15_999_999, 16_000_000, 16_000_001, 200_000_000])
@pytest.mark.parametrize("first", [0, 1, 123_457])
def test_times_are_exact_at_any_rate(rate: int, first: int) -> None:
    column, numbers = np.zeros(5000, np.int64), first + 2 * np.arange(5000)
    times(first, 2, T0, rate, column)
    assert column.tolist() == [T0 + int(number) * 1_000_000 // rate for number in numbers]


def test_occurrences_in_a_ring() -> None:
    for first, last in ((0, 0), (3, 5), (7, 23), (9, 41)):
        assert occurrences(first, last, 10).tolist() == np.bincount(np.arange(first, last) % 10, minlength=10).tolist()
