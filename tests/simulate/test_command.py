"""`headway simulate`, as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "scenarios" / "two_tenants.toml")


def headway(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headway.cli", *arguments], capture_output=True, text=True, check=False
    )


def test_a_run_prints_a_table_and_appends_json(tmp_path: Path) -> None:
    out, timeline = tmp_path / "out.jsonl", tmp_path / "timeline.json"
    options = ["--policy", "llf,fifo", "--seconds", "5", "--json", str(out), "--timeline", str(timeline), "--x", "3"]
    done = headway("simulate", EXAMPLE, *options, "--set", "cluster.workers=1")
    assert done.returncode == 0, done.stderr
    assert "two tenants: 1 nodes x 1 workers, 5 s" in done.stdout
    assert "runs simulated" in done.stderr
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["policy"], line["group"]) for line in lines] == [
        ("llf", "ls"), ("llf", "ba"), ("fifo", "ls"), ("fifo", "ba"),
    ]  # fmt: skip
    assert all(line["system"] == "simulator" and line["correct"] and line["x"] == 3.0 for line in lines)
    assert lines[0]["latency_ms"]["p99"] < lines[2]["latency_ms"]["p99"]
    for policy in ("llf", "fifo"):
        events = json.loads((tmp_path / f"timeline.{policy}.json").read_text())["traceEvents"]
        assert {event["ph"] for event in events} == {"X"}
        assert len(events) > 100


def test_what_is_wrong_is_said_without_a_traceback(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("seconds = 0")
    for arguments, says in [
        ([str(bad)], "jobs: it is missing; add it"),
        ([EXAMPLE, "--policy", "best"], "there is no scheduling policy 'best'"),
        ([EXAMPLE, "--set", "cluster.workers"], "write key=value"),
        ([EXAMPLE, "--set", "cluster.workers=0"], "cluster.workers: 0 will not do"),
        ([EXAMPLE, "--seconds", "0"], "seconds: 0.0 will not do"),
    ]:
        done = headway("simulate", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("headway: ")
        assert says in done.stderr
        assert "Traceback" not in done.stderr
