"""State files of checkpoints: Arrow IPC through `pyarrow.fs`, so that local disks and object stores work alike."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import urlparse

import pyarrow as pa
from pyarrow import fs

from headway.node.operators.host import State


def file_system(location: str) -> tuple[fs.FileSystem, str]:
    """The file system of a checkpoint location, a path or a URI, and the path in it."""
    if urlparse(location).scheme in ("", "file"):
        return fs.LocalFileSystem(), urlparse(location).path if location.startswith("file:") else location
    found, path = fs.FileSystem.from_uri(location)
    return found, str(path)


def write_states(checkpoint: str, epoch: int, label: str, states: dict[int, State]) -> dict[int, str]:
    """Write the tables of `states` (by stage); the files' names, relative to the checkpoint."""
    system, root = file_system(checkpoint)
    written: dict[int, str] = {}
    for stage, state in states.items():
        table = state.rows()
        if table is None or not table.num_rows:
            continue
        name = f"state/{epoch}/{stage}-{label}.arrow"
        path = str(PurePosixPath(root) / name)
        system.create_dir(str(PurePosixPath(path).parent), recursive=True)
        with system.open_output_stream(path) as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
        written[stage] = name
    return written


def read_state(checkpoint: str, name: str) -> pa.Table:
    system, root = file_system(checkpoint)
    with system.open_input_file(str(PurePosixPath(root) / name)) as source:
        return pa.ipc.open_file(source).read_all()
