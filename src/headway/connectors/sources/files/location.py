"""Where files are: paths and URIs, Hadoop's glob patterns, and which names Spark hides.

Paths are resolved in the driver, so that a relative one means the user's working directory, not a node's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from headway.errors import UnsupportedPlan

_GLOB = re.compile(r"[*?\[{]")
_LOCAL = re.compile(r"file:/{0,2}(?=/)")


class FoundFile(NamedTuple):
    """A file as listed: its path, modification time in nanoseconds, size, and the root it was found under."""

    path: str
    mtime: int
    size: int
    root: str


@dataclass(frozen=True)
class Location:
    """A path, perhaps a glob pattern, in a file system; picklable."""

    uri: str
    path: str

    @cached_property
    def filesystem(self) -> Any:
        """Made in each process: handles of file systems do not travel."""
        return open_filesystem(self.uri)

    def __getstate__(self) -> dict[str, str]:
        return {"uri": self.uri, "path": self.path}

    @property
    def is_glob(self) -> bool:
        return _GLOB.search(self.path) is not None

    def exists(self) -> bool:
        return bool(self.filesystem.get_file_info(self.path).type != fs.FileType.NotFound)

    def roots(self) -> list[str]:
        """The paths that the pattern matches now, or the path itself."""
        if not self.is_glob:
            return [self.path]
        return sorted(_expand(self.filesystem, self.path))

    def root_of(self, path: str) -> str | None:
        """The root that `path` lies at or below; None if it is not of this location."""
        wanted, names = _segments(self.path.strip("/")), path.strip("/").split("/")
        if len(names) < len(wanted):
            return None
        if not all(glob_regex(glob).fullmatch(name) for glob, name in zip(wanted, names, strict=False)):
            return None
        anchor = "/" if path.startswith("/") else ""
        root = anchor + "/".join(names[: len(wanted)])
        return os.path.dirname(path) if root == path else root

    def files(self) -> Iterator[FoundFile]:
        """Every visible file at or below the roots."""
        for root in self.roots():
            info = self.filesystem.get_file_info(root)
            if info.type == fs.FileType.File:
                yield FoundFile(info.path, info.mtime_ns or 0, info.size, info.path)
            elif info.type == fs.FileType.Directory:
                yield from self._below(root, root)

    def _below(self, root: str, directory: str) -> Iterator[FoundFile]:
        for info in self.filesystem.get_file_info(fs.FileSelector(directory, allow_not_found=True)):
            if hidden(info.base_name):
                continue
            if info.type == fs.FileType.Directory:
                yield from self._below(root, info.path)
            elif info.type == fs.FileType.File:
                yield FoundFile(info.path, info.mtime_ns or 0, info.size, root)


def locate(path: str) -> Location:
    """The location that a user's path means."""
    if _LOCAL.match(path):
        return Location("file:///", unquote(_LOCAL.sub("", path)).rstrip("/") or "/")
    if "://" not in path:
        return Location("file:///", os.path.abspath(path))
    parts = urlsplit(path)
    return Location(f"{parts.scheme}://{parts.netloc}/", (parts.netloc + parts.path).rstrip("/"))


def open_filesystem(uri: str) -> Any:
    """The file system of a URI; Hadoop's names for S3 mean S3."""
    if uri == "file:///":
        return fs.LocalFileSystem()
    try:
        return fs.FileSystem.from_uri(re.sub(r"^s3[an]:", "s3:", uri))[0]
    except (pa.ArrowException, ValueError, OSError) as error:
        raise UnsupportedPlan(f"file system of {uri}", f"pyarrow cannot open it ({error})") from error


def hidden(name: str) -> bool:
    """Names that Spark does not list: half-written and bookkeeping files."""
    if name.startswith(("_common_metadata", "_metadata")):
        return False
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


def glob_regex(pattern: str) -> re.Pattern[str]:
    """Hadoop's glob for one name as a regular expression: * ? [a-z] [^a] {a,b} and backslash."""
    out, depth, i = "", 0, 0
    while i < len(pattern):
        char = pattern[i]
        if char == "\\" and i + 1 < len(pattern):
            i += 1
            out += re.escape(pattern[i])
        elif char == "[" and (close := pattern.find("]", i + 2)) > 0:
            out += "[" + re.sub(r"^!", "^", pattern[i + 1 : close]).replace("\\", "\\\\") + "]"
            i = close
        else:
            depth += (char == "{") - (char == "}" and depth > 0)
            out += _glob_char(char, depth)
        i += 1
    return re.compile(out, re.DOTALL)


def _glob_char(char: str, depth: int) -> str:
    if char == "{":
        return "(?:"
    if char == "}":
        return ")"
    if char == "," and depth:
        return "|"
    return {"*": ".*", "?": "."}.get(char) or re.escape(char)


def _expand(filesystem: Any, pattern: str) -> Iterator[str]:
    """Paths that match, found level by level, so that only directories that can match are listed."""
    anchor = "/" if pattern.startswith("/") else ""
    found = [anchor]
    for segment in _segments(pattern.strip("/")):
        if not _GLOB.search(segment):
            found = [os.path.join(base, segment) for base in found]
            continue
        regex = glob_regex(segment)
        found = [info.path for base in found for info in _children(filesystem, base) if regex.fullmatch(info.base_name)]
    return (path for path in found if filesystem.get_file_info(path).type != fs.FileType.NotFound)


def _children(filesystem: Any, base: str) -> Iterator[Any]:
    infos = filesystem.get_file_info(fs.FileSelector(base, allow_not_found=True)) if _is_dir(filesystem, base) else []
    return (info for info in infos if not hidden(info.base_name))


def _is_dir(filesystem: Any, base: str) -> bool:
    return bool(filesystem.get_file_info(base).type == fs.FileType.Directory)


def _segments(pattern: str) -> list[str]:
    """The pattern's names; a slash inside braces is not between names."""
    return re.findall(r"(?:\{[^}]*\}|[^/{])+", pattern)
