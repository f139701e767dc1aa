"""Kernels are compiled once: in another process, for all processes of the host, and for all constants."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_cases import BOOL, DOUBLE, ROWS, batch, call, col, filtering, lit, rows_of

from headway.kernels.api import Chain
from headway.kernels.compiled import Compiler, why_not
from headway.kernels.compiled.shape import shape_of
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.native.store import source_path

_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from test_compiled_cache import small
from headway.kernels.compiled.shape import shape_of
from headway.kernels.native import store
store.compile_source = lambda path: sys.exit(f"{path} is compiled again")
shape = shape_of(small(float(sys.argv[2])))
print(*store.load(store.source_path(shape.key, shape.source)))
"""


def small(limit: float) -> Chain:
    return filtering(call("GreaterThan", BOOL, col("d"), lit(limit, DOUBLE)), [col("l")])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_CACHE_DIR", str(tmp_path))
    return tmp_path


def _load_elsewhere(limit: float) -> list[str]:
    """The functions of the kernel in a process that loads it and may not compile."""
    command = [sys.executable, "-c", _SCRIPT, str(Path(__file__).parent), str(limit)]
    return subprocess.check_output(command, text=True).split()


def test_background_then_any_process_loads_without_compiling(folder: Path) -> None:
    compiler = Compiler()
    ticket = compiler.request(small(0.0))
    assert ticket.poll() is None
    compiler.wait()
    kernel = ticket.poll()
    assert kernel is not None, ticket.failed
    assert kernel is ticket.poll()
    code = {path: path.stat().st_mtime_ns for path in folder.rglob("*.o")}
    assert len(code) == 1
    assert _load_elsewhere(7.5) == ["with_nulls", "without_nulls"]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.o")} == code
    tenant = compiler.request(small(2.0)).poll()
    assert tenant is not None
    assert rows_of(tenant.process(batch(ROWS))[0]) == rows_of(InterpretedChain(small(2.0)).process(batch(ROWS))[0])


def test_two_processes_that_want_one_shape_compile_it_once(folder: Path) -> None:
    shape = shape_of(small(0.0))
    path = source_path(shape.key, shape.source)
    lock = path.with_suffix(".lock")
    lock.write_text("999999999 is long dead")
    first, second = Compiler(), Compiler()
    tickets = [first.request(small(0.0)), second.request(small(1.0))]
    pids = {first.pid, second.pid}
    first.wait()
    second.wait()
    assert all(ticket.poll() for ticket in tickets)
    # Whoever compiles writes its id; the other would have written its own over it.
    assert int(lock.read_text()) in pids


def test_source_that_does_not_compile_is_reported(folder: Path) -> None:
    shape = shape_of(small(0.0))
    source_path(shape.key, shape.source).write_text("def with_nulls(header, constants, reals): raise")
    compiler = Compiler()
    ticket = compiler.request(small(0.0))
    compiler.wait()
    assert ticket.poll() is None
    assert ticket.failed == "NotImplementedError: Raise in kernel source: raise"


def test_a_compiler_that_is_killed_is_reported(folder: Path) -> None:
    compiler = Compiler()
    ticket = compiler.request(small(0.0))
    assert compiler.pid is not None
    os.kill(compiler.pid, 9)
    compiler.wait()
    assert ticket.poll() is None
    assert "-9" in str(ticket.failed)


def test_one_process_compiles_one_after_the_other(folder: Path) -> None:
    compiler = Compiler()
    first = compiler.request(small(0.0))
    pid = compiler.pid
    compiler.wait()
    second = compiler.request(filtering(call("LessThan", BOOL, col("d"), lit(1.0, DOUBLE)), [col("l")]))
    compiler.wait()
    assert compiler.pid == pid is not None
    assert first.poll() is not None
    assert second.poll() is not None


def test_a_process_that_ended_for_want_of_work_is_followed_by_another(folder: Path) -> None:
    compiler = Compiler()
    compiler.request(small(0.0))
    compiler.wait()
    process = compiler._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait() == 0
    reader, writer = os.pipe()
    os.close(reader)
    process.stdin = os.fdopen(writer, "wb", buffering=0)
    ticket = compiler.request(filtering(call("LessThan", BOOL, col("d"), lit(1.0, DOUBLE)), [col("l")]))
    compiler.wait()
    assert ticket.poll() is not None, ticket.failed


def test_a_folder_that_cannot_be_made_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").touch()
    monkeypatch.setenv("HEADWAY_CACHE_DIR", str(folder / "file"))
    ticket = Compiler().request(small(0.0))
    assert ticket.poll() is None
    assert "HEADWAY_CACHE_DIR" in str(ticket.failed)


def test_what_cannot_be_compiled_fails_at_once() -> None:
    chain = filtering(call("IsNotNull", BOOL, call("Upper", DOUBLE, col("name"))), [col("l")])
    assert Compiler().request(chain).failed == why_not(chain)
