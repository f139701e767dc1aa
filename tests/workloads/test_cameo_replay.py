"""The simulator ranks policies as reality does, on a trace that real nodes recorded."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.cameo.replay import ranks
from bench.cameo.results import CameoResult

ROOT = Path(__file__).parents[2]


@pytest.mark.alone
def test_simulator_and_reality_rank_the_policies_alike(tmp_path: Path) -> None:
    """In overload deadlines win by far; what is nearer than that may fall either way."""
    out = tmp_path / "replay.jsonl"
    command = [sys.executable, "-m", "bench", "cameo", "replay", "--real", "--seconds", "5", "--json", str(out)]
    command += ["--capacity", "80e6"]  # more than any two cores take: to measure it takes longer than all the rest
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "."])}
    subprocess.run([*command, "--policies", "fifo,llf"], cwd=ROOT, env=environment, check=True, timeout=300)
    results = [CameoResult(**json.loads(line)) for line in out.read_text().splitlines()]
    assert [(r.system, r.policy) for r in results] == [
        (system, policy) for system in ("headway", "simulator") for policy in ("fifo", "llf")
    ]
    assert all(result.correct for result in results)
    assert ranks(results, "headway") == ranks(results, "simulator") == {("llf", "fifo")}
