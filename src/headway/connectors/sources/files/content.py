"""The bytes of a file: decompressed by the name's ending, and cut into lines as Hadoop cuts them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from headway.errors import HeadwayError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


class BadFile(HeadwayError):
    """A file that cannot be read for what it is; names the file and the way out."""


def _arrow_codec(name: str) -> Callable[[bytes], bytes]:
    def decompress(data: bytes) -> bytes:
        with pa.CompressedInputStream(pa.BufferReader(data), name) as stream:
            return bytes(stream.read())

    return decompress


_BY_ENDING: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".zst": _arrow_codec("zstd"),
    ".deflate": zlib.decompress,
}


def read_bytes(filesystem: Any, path: str) -> bytes:
    """All of a file, decompressed if its name ends like that."""
    with filesystem.open_input_file(path) as file:
        data = bytes(file.read())
    ending = os.path.splitext(path)[1].lower()
    decompress = _BY_ENDING.get(ending)
    if decompress is None or not data:
        return data
    try:
        return decompress(data)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
        raise BadFile(
            f"file {path} is not compressed as its ending {ending} says ({error}): rename it, or keep it out of the "
            "stream with the option pathGlobFilter"
        ) from error


def split_lines(data: bytes, separator: str | None) -> list[bytes]:
    """Lines without their ends: \\n, \\r\\n and \\r, or just `separator`; there is none after the last end."""
    data = data.removeprefix(_BYTE_ORDER_MARK)
    if separator is not None:
        lines = data.split(separator.encode())
    elif b"\r" in data:
        lines = _LINE_END.split(data)
    else:
        lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def decode(data: bytes) -> str:
    """Text as Java reads it: what is not UTF-8 becomes replacement characters."""
    return data.decode("utf-8", errors="replace")
