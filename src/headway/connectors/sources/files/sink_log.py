"""The log that a file sink keeps in `_spark_metadata`: which files of a directory are committed.

One file per batch, every tenth (or so) a compact one (`19.compact`) that repeats all before it; each a version line and
one JSON object per file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pyarrow import fs

from headway.connectors.sources.files.location import FoundFile, Location, locate
from headway.errors import HeadwayError

METADATA_DIR = "_spark_metadata"

_BATCH_FILE = re.compile(r"(\d+)(\.compact)?")


def has_log(location: Location) -> bool:
    """Whether a file sink wrote the directory; a glob pattern never is one."""
    if location.is_glob:
        return False
    info = location.filesystem.get_file_info(f"{location.path}/{METADATA_DIR}")
    return bool(info.type == fs.FileType.Directory)


def logged_files(location: Location) -> Iterator[FoundFile]:
    """The committed files, oldest batch first."""
    entries: dict[str, FoundFile] = {}
    for name in _batch_files(location):
        for line in _lines(location, name):
            status = json.loads(line)
            path = locate(unquote(status["path"])).path
            if status["action"] == "delete":
                entries.pop(path, None)
            elif not status["isDir"]:
                mtime = status["modificationTime"] * 1_000_000
                entries[path] = FoundFile(path, mtime, status["size"], location.path)
    return iter(entries.values())


def _batch_files(location: Location) -> list[str]:
    """The newest compact file and the plain ones behind it."""
    infos = location.filesystem.get_file_info(fs.FileSelector(f"{location.path}/{METADATA_DIR}", allow_not_found=True))
    found = [match for info in infos if (match := _BATCH_FILE.fullmatch(info.base_name))]
    compact = max((int(match[1]) for match in found if match[2]), default=-1)
    plain = sorted(int(match[1]) for match in found if not match[2] and int(match[1]) > compact)
    return ([f"{compact}.compact"] if compact >= 0 else []) + [str(batch) for batch in plain]


def _lines(location: Location, name: str) -> list[Any]:
    path = f"{location.path}/{METADATA_DIR}/{name}"
    with location.filesystem.open_input_stream(path) as stream:
        version, *lines = stream.read().decode("utf-8").split("\n")
    if version != "v1":
        raise HeadwayError(f"{path} begins with {version!r}, not with v1: this log of a file sink cannot be read")
    return [line for line in lines if line]
