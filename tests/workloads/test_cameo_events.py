"""The rows of the experiments' streams are distinct and seeded, and the exact answers are those of the rows."""

from collections import Counter, defaultdict

import pyarrow as pa
import pytest

from bench.answers import agrees, whole_until
from bench.cameo.arrivals import Arrivals
from bench.cameo.queries import RIGHT_SEED, SHAPES, Answer, exact
from bench.cameo.source import CameoInline

T0 = 1_700_000_003_500_000
SECOND = 1_000_000


def events(arrivals: Arrivals, seconds: float) -> pa.Table:
    source = CameoInline({name: str(value) for name, value in {**arrivals.options(), "t0_us": T0}.items()})
    batches = []
    for position in source.partitions(2, None, now=0.0):
        partition = source.open(position)
        while (polled := partition.poll(T0 / 1e6 + seconds, max_rows=1)) is not None:
            assert polled.first_arrival == polled.last_arrival <= T0 / 1e6 + seconds
            batches.append(polled.batch)
    return pa.Table.from_batches(batches)


def counted(shape: str, arrivals: Arrivals, window: int, slide: int, seconds: int) -> Answer:
    """The answer, row by row."""
    streams = [events(arrivals, seconds + 1).to_pylist()]
    if shape == "ipq4":
        right = Arrivals(arrivals.seed + RIGHT_SEED, arrivals.sources, arrivals.rate, arrivals.rows, arrivals.process)
        streams.append(events(right, seconds + 1).to_pylist())
    sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for number, rows in enumerate(streams):
        for row in rows:
            at = round(row["event_time"].timestamp() * 1e6)
            first = (at - window) // slide * slide + slide
            for start in range(first, at + 1, slide):
                if start + window <= T0 // SECOND * SECOND + seconds * SECOND:
                    key = row["campaign"] if shape in ("ipq1", "ipq2") else row["job"] * 5 + row["status"]
                    value = {"ipq3": 1, "ipq4": number or row["error_class"] < 3}.get(shape, row["revenue"])
                    sums[start, key][number] += int(value)
    if shape == "ipq4":
        return {key: left * right for key, (left, right) in sums.items() if left and right}
    return {key: left for key, (left, _) in sums.items()}


def test_rows_are_distinct_and_of_the_seed() -> None:
    arrivals = Arrivals(1, 3, 4.0, 50)
    rows = events(arrivals, 5.0)
    assert len(set(rows["event_id"].to_pylist())) == rows.num_rows > 0
    assert rows.equals(events(arrivals, 5.0))
    assert not rows["campaign"].equals(events(Arrivals(2, 3, 4.0, 50), 5.0)["campaign"])
    assert set(rows["campaign"].to_pylist()) <= set(range(100))


def test_a_message_has_the_time_at_which_it_was_due() -> None:
    arrivals = Arrivals(1, 2, 4.0, 10, "pareto")
    seen = Counter(round(time.timestamp() * 1e6) for time in events(arrivals, 10.0)["event_time"].to_pylist())
    due = Counter(T0 + at for source in range(2) for _, at in arrivals.until(source, 10 * SECOND + 1))
    assert seen == {at: messages * 10 for at, messages in due.items()}


def test_a_partition_goes_on_from_its_position() -> None:
    source = CameoInline({"seed": "1", "sources": "1", "rate": "3", "rows": "5", "process": "pareto", "t0_us": str(T0)})
    partition = source.open(source.partitions(1, None, 0.0)[0])
    now = T0 / 1e6 + 20.0
    before = partition.backlog(now)
    assert partition.poll(now, 1) is not None
    assert partition.backlog(now) == before - 5
    again = source.open(source.partitions(2, [partition.position()], 0.0)[0])
    one, other = partition.poll(now, 1), again.poll(now, 1)
    assert one is not None
    assert other is not None
    assert one.batch.equals(other.batch)
    assert again.next_due(now) == partition.next_due(now)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("process", ["constant", "pareto", "skewed"])
def test_the_exact_answer_is_that_of_the_rows(shape: str, process: str) -> None:
    arrivals = Arrivals(5, 3, 3.0, 200, process)
    window, slide = (3 * SECOND, SECOND) if shape == "ipq2" else (2 * SECOND, 2 * SECOND)
    until = T0 // SECOND * SECOND + 6 * SECOND
    until -= until % slide
    seconds = until // SECOND - T0 // SECOND
    expected = exact(shape, arrivals, T0, window, slide, until)
    assert expected == counted(shape, arrivals, window, slide, seconds)
    assert expected


def test_wrong_results_are_found_and_half_written_windows_forgiven() -> None:
    expected = exact("ipq1", Arrivals(5, 3, 3.0, 200), T0, SECOND, SECOND, T0 // SECOND * SECOND + 9 * SECOND)
    starts = sorted({start for start, _ in expected})
    assert agrees(expected, expected, SECOND)
    assert whole_until(expected, expected, SECOND) == starts[-1] + SECOND
    key = next(key for key in expected if key[0] == starts[3])
    assert not agrees(expected | {key: expected[key] + 1}, expected, SECOND)
    assert not agrees({k: v for k, v in expected.items() if k != key}, expected, SECOND)
    newest = next(key for key in expected if key[0] == starts[-1])
    cut = {k: v for k, v in expected.items() if k != newest}
    assert agrees(cut, expected, SECOND)
    assert whole_until(cut, expected, SECOND) == starts[-2] + SECOND
