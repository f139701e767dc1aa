"""Files of text lines, compressed or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from headway.connectors.sinks.base import Options
from headway.connectors.sinks.formats.api import Encoder
from headway.errors import InvalidOption, UnsupportedPlan

_CODECS = {"none": "", "uncompressed": "", "gzip": ".gz", "bzip2": ".bz2", "zstd": ".zst", "zstandard": ".zst"}
_ARROW_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_OF_SPARK = ("deflate", "lz4", "snappy")

Encode = Callable[[pa.RecordBatch], Iterable[str]]


@dataclass(frozen=True)
class LineFormat:
    """Rows as lines of text: `header` (if any), then what `encode` makes of each batch."""

    encode: Encode
    extension: str
    line_separator: str = "\n"
    header: str | None = None

    def encoder(self, stream: pa.NativeFile) -> Encoder:
        return LineEncoder(self, stream)


class LineEncoder:
    def __init__(self, format: LineFormat, stream: pa.NativeFile) -> None:
        codec = _ARROW_CODECS.get("." + format.extension.rsplit(".", 1)[-1])
        self._compressed = codec is not None
        self._out = pa.CompressedOutputStream(stream, codec) if codec is not None else stream
        self._format = format
        if format.header is not None:
            self._lines([format.header])

    def write(self, batch: pa.RecordBatch) -> None:
        self._lines(self._format.encode(batch))

    def _lines(self, lines: Iterable[str]) -> None:
        end = self._format.line_separator
        self._out.write("".join([line + end for line in lines]).encode("utf-8"))

    def close(self) -> None:
        if self._compressed:
            self._out.close()


def line_extension(format: str, options: Options) -> str:
    """The end of the names of files: the format, and the codec that option compression asks for."""
    name = options.text("compression", "codec", default="none").lower()
    if name in _OF_SPARK:
        raise UnsupportedPlan(f"compression {name} of sink {format}")
    if name not in _CODECS:
        raise InvalidOption(f"compression {name!r} of sink {format} is unknown; use one of {', '.join(_CODECS)}")
    return f".{'txt' if format == 'text' else format}{_CODECS[name]}"
