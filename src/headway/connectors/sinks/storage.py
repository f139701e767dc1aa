"""Where data files go: a directory on any file system that both Spark and Arrow can reach.

The driver turns a path into the URL that Spark's own file system gives it; nodes open that URL with `pyarrow.fs`.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from headway.errors import UnsupportedPlan

_ARROW_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_PLAIN = "/=+,:@&$!*'();~-._"


class StoredFile(NamedTuple):
    """A file that is complete and durable; `path` is relative to the directory, `modified` in milliseconds."""

    path: str
    size: int
    modified: int
    rows: int = 0


def directory_url(spark: Any, path: str) -> str:
    """The percent-encoded URL of `path`, made absolute by the file system that Spark uses for it."""
    hadoop = spark._jvm.org.apache.hadoop.fs.Path(path)
    files = hadoop.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    url: str = hadoop.makeQualified(files.getUri(), files.getWorkingDirectory()).toUri().toString()
    return url


def file_url(directory: str, relative: str) -> str:
    """The URL of a file below `directory`, encoded as Spark's log of a file sink has it."""
    return f"{directory}/{quote(relative, safe=_PLAIN)}"


class Directory:
    """The target directory of a sink as a node sees it."""

    def __init__(self, url: str) -> None:
        self._files, self._root = _open(url)
        self._local = isinstance(self._files, fs.LocalFileSystem)
        self._made: set[str] = set()

    def create(self, relative: str) -> pa.NativeFile:
        """A new file below the directory, open for writing."""
        parent = os.path.dirname(self._full(relative))
        if parent not in self._made:
            self._files.create_dir(parent, recursive=True)
            self._made.add(parent)
        return self._files.open_output_stream(self._full(relative), compression=None)

    def finish(self, relative: str) -> StoredFile:
        """Make a closed file durable and describe it."""
        path = self._full(relative)
        if self._local:
            _sync(path)
            _sync(os.path.dirname(path))
        info = self._files.get_file_info(path)
        return StoredFile(relative, info.size, info.mtime_ns // 1_000_000)

    def delete(self, relative: str) -> None:
        """Remove a file; one that is not there is no error."""
        if self._files.get_file_info(self._full(relative)).type == fs.FileType.File:
            self._files.delete_file(self._full(relative))

    def _full(self, relative: str) -> str:
        return f"{self._root}/{relative}"


def _open(url: str) -> tuple[fs.FileSystem, str]:
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        return fs.LocalFileSystem(), unquote(parts.path)
    scheme = _ARROW_SCHEMES.get(parts.scheme, parts.scheme)
    try:
        files, root = fs.FileSystem.from_uri(parts._replace(scheme=scheme).geturl())
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnsupportedPlan(f"file system {parts.scheme}", f"Arrow cannot open it ({error})") from error
    return files, root


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
