"""The worked example has the paper's schedules; scenarios and figures can be made of what runs give."""

import json
from pathlib import Path

import pytest

from bench.cameo import example, timeline
from bench.cameo.figures import FIGURES
from bench.cameo.jobs import mix
from bench.cameo.results import CameoResult, append, measured, ratios
from bench.cameo.scenarios import SCENARIOS
from bench.cameo.trials import COMPARED
from bench.cluster import Group


def test_the_worked_example() -> None:
    made = example.schedules()
    assert [schedule.order for schedule in made] == [
        ["M1", "M2", "M3", "M4"],
        ["M1", "M3", "M2", "M4"],
        ["M2", "M1", "M4", "M3"],
        ["M2", "M4", "M1", "M3"],
    ]
    assert [schedule.violations for schedule in made] == [("M2", "M4"), ("M2", "M4"), ("M4",), ()]
    assert [schedule.starts.get("M2") for schedule in made] == [None, None, 60.0, 60.0]


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_are_valid(name: str) -> None:
    points = SCENARIOS[name]()
    assert len({x for x, _ in points}) == len(points)
    assert all(scenario.cluster.workers >= 1 and scenario.name == f"cameo-{name}" for _, scenario in points)


def test_jobs_share_the_volume() -> None:
    jobs = mix(6, 3e6)
    assert [job.group for job in jobs] == ["ls"] * 4 + ["ba"] * 6
    assert sum(job.rows_per_s for job in jobs if job.group == "ba") == pytest.approx(3e6)
    assert len({job.arrivals.seed for job in jobs}) == len(jobs)


def result(policy: str, group: str, x: float | str, millis: float) -> CameoResult:
    told = Group({"job"}, rows=100, seconds=1.0, cpu=2.0, busy=1.5)
    told.latency.record(millis / 1000, 50)
    told.latency.record(millis / 100, 1)
    told.met, told.results, told.due = 50, 51, 60
    told.timeline = [("job", 1.0, 1e6, millis, 2 * millis)]
    settings = {"timeline": told.timeline, "microseconds_per_message": 10.0, "runs": [[1.0, 0, 0, 5], [1.1, 1, 0, 6]]}
    return measured("cameo-test", policy, x, group, told, 1e6, settings)


def test_results_that_did_not_come_are_not_in_time() -> None:
    assert result("llf", "ls", 1, 10.0).met == pytest.approx(50 / 60)


def test_ratios_are_of_the_same_point() -> None:
    made = [result(p, g, 12, ms) for p, ms in (("llf", 10.0), ("fifo", 50.0)) for g in ("ls", "ba")]
    (line,) = ratios([*made, result("llf", "ls", 24, 1.0)])
    assert "fifo" in line
    assert "median     5.0x" in line
    assert "bulk rows/s of llf +0.0%, of the nodes' time 50.0% against 50.0%" in line


def test_how_far_bulk_rows_may_be_off_is_told_by_turns() -> None:
    made = [result(policy, group, 12, 10.0) for policy in ("llf", "fifo") for group in ("ls", "ba")]
    for one, turns in zip(made[1::2], ([9.0, 11.0, 10.0], [10.0, 10.0, 10.0]), strict=True):
        one.settings["turns_rows_per_s"] = turns
    (line,) = ratios(made)
    assert "bulk rows/s of llf +0.0% ± 5.8%" in line


def test_results_are_lines_of_json(tmp_path: Path) -> None:
    append([result("llf", "ls", 12, 10.0)], str(tmp_path / "out.jsonl"))
    told = json.loads((tmp_path / "out.jsonl").read_text())
    fields = "workload system queries offered_rows_per_s rows_per_s latency_ms seconds rows correct policy group x met"
    assert set(fields.split()) <= set(told)
    assert set(told["latency_ms"]) == {"mean", "p50", "p95", "p99", "max"}


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if figure.draw])
def test_every_figure_is_drawn(name: str, tmp_path: Path) -> None:
    groups = {"fig10": ("type1", "type2"), "fig6": ("d1", "d2", "d3")}.get(name, ("ls", "ba"))
    xs = {"fig12": ("no-op", 1, 10)}.get(name, (1, 2))
    made = [result(policy, group, x, 10.0) for policy in COMPARED for group in groups for x in xs]
    draw = FIGURES[name].draw
    assert draw is not None
    draw(made, str(tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_runs_of_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.trace.jsonl"
    one = {"node": 1, "number": 3, "stage": 2, "start": 5.25, "seconds": 0.1, "rows": 9, "p": 7_300_000, "t": 5.0}
    lines = [{"query": "q", "number": 3, "stages": []}, {**one, "kind": "rows"}, {**one, "kind": "mark"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert timeline.read_runs(path) == [timeline.Run(5.25, (2, 1), 7)]
