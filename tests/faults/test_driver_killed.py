"""The driver is killed with SIGKILL while queries run; the same program, run again, loses and doubles nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

PROGRAM = Path(__file__).parent / "program.py"
ROWS = 500


def add_file(folder: Path, number: int) -> None:
    values = range(number * ROWS, (number + 1) * ROWS)
    table = pa.table({"k": [value % 7 for value in values], "v": list(values)})
    pq.write_table(table, folder / f".{number}.tmp")
    (folder / f".{number}.tmp").rename(folder / f"{number}.parquet")


def start(*arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )


def kill_after_rows(program: "subprocess.Popen[str]", lines: int) -> None:
    assert program.stdout is not None
    for _ in range(lines):
        line = program.stdout.readline()
        assert line.strip() == "rows", f"the program ended: {line}"
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    program.stdout.close()


@pytest.mark.long
@pytest.mark.timeout(480)
def test_no_row_is_lost_or_doubled(spark: SparkSession, tmp_path: Path) -> None:
    source, output, checkpoints = (tmp_path / name for name in ("in", "out", "checkpoints"))
    source.mkdir()
    for number in range(14):
        add_file(source, number)
    kill_after_rows(start(source, output, checkpoints), lines=3)
    for number in range(14, 16):
        add_file(source, number)
    result = tmp_path / "result.json"
    last = start(source, output, checkpoints, "--finish", result)
    assert last.wait(timeout=240) == 0
    expected = [[value % 7, value] for value in range(16 * ROWS)]
    tables = json.loads(result.read_text())
    assert sorted(tables["rows"], key=lambda row: row[1]) == expected
    assert sorted([row.k, row.v] for row in spark.read.parquet(str(output)).collect()) == sorted(expected)
    totals = {k: [n, s] for k, n, s in tables["totals"]}
    assert totals == {k: [len(range(k, 16 * ROWS, 7)), sum(range(k, 16 * ROWS, 7))] for k in range(7)}
