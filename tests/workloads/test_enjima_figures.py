"""Enjima's experiments: rates are parts of a capacity, and every figure can be drawn of what runs give."""

import json
from pathlib import Path

import pytest

from bench.cameo.results import append
from bench.enjima.figures import FIGURES
from bench.enjima.jobs import HIGHEST, MOST, mixed, paper_rate, queries, steps
from bench.enjima.table2 import milliseconds
from bench.enjima.trials import CHOICES, MODES, POLICIES, Choice, EnjimaResult, Trials, label
from bench.numbered import Pace

CAPACITIES = {name: MOST[name] / 10 / HIGHEST[name] for name in MOST}


def test_rates_are_the_papers_parts_of_the_capacity() -> None:
    assert [paper_rate(name, capacity) for name, capacity in CAPACITIES.items()] == [1_200_000, 300_000, 800_000]
    assert paper_rate("ysb", CAPACITIES["ysb"], 10) == 945_000, "ten queries have the highest load together"
    jobs = mixed(9, CAPACITIES)
    assert [job.group for job in jobs] == ["lrb"] * 3 + ["ysb"] * 3 + ["nyt"] * 3
    assert sum(job.rows_per_s for job in jobs) == 3 * 2_300_000
    assert len({job.name for job in jobs}) == len(jobs)


def test_steps_share_a_run() -> None:
    rates = steps([100.0, 200.0, 1200.0], 30.0)
    assert rates == "100,10:200,20:1200"
    assert Pace(rates, 0).first_at(30_000_000) == 100 * 10 + 200 * 10 + 1200 * 10
    assert queries("ysb", 1, rates)[0].rows_per_s == 1200
    assert steps([100.0, 200.0], 30.0, lead=5.0) == "100,20:200"


def result(choice: Choice, group: str, x: float | str, system: str = "headway") -> EnjimaResult:
    settings = {"timeline": [[0.0, 1e6, 2.0, 9.0], [2.0, 2e6, -1.0, -1.0]], "ms_per_s": {"0 chain": 10.0}}
    return EnjimaResult(
        "enjima-test", system, 1, 1e6, 9e5, {"mean": 2.0, "p99": 9.0}, 1.0, 9, True, settings, choice.policy, group, x,
        1.0, choice.mode,
    )  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn(name: str, tmp_path: Path) -> None:
    made = [result(choice, group, x) for choice in FIGURES[name].choices for group in ("ysb", "lrb") for x in (1, 2)]
    FIGURES[name].draw([*made, result(POLICIES[0], "ysb", 1, "flink")], str(tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_results_say_policy_mode_group_and_x(tmp_path: Path) -> None:
    append([result(choice, "ysb", 4) for choice in MODES], str(tmp_path / "out.jsonl"))
    told = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [told[0][name] for name in ("policy", "mode", "group", "x")] == ["enjima", "full", "ysb", 4]
    assert {one["mode"] for one in told} == {"full", "TQ", "SQ", "TM"}
    assert [label(result(choice, "ysb", 4)) for choice in CHOICES.values()] == list(CHOICES)
    assert label(result(POLICIES[0], "ysb", 4, "flink")) == "flink"


def test_a_rate_stands_for_the_capacity_without_a_run() -> None:
    trials = Trials("enjima-test", 1.0, lambda line: None, rate=5e6)
    assert trials.capacity("lrb") == 5e6
    assert "cluster" not in vars(trials)


def test_times_of_stages_in_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.trace.jsonl"
    stages = [{"id": 0, "kind": "source"}, {"id": 1, "kind": "chain"}]
    lines = [{"query": "q", "number": 3, "stages": stages}]
    lines += [{"node": n, "number": 3, "stage": 1, "kind": "rows", "seconds": 0.2} for n in (0, 1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert milliseconds(path, 4.0) == {"1 chain": pytest.approx(100.0)}


def test_a_point_that_is_not_asked_for_is_not_run() -> None:
    trials = Trials("enjima-test", 1.0, lambda line: None, rate=5e6, points=["6"])
    assert [x for x in (4, 6, 8) if trials.asked(x)] == [6]
    trials.point(8, queries("ysb", 8, 1), POLICIES)
    assert "cluster" not in vars(trials)
    assert trials.results == []
