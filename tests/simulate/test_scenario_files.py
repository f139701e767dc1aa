"""Scenario files: what they say, and what is said of bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.errors import InvalidOption
from headway.simulate import Arrivals, Cost, Spread, Window, load, run
from headway.simulate.load import load_scenario

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "scenarios").glob("*.toml"))

GOOD = """
name = "good"
seconds = 4
warm_up = "500 ms"
settings = { "headway.scheduling.semantics" = false }

[cluster]
nodes = 2
workers = 3
exchange = "1 ms"

[[jobs]]
name = "counts"
latency = "800 ms"
count = 2

[[jobs.stages]]
name = "in"
kind = "source"
parallelism = 2
arrivals = { rate = 5, rows = 10, process = "poisson", delay = { mean = "20 ms", scv = 1 } }

[[jobs.stages]]
name = "window"
kind = "window"
parallelism = 2
window = { size = "2 s", slide = "1 s" }
cost = { message = "1 ms", row = 2e-6 }

[[jobs.stages]]
name = "out"
kind = "output"
nodes = [1]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text)
    return path


def test_a_file_says_all_there_is_to_say(tmp_path: Path) -> None:
    scenario = load(write(tmp_path, GOOD))
    assert (scenario.name, scenario.seconds, scenario.warm_up) == ("good", 4.0, 0.5)
    assert scenario.settings == {"headway.scheduling.semantics": "false"}
    assert (scenario.cluster.nodes, scenario.cluster.workers, scenario.cluster.exchange) == (2, 3, 0.001)
    (job,) = scenario.jobs
    assert (job.names(), job.latency) == (["counts-0", "counts-1"], 0.8)
    source, window, out = job.stages
    assert source.arrivals == Arrivals(5, 10, "poisson", delay=Spread(0.02, 1))
    assert (window.window, window.cost) == (Window(2.0, 1.0), Cost(0.001, 2e-6))
    assert out.nodes == (1,)
    assert run(scenario).groups[0].correct


def test_values_can_be_replaced_by_their_path(tmp_path: Path) -> None:
    changes = {
        "jobs.counts.count": "5",
        "jobs.counts.stages.window.cost.row": "1e-3",
        "cluster.channel": "8",
        "name": "x y",
    }
    scenario = load_scenario(write(tmp_path, GOOD), changes)
    assert (scenario.jobs[0].count, scenario.jobs[0].stages[1].cost.row) == (5, 1e-3)
    assert (scenario.cluster.channel, scenario.name) == (8, "x y")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path: Path) -> None:
    scenario = load_scenario(path, {"seconds": "0.5", "warm_up": "0.1"})
    assert all(group.correct for group in run(scenario).groups)


BAD = [
    ("nodes = 2", "nodes = 0", "cluster.nodes", "whole number from 1 on"),
    ("nodes = 2", "nods = 2", "cluster.nods", "there are nodes, workers"),
    ("workers = 3", "workers = 1.5", "cluster.workers", "whole number"),
    ('exchange = "1 ms"', 'exchange = "1 parsec"', "cluster.exchange", "parsec"),
    ("seconds = 4", "seconds = -1", "seconds", "above 0"),
    ('warm_up = "500 ms"', "warm_up = 9", "warm_up", "less than seconds"),
    ('latency = "800 ms"', "latency = 0", "jobs.counts.latency", "leave it out for bulk"),
    ("count = 2", "count = true", "jobs.counts.count", "use one"),
    ('kind = "window"', 'kind = "windw"', "jobs.counts.stages.window.kind", "merge, join"),
    ('window = { size = "2 s", slide = "1 s" }', "", "jobs.counts.stages.window.window", "add window.size"),
    ('slide = "1 s"', 'slide = "1500 ms"', "jobs.counts.stages.window.window.slide", "multiple"),
    ("rate = 5, ", "", "jobs.counts.stages.in.arrivals.rate", "add it"),
    ("rate = 5", 'rate = "many"', "jobs.counts.stages.in.arrivals.rate", "no number"),
    ("rows = 10", "rows = 0", "jobs.counts.stages.in.arrivals.rows", "from 1 on"),
    ('process = "poisson"', 'process = "fish"', "jobs.counts.stages.in.arrivals.process", "constant or poisson"),
    ('process = "poisson"', "pareto = 0.9", "jobs.counts.stages.in.arrivals.pareto", "above 1"),
    ('process = "poisson"', 'phase = "odd"', "jobs.counts.stages.in.arrivals.phase", "odd"),
    ("scv = 1", "scv = -1", "jobs.counts.stages.in.arrivals.delay.scv", "from 0 on"),
    ("row = 2e-6", "row = -2e-6", "jobs.counts.stages.window.cost.row", "from 0 on"),
    ("nodes = [1]", "nodes = [2]", "jobs.counts.stages.out.nodes", "0 to 1"),
    ("nodes = [1]", 'inputs = ["nowhere"]', "jobs.counts.stages.out.inputs", "in, window"),
    ("nodes = [1]", 'edge = "one"\nparallelism = 2', "jobs.counts.stages.out.edge", "parallelism = 1"),
    ("nodes = [1]", 'edge = "forward"\nparallelism = 4', "jobs.counts.stages.out.edge", "edge = 'key'"),
    ('kind = "output"', 'kind = "join"\nwindow = 1', "jobs.counts.stages.out.inputs", "several"),
    ('name = "out"', 'name = "in"', "jobs.counts.stages.in.name", "of its own"),
    ('kind = "source"', "", "jobs.counts.stages.in.arrivals", "use kind source"),
    ('[[jobs]]\nname = "counts"', "[[jobs]]", "jobs.0.name", "it is missing"),
]


@pytest.mark.parametrize(("good", "bad", "key", "way_out"), BAD, ids=[f"{key} {bad}" for _, bad, key, _ in BAD])
def test_a_bad_file_is_refused_with_the_key_and_the_way_out(
    tmp_path: Path, good: str, bad: str, key: str, way_out: str
) -> None:
    assert good in GOOD
    path = write(tmp_path, GOOD.replace(good, bad, 1))
    with pytest.raises(InvalidOption) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: {key}: ")
    assert way_out in str(error.value)


def test_files_that_are_not_there_or_no_toml(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"missing\.toml.*name a file that is there"):
        load(tmp_path / "missing.toml")
    with pytest.raises(InvalidOption, match=r"is not TOML: .*line 1"):
        load(write(tmp_path, "seconds 4"))
    with pytest.raises(InvalidOption, match=r"jobs: it is missing; add it"):
        load(write(tmp_path, "seconds = 4"))
    with pytest.raises(InvalidOption, match=r"jobs\.other\.count: there is no 'other'"):
        load_scenario(write(tmp_path, GOOD), {"jobs.other.count": "3"})
