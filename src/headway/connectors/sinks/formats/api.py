"""What a file format looks like to the file sink."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

OF_EVERY_FORMAT = ("path", "maxRecordsPerFile", "compression")
"""Options that every file format takes."""


class Encoder(Protocol):
    """Writes one file."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None:
        """Write what is left; the stream stays open."""


class Format(Protocol):
    """A format with its options; must be picklable."""

    @property
    def extension(self) -> str: ...

    def encoder(self, stream: pa.NativeFile) -> Encoder: ...
