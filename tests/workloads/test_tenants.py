"""The tenants' events are what their schedule says, however they are polled, and the answer is that of the events."""

import itertools
from collections import Counter

import pyarrow as pa
import pytest

from bench.tenants.answer import WINDOW_US, correct, counts
from bench.tenants.schedule import SLOT_US, Run, schedule
from bench.tenants.source import KEYS, TenantInline, TenantPartition

SEED, T0 = 3, 1_700_000_000_500_000
SECONDS = 60.0
OPTIONS = {"seed": str(SEED), "t0_us": str(T0), "seconds": str(SECONDS)}


def runs(tenant: int) -> list[Run]:
    return schedule(SEED, tenant, T0, SECONDS)


def bursting() -> int:
    """A tenant with a burst and other events besides."""
    return next(t for t in range(1000) if len(runs(t)) > 1 and any(run.rows > 1000 for run in runs(t)))


def polled(partition: TenantPartition, max_rows: int, step: float) -> pa.Table:
    now, batches = T0 / 1e6, []
    while now < T0 / 1e6 + SECONDS + step:
        while (found := partition.poll(now, max_rows)) is not None:
            assert found.first_arrival <= found.last_arrival <= now
            batches.append(found.batch)
        now += step
    return pa.Table.from_batches(batches)


def test_a_schedule_is_the_same_every_time_and_its_runs_do_not_overlap() -> None:
    for tenant in range(200):
        found = runs(tenant)
        assert found == runs(tenant)
        assert all(run.start_us >= T0 and run.end_us < T0 + SECONDS * 1e6 for run in found)
        assert all(one.end_us < other.start_us for one, other in itertools.pairwise(found))


def test_about_two_in_a_hundred_burst_at_any_time() -> None:
    bursts = [run for tenant in range(1000) for run in runs(tenant) if run.rows > 1000]
    slots = SECONDS * 1e6 / SLOT_US
    assert 0.01 < len(bursts) / (1000 * slots) < 0.03


@pytest.mark.parametrize(("max_rows", "step"), [(1 << 16, 7.0), (97, 0.05)])
def test_events_are_those_of_the_schedule_however_they_are_polled(max_rows: int, step: float) -> None:
    tenant = bursting()
    positions = TenantInline({**OPTIONS, "tenant": str(tenant)}).partitions(2, None, now=0.0)
    tables = [polled(TenantPartition(p), max_rows, step) for p in positions if p["runs"]]
    assert len(tables) == 1
    times = [run.start_us + n * run.gap_us for run in runs(tenant) for n in range(run.rows)]
    assert tables[0]["event_time"].cast(pa.int64()).to_pylist() == times
    assert tables[0]["key"].to_pylist() == [n % KEYS for n in range(len(times))]


def test_a_partition_goes_on_from_its_position() -> None:
    tenant = bursting()
    partition = TenantPartition({"runs": [list(run) for run in runs(tenant)], "taken": 0, "number": 0})
    whole = polled(TenantPartition(partition.position()), 1 << 16, 1.0)
    first = partition.poll(T0 / 1e6 + SECONDS, 500)
    assert first is not None
    rest = polled(TenantPartition(partition.position()), 1 << 16, 1.0)
    assert pa.concat_tables([pa.Table.from_batches([first.batch]), rest]).equals(whole.combine_chunks())


def test_an_idle_partition_is_not_due_until_its_next_event() -> None:
    start = T0 + 30_000_000
    partition = TenantPartition({"runs": [[start, 2, 10]], "taken": 0, "number": 0})
    assert partition.next_due(T0 / 1e6) == start / 1e6
    assert partition.poll(T0 / 1e6, 10) is None
    assert partition.poll(start / 1e6 + 1, 10) is not None
    assert partition.next_due(start / 1e6 + 1) == float("inf")
    assert partition.backlog(start / 1e6 + 1) == 0


def test_the_answer_counts_every_event_once_and_knows_wrong_ones() -> None:
    found = runs(bursting())
    answer = counts(found)
    times = [run.start_us + n * run.gap_us for run in found for n in range(run.rows)]
    assert answer == Counter((at // WINDOW_US * WINDOW_US, n % KEYS) for n, at in enumerate(times))
    last = max(times)
    rows = [
        (window, window + WINDOW_US, key, n) for (window, key), n in answer.items() if window + WINDOW_US <= last - 1000
    ]
    assert correct(rows, found)
    assert not correct(rows[1:], found)
    assert not correct([*rows, rows[0]], found)
    assert not correct([(*rows[0][:3], rows[0][3] + 1), *rows[1:]], found)
