"""The peers that are Python libraries, as far as that can be seen without them: rows, queries, and what is judged."""

import argparse
import pickle
import subprocess
import sys
from collections import defaultdict
from datetime import timedelta
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import lags, peers, race
from bench.enjima.jobs import WORKLOADS
from bench.libraries import marks
from bench.libraries.board import MARKS, Board
from bench.libraries.progress import EVERY_US, Progress
from bench.libraries.run import BOARD, RING, TOLD, Run
from bench.libraries.share import RingRows, Share
from bench.libraries.steps import EPOCH, Steps
from bench.lines import Line
from bench.lrb.workload import Lrb
from bench.numbered import Pace
from bench.nyt.workload import Nyt
from bench.on_bytewax import OnBytewax
from bench.on_library import Started
from bench.on_pathway import final
from bench.search import BEHIND
from bench.workload import RingWorkload
from bench.ysb.workload import Ysb

RATE, SECONDS = 1009, 31
T0 = 1_700_000_004_000_000
RINGS = [pytest.param(Ysb(3), id="ysb"), pytest.param(Nyt(4), id="nyt")]


def columns(workload: RingWorkload) -> dict[str, Any]:
    ring = workload.library().ring
    return {name: ring[name].to_numpy() for name in ring.column_names}


@pytest.mark.parametrize("rate", [7, 1009, 3_000_017])
def test_shares_have_the_rows_of_the_schedule(rate: int) -> None:
    pace, now = Pace(str(rate), T0), T0 + 3_141_592
    shares = [Share(first, 3, T0, rate) for first in range(3)]
    taken = sorted(number for share in shares for number in share.take(now, 1 << 30))
    assert taken == list(range(pace.scheduled(now)))
    assert [shares[0].time_us(number) for number in taken[-50:]] == [pace.time_us(number) for number in taken[-50:]]
    assert not any(share.take(now, 1 << 30) for share in shares)
    assert not Share(0, 1, T0, rate).take(T0 - 1, 1)


def test_a_share_without_a_rate_gives_all_that_is_asked_for() -> None:
    share = Share(1, 2, T0, 0)
    assert (list(share.take(T0, 3)), list(share.take(T0, 2))) == ([1, 3, 5], [7, 9])


