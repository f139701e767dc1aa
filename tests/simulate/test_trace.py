"""Traces: what nodes record becomes a simulation of the same arrivals, costs and topology."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.errors import InvalidOption
from headway.simulate import load, run
from headway.simulate.trace import Run

BASE = 1_760_000_000
# 16 polls of 1 ms; of 16 marks of 0.5 ms, event time passes 3 ends on each of 2 nodes: the other 10 are the polls'.
POLL = 0.001 + 10 * 0.0005 / 16
SECOND = {"first": 0, "slide": 1_000_000, "delay": 0}


def stage(
    number: int, upstream: int | None, edge: str = "forward", windows: object = None, where: object = "everywhere"
) -> object:
    inputs = [] if upstream is None else [{"upstream": upstream, "edge": edge}]
    return {"id": number, "kind": "any", "inputs": inputs, "windows": windows, "placement": where}


def header_line(query: str, number: int, latency: float | None, nodes: int, stages: list[object]) -> str:
    return json.dumps({"query": query, "number": number, "latency": latency, "nodes": nodes, "stages": stages}) + "\n"


def run_line(run: Run) -> str:
    return json.dumps(run._asdict()) + "\n"


def at(seconds: float) -> int:
    return BASE * 1_000_000 + round(seconds * 1e6)


def windowed(number: int = 3, latency: float | None = 0.5) -> list[str]:
    """Two nodes, each polled twice a second for four seconds: polls of 1 ms, runs of 2 ms + 10 us a row."""
    stages = [
        stage(0, None),
        stage(1, 0, windows=SECOND),
        stage(2, 1, "by_key", SECOND),
        stage(3, 2, "by_key", where="one"),
    ]
    lines = [header_line("counts", number, latency, 2, stages)]
    for i in range(16):
        node, t, rows = i % 2, BASE + 0.25 + i // 2 * 0.5, 100 + 50 * (i % 3)
        lines.append(run_line(Run(node, number, 0, t + 0.125, 0.001, rows, None, t, "poll")))
        lines.append(run_line(Run(node, number, 1, t + 0.2, 0.002 + rows * 1e-5, rows, at(t - BASE - 0.01), t, "rows")))
        lines.append(run_line(Run(node, number, 1, t + 0.2, 0.0005, 0, at(t - BASE - 0.01), t, "mark")))
        if i % 4 == 3:
            lines.append(run_line(Run(node, number, 2, t + 0.3, 0.004, 10, at(t - BASE - 0.01), t, "rows")))
    return lines


def write(folder: Path, lines: list[str]) -> Path:
    path = folder / "run.jsonl"
    path.write_text("".join(lines))
    return path


def test_arrivals_costs_and_topology_are_those_recorded(tmp_path: Path) -> None:
    scenario = load(write(tmp_path, windowed()))
    assert (scenario.name, scenario.cluster.nodes, scenario.cluster.workers, scenario.seconds) == ("run", 2, 1, 4.0)
    (job,) = scenario.jobs
    assert (job.name, job.latency, job.group) == ("counts 3", 0.5, "ls")
    source, chain, merge, sink = job.stages
    assert source.arrivals.points[0][:2] == ((0.375, 100, 240_000, POLL), (0.75, 200, 740_000, POLL))  # type: ignore[union-attr]
    assert (chain.kind, merge.kind, sink.kind) == ("window", "merge", "regular")
    assert (chain.edge, merge.edge, sink.parallelism, sink.nodes) == ("forward", "key", 1, (0,))
    assert chain.cost.message == pytest.approx(0.002)
    assert chain.cost.row == pytest.approx(1e-5)
    assert chain.cost.scv == pytest.approx(0.0, abs=1e-9)
    assert chain.cost.trigger == pytest.approx(0.0005)


@pytest.mark.parametrize("policy", ["llf", "fifo", "orleans"])
def test_a_trace_is_replayed_under_any_policy(tmp_path: Path, policy: str) -> None:
    result = run(load(write(tmp_path, windowed())), policy)
    series = result.jobs["counts 3"]
    assert result.groups[0].correct
    # Windows end at 1, 2 and 3 s, on both owners of keys. Their rows were polled at 0.25, 0.75 and so on.
    assert sorted(series.p + 1) == [1_000_000] * 2 + [2_000_000] * 2 + [3_000_000] * 2
    assert sum(series.rows[series.p + 1 == 1_000_000]) == sum(100 + 50 * (i % 3) for i in range(4))
    assert list(series.arrival) == [1.25, 1.25, 2.25, 2.25, 3.25, 3.25]


def test_polls_cost_what_they_cost(tmp_path: Path) -> None:
    lines = [header_line("pass", 1, None, 1, [stage(0, None), stage(1, 0)])]
    lines += [run_line(Run(0, 1, 0, BASE + t, cost, 5, None, BASE + t, "poll")) for t, cost in ((0.0, 0.1), (1.0, 0.3))]
    lines += [run_line(Run(0, 1, 1, BASE + t, 0.02, 5, None, BASE + t, "rows")) for t in (0.0, 1.0)]
    result = run(load(write(tmp_path, lines)), "fifo")
    assert list(result.jobs["pass 1"].latency.round(6)) == [0.12, 0.32]
    assert result.group("ba").met is None


def test_a_backlog_from_before_the_record_is_there_when_it_begins(tmp_path: Path) -> None:
    """Bulk that came long ago is read while urgent rows come: they meet in the replay as they met in the nodes."""
    stages = [stage(0, None), stage(1, 0)]
    lines = [header_line("bulk", 1, None, 1, stages), header_line("urgent", 2, 0.1, 1, stages)]
    for i in range(40):
        lines.append(run_line(Run(0, 1, 0, BASE + i / 10, 0.05, 5, None, BASE - 60 + i / 100, "poll")))
        lines.append(run_line(Run(0, 1, 1, BASE + i / 10 + 0.05, 0.05, 5, None, BASE - 60 + i / 100, "rows")))
    for i in range(4):
        lines.append(run_line(Run(0, 2, 0, BASE + i + 0.5, 0.001, 5, None, BASE + i + 0.4, "poll")))
        lines.append(run_line(Run(0, 2, 1, BASE + i + 0.6, 0.001, 5, None, BASE + i + 0.4, "rows")))
    scenario = load(write(tmp_path, lines))
    assert scenario.seconds == 4.0
    slow, fast = (run(scenario, policy).jobs["urgent 2"].latency.min() for policy in ("fifo", "llf"))
    assert slow > 0.1 > 2 * fast


def test_stages_above_those_that_are_polled_are_left_out(tmp_path: Path) -> None:
    stages = [stage(0, None, where="one"), stage(1, 0, "spread"), stage(2, 1)]
    lines = [header_line("files", 1, None, 2, stages)]
    lines += [run_line(Run(node, 1, 1, BASE, 0.1, 5, None, BASE, "poll")) for node in (0, 1)]
    scenario = load(write(tmp_path, lines))
    assert [stage.name for stage in scenario.jobs[0].stages] == ["1", "2"]
    assert run(scenario).groups[0].rows == 10


BAD = [
    ("not json", "line 2"),
    ('{"node": 0}', "line 2"),
    (
        '{"node": 0, "number": 9, "stage": 0, "start": 0, "seconds": 0, "rows": 1, "p": null, "t": 0, "kind": "poll"}',
        "9",
    ),
    (
        '{"node": 0, "number": 1, "stage": 0, "start": 0, "seconds": 0, "rows": 1, "p": null, "t": 0, "kind": "x"}',
        "poll",
    ),
]


@pytest.mark.parametrize(("line", "says"), BAD)
def test_a_bad_line_is_refused_with_its_number(tmp_path: Path, line: str, says: str) -> None:
    header = header_line("pass", 1, None, 1, [stage(0, None), stage(1, 0)])
    with pytest.raises(InvalidOption, match="line 2") as error:
        load(write(tmp_path, [header, line + "\n"]))
    assert says in str(error.value)
    assert "docs/simulator.md" in str(error.value)


def test_a_trace_without_polls_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="record while sources bring rows"):
        load(write(tmp_path, []))
    with pytest.raises(InvalidOption, match="name a file that is there"):
        load(tmp_path / "none.jsonl")
