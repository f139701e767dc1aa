"""The examples of docs/simulator.md work as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headway.simulate import load, run
from headway.simulate.load import _READERS

PAGE = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_scenario(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    assert all(group.correct and group.latency_ms for group in run(load(path)).groups)


def test_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks("python")
    exec(compile(program, "docs/simulator.md", "exec"), {})
    assert "p99" in capsys.readouterr().out


def test_the_lines_of_a_trace(tmp_path: Path) -> None:
    header, line = (re.sub(r"\n\s*", " ", block).strip() for block in blocks("json"))
    path = tmp_path / "run.jsonl"
    poll = line.replace('"stage": 1', '"stage": 0').replace('"rows"}', '"poll"}')
    path.write_text(f"{header}\n{poll}\n{line}\n")
    assert run(load(path)).groups[0].queries == 1


def test_every_key_is_explained() -> None:
    missing = {key for readers in _READERS.values() for key in readers if not re.search(rf"[`.]{key}`", PAGE)}
    # `jobs`, `stages`, `cluster`, `arrivals` and `cost` are tables; `mean` is told with `delay`.
    assert missing <= {"stages", "cost"}