@pytest.mark.parametrize("workload", RINGS)
def test_rows_are_those_of_the_ring(workload: RingWorkload) -> None:
    ring = columns(workload)
    rows, share = RingRows(ring, 1, 2), Share(1, 2, T0, RATE)
    share.take(T0 + 400_000_000, rows.contiguous(1) - 5)
    numbers = share.take(T0 + 400_000_000, min(20, rows.contiguous(share.next)))
    assert len(numbers) == 5  # the end of what is made before the run
    expected = [
        (T0 + n * 1_000_000 // RATE, *(column[n % len(column)].item() for column in ring.values())) for n in numbers
    ]
    assert rows.tuples(numbers, share) == expected


@pytest.mark.parametrize("workload", RINGS)
def test_bytewaxs_steps_give_the_exact_answer(workload: RingWorkload) -> None:
    job = workload.library()
    steps: Steps = import_module(f"bench.{workload.name}.on_bytewax").steps(job.told)
    states: dict[tuple[int, str], Any] = defaultdict(steps.empty)
    for first in range(2):
        rows, share = RingRows(columns(workload), first, 2), Share(first, 2, T0, RATE)
        numbers = share.take(T0 + SECONDS * 1_000_000, 1 << 30)
        for key, value in steps.keep(rows.tuples(numbers, share)):
            place = (value[0] - EPOCH) // timedelta(microseconds=job.window_us), key
            states[place] = steps.fold(states[place], value)
    width = job.window_us
    lines: list[Line] = [
        (n * width, (n + 1) * width, int(key), *steps.fields(state)) for (n, key), state in states.items()
    ]
    ended = [line for line in lines if line[1] <= T0 + SECONDS * 1_000_000]
    assert len({line[0] for line in ended}) > 1
    assert workload.correct(ended, T0, RATE)
    assert not workload.correct([(*ended[0][:3], ended[0][3] + 1, *ended[0][4:]), *ended[1:]], T0, RATE)


def test_a_board_tells_both_sides(tmp_path: Path) -> None:
    bench, program = Board(tmp_path / BOARD, 2, new=True), Board(tmp_path / BOARD, 2)
    program.slot(0).open()
    assert not bench.all_open()
    program.slot(1).open()
    assert bench.all_open()
    assert not program.begin_us
    bench.begin_at(1000)
    program.slot(0).passed(30, 5000)
    assert (program.begin_us, bench.rows(), bench.through_us()) == (1000, 30, 1000)
    program.slot(1).passed(12, 4000)
    assert (bench.rows(), bench.through_us(), bench.lag_us(4500)) == (42, 4000, 500)
    assert not program.over
    bench.end()
    assert program.over


def test_a_board_keeps_the_newest_latencies(tmp_path: Path) -> None:
    board = Board(tmp_path / BOARD, 2, new=True)
    board.slot(1).mark(7000)
    before = board.marked()
    for latency in range(3):
        board.slot(0).mark(latency * 1000)
    assert board.latencies_ms(before).tolist() == [0.0, 1.0, 2.0]
    assert board.lag_us(0) == 7000  # a row that is stuck behind the source counts too
    for latency in range(MARKS + 1):
        board.slot(1).mark(latency * 1000)
    kept = board.latencies_ms(before).tolist()
    assert (len(kept), kept[-1]) == (3 + MARKS, float(MARKS))


def test_a_marked_row_is_the_row_and_tells_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sampled by the schedule: rows of 180 milliseconds in one batch have four marks, whatever they waited."""
    board = Board(tmp_path / BOARD, 1, new=True)
    marks.tell(board.slot(0))
    monkeypatch.setattr(marks, "now_us", lambda: 200_000)
    kept = [(str(n), (EPOCH + timedelta(milliseconds=10 * n), n)) for n in range(19)]
    marked = marks.Marking(lambda rows: list(kept))([])
    assert marked == kept
    assert [key for key, value in marked if isinstance(value, marks.Mark)] == ["0", "5", "10", "15"]
    through = [pickle.loads(pickle.dumps(value)) for _, value in marked]
    assert board.marked() == [0]
    assert [itemgetter(0)(value) for value in through] == [value[0] for _, value in kept]
    assert [value[1] for value in through] == list(range(19))
    assert board.latencies_ms([0]).tolist() == [200.0, 150.0, 100.0, 50.0]


def test_an_event_takes_effect_when_its_commit_is_through(tmp_path: Path) -> None:
    board = Board(tmp_path / BOARD, 1, new=True)
    now = [0]
    progress = Progress(board.slot(0), lambda number: number * 1000, lambda: now[0])
    for time, until in ((2, 40), (2, 101), (4, 201)):
        progress.on_rows(None, {"until": until}, time, True)
    assert (progress.rows, board.rows()) == (0, 0)
    now[0] = 120_000
    progress.on_end(2)
    assert (progress.rows, board.rows(), board.through_us()) == (101, 101, 100_000)
    now[0] = 260_000
    progress.on_end(6)  # nothing of the commit before it was kept
    assert (progress.rows, board.through_us()) == (201, 200_000)
    assert EVERY_US == 50_000
    assert board.latencies_ms([0]).tolist() == [20.0, 110.0, 60.0]


def test_the_last_change_of_a_window_that_is_over_is_its_result() -> None:
    names = ("start", "end", "key", "rows", "time", "diff")
    changes = [
        ("0", "10", "7", "1", "2", "1"),
        ("0", "10", "8", "5", "2", "1"),
        ("0", "10", "7", "1", "4", "-1"),
        ("0", "10", "7", "3", "4", "1"),
        ("10", "20", "7", "2", "4", "1"),
    ]
    told = [dict(zip(names, change, strict=True)) for change in changes]
    assert final(told, 19) == [(0, 10, 7, 3), (0, 10, 8, 5)]
    assert len(final(told, 20)) == 3


class Clock:
    """Stands for `time`: only sleeping takes time."""

    def __init__(self) -> None:
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("taken", "lag", "followed", "cut"),
    [
        pytest.param(1.0, lambda passed: 30.0, True, False, id="steady"),
        pytest.param(1.0, lambda passed: 300.0 + 20 * passed, True, False, id="nearly steady"),
        pytest.param(1.0, lambda passed: 100.0 * passed, False, False, id="growing"),
        pytest.param(0.9, lambda passed: 30.0, False, False, id="too few rows"),
        pytest.param(1.0, lambda passed: 5000.0 * passed, False, True, id="far behind"),
    ],
)
def test_a_rate_is_followed_if_the_lag_does_not_grow(
    taken: float, lag: Any, followed: bool, cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(lags, "time", clock)
    trial, seen = lags.watch(
        1000, 2, 20.0, lambda: int(taken * 2000 * (clock.now - 1000)), lambda: float(lag(clock.now - 1000))
    )
    assert (trial.followed, trial.cut) == (followed, cut)
    assert trial.rows_per_s == pytest.approx(taken * 2000, rel=0.01)
    assert (seen[-1] > BEHIND * 1000) == cut


def test_an_environment_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    commands: list[list[str]] = []

    def run(command: list[Any], check: bool) -> None:
        assert check
        commands.append([str(part) for part in command])
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)

    monkeypatch.setattr(peers.subprocess, "run", run)
    folder = tmp_path / "headway" / "peers" / "p-1"
    folder.mkdir(parents=True)
    (folder / "half made").touch()
    assert peers.environment("p", "1", ["p==1", "q"], dependencies=False) == folder
    assert not (folder / "half made").exists()
    assert commands[0] == [sys.executable, "-m", "venv", str(folder)]
    assert commands[1][:4] == [str(peers.python(folder)), "-m", "pip", "install"]
    assert commands[1][-3:] == ["--no-deps", "p==1", "q"]
    peers.environment("p", "1", ["p==1", "q"])
    assert len(commands) == 2


def test_an_environment_that_fails_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(peers.subprocess, "run", lambda command, check: (_ for _ in ()).throw(OSError("no network")))
    with pytest.raises(OSError, match="no network"):
        peers.environment("p", "1", ["p==1"])
    assert not list(tmp_path.glob("**/ready"))


@pytest.mark.parametrize("program", ["raise SystemExit('no such thing')", "print('no such thing')"])
def test_what_a_program_said_that_ended_early_is_told(program: str, tmp_path: Path) -> None:
    started = Started(tmp_path, [[sys.executable, "-c", program]], {})
    started.wait()
    with pytest.raises(RuntimeError, match="no such thing"):
        started.check()


def test_a_program_that_says_nothing_is_told_too(tmp_path: Path) -> None:
    started = Started(tmp_path, [[sys.executable, "-c", ""]], {})
    started.wait()
    assert str(started.failure("has read nothing")).endswith("has read nothing: it does not say why")


@pytest.mark.parametrize(
    ("seconds", "right"),
    [
        pytest.param(0, False, id="nothing was read"),
        pytest.param(9, True, id="no window is over"),
        pytest.param(21, False, id="a window is missing"),
    ],
)
def test_a_run_without_results_is_right_as_long_as_none_has_to_be_there(seconds: int, right: bool) -> None:
    bytewax = object.__new__(OnBytewax)
    bytewax._workload = Ysb(3)
    bytewax._job = bytewax._workload.library()
    assert bytewax._right([], T0, RATE, T0 + seconds * 1_000_000) == right


def test_peers_that_do_not_run_a_workload_are_refused_with_the_reason() -> None:
    def ask(workload: type[RingWorkload], against: str) -> list[str]:
        options = argparse.Namespace(against=against)
        return race.peers_of(options, race.able(workload)[1:], workload.left_out)

    assert ask(Ysb, "spark,flink,bytewax,pathway") == list(race.SYSTEMS[1:])
    assert ask(Nyt, "") == []
    with pytest.raises(SystemExit, match="unknown peer storm; there are: spark, flink, bytewax, pathway"):
        ask(Nyt, "flink,storm")
    with pytest.raises(SystemExit, match=r"pathway does not run this: a toll .*; there are: spark, flink"):
        ask(Lrb, "pathway")


def test_every_system_either_runs_a_workload_or_says_why_not() -> None:
    for workload in WORKLOADS.values():
        assert {*race.able(workload), *workload.left_out} == set(race.SYSTEMS)
    assert [race.system(name).name for name in race.SYSTEMS] == list(race.SYSTEMS)


def test_a_peers_library_is_not_imported_here() -> None:
    modules = ", ".join(f"bench.on_{name}" for name in ("bytewax", "pathway"))
    told = f"import sys, {modules}; print({{'bytewax', 'pathway'}} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", told], check=True, capture_output=True, text=True, cwd=".").stdout
    assert told == "set()\n"


def test_processes_have_addresses_of_their_own() -> None:
    addresses = OnBytewax.addresses(object.__new__(OnBytewax))
    assert len(set(addresses)) == 2
    assert all(address.startswith("127.0.0.1:") for address in addresses)


def test_a_program_reads_what_the_bench_wrote(tmp_path: Path) -> None:
    (tmp_path / TOLD).write_text(
        '{"peer": "bytewax", "workload": "ysb", "rate": 5, "queries": 1, "slots": 2, "alone": false, "window_us": 9,'
        ' "longest": 1.5, "addresses": [], "told": {"vendor": 2}}'
    )
    np.savez(tmp_path / RING, a=np.arange(3))
    Board(tmp_path / BOARD, 2, new=True).begin_at(77)
    run = Run.read(str(tmp_path))
    assert (run.rate, run.told, run.board().begin_us) == (5, {"vendor": 2}, 77)
    assert {name: column.tolist() for name, column in run.ring().items()} == {"a": [0, 1, 2]}
    assert run.query().__name__ == "bench.ysb.on_bytewax"
