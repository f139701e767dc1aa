"""The benchmark's events are what their definition says, and its answer is that of the events."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from bench.numbered import NumberedInline
from bench.ysb.source import YsbPartition
from bench.ysb.workload import WINDOW_US, Ysb, campaign_ids, exact

RATE, SEED, T0 = 777, 5, 1_700_000_004_000_000


def source(drift: int = 0) -> NumberedInline:
    options = {"rate": str(RATE), "seed": str(SEED), "t0_us": str(T0), "drift": str(drift)}
    return NumberedInline(YsbPartition, options, ("seed", "drift"))


def events(partitions: int, seconds: float, drift: int = 0) -> pa.Table:
    batches = []
    for position in source(drift).partitions(partitions, None, now=0.0):
        partition = source(drift).open(position)
        while (polled := partition.poll(T0 / 1e6 + seconds, max_rows=97)) is not None:
            batches.append(polled.batch)
    return pa.Table.from_batches(batches).sort_by([("event_time", "ascending"), ("user_id", "ascending")])


def test_partitions_share_the_events_of_one() -> None:
    one = events(1, 20.0)
    assert one.num_rows == 20 * RATE + 1
    assert events(3, 20.0).equals(one)
    assert len(set(zip(one["user_id"].to_pylist(), one["page_id"].to_pylist(), strict=True))) > 0.99 * one.num_rows


@pytest.mark.parametrize("columns", [(0, 3, 5), (1,), (2, 4), (6, 7), (1, 2)])
def test_columns_of_it_are_those_of_the_whole(columns: tuple[int, ...]) -> None:
    (position,) = source().partitions(1, None, now=0.0)
    rows, narrow = (one.open(position).poll(T0 / 1e6 + 3, 2000) for one in (source(), source().narrowed(columns)))
    assert rows is not None
    assert narrow is not None
    assert narrow.batch.equals(rows.batch.select([rows.batch.schema.names[i] for i in columns]))


def test_events_follow_their_definition() -> None:
    rows = events(1, 5.0).sort_by("event_time")
    number = np.arange(rows.num_rows)
    assert rows["event_time"].cast(pa.int64()).to_pylist() == (T0 + number * 1_000_000 // RATE).tolist()
    assert Counter(rows["ad_id"].to_pylist()) == Counter((number % 1000 + 1).tolist())
    assert Counter(rows["event_type"].to_pylist()) == Counter((number % 3).tolist())


@pytest.mark.parametrize("drift", [0, 7])
def test_the_exact_answer_is_that_of_the_events(drift: int) -> None:
    rows = events(2, 30.0, drift)
    ids = campaign_ids(SEED)
    counted: Counter[tuple[int, int]] = Counter()
    columns = (rows["event_time"].cast(pa.int64()), rows["ad_id"], rows["event_type"])
    for time, ad, kind in zip(*(column.to_pylist() for column in columns), strict=True):
        if kind == 0 and time // WINDOW_US * WINDOW_US + WINDOW_US <= T0 + 20_000_000:
            counted[time // WINDOW_US * WINDOW_US, ids[(ad - 1) // 10]] += 1
    assert exact(T0, RATE, T0 + 20_000_000, SEED, drift) == counted


def test_drift_doubles_the_views() -> None:
    kinds = events(1, 20.0, drift=10)["event_type"].to_numpy()
    assert np.mean(kinds[: 10 * RATE] == 0) == pytest.approx(1 / 3, abs=0.01)
    assert np.mean(kinds[10 * RATE :] == 0) == pytest.approx(2 / 3, abs=0.01)


def test_a_wrong_count_is_found() -> None:
    answer = exact(T0, RATE, T0 + 40_000_000, SEED)
    lines = [(start, start + WINDOW_US, key, count) for (start, key), count in answer.items()]
    ysb = Ysb(SEED)
    assert ysb.correct(lines, T0, RATE)
    assert not ysb.correct([*lines, lines[0]], T0, RATE)
    assert not ysb.correct([(*lines[0][:3], lines[0][3] + 1), *lines[1:]], T0, RATE)
    assert not ysb.correct(lines[1:], T0, RATE)
