"""File sources: parquet, orc, text, csv and json in a directory (or glob) that grows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from headway.connectors.api import Planner, Position
from headway.connectors.sources.files import columnar, csv_reader, json_reader, text_reader
from headway.connectors.sources.files.cleaner import check_archive
from headway.connectors.sources.files.layout import directory_values
from headway.connectors.sources.files.location import Location, locate
from headway.connectors.sources.files.metadata import in_files, with_metadata
from headway.connectors.sources.files.planner import FilePlanner, Growth, log_offset
from headway.connectors.sources.files.values import DirectoryValues
from headway.connectors.sources.options import (
    boolean,
    choice,
    integer,
    milliseconds,
    poll_interval,
    refuse_unknown,
    session_time_zone,
)
from headway.dataflow.graph import Source
from headway.dataflow.types import Schema, arrow_schema
from headway.errors import InvalidOption, UnsupportedPlan

POLL_SECONDS = 0.1


class FileReader(Protocol):
    """Turns one file into batches of the columns that are in files."""

    def read(self, filesystem: Any, path: str) -> Iterator[pa.RecordBatch]: ...


class _Format(NamedTuple):
    reader: Any
    known: Sequence[str]
    unsupported: Sequence[str]


FILE_FORMATS: dict[str, _Format] = {
    "parquet": _Format(columnar.ParquetReader, columnar.PARQUET_KNOWN, columnar.PARQUET_UNSUPPORTED),
    "orc": _Format(columnar.OrcReader, columnar.ORC_KNOWN, columnar.ORC_UNSUPPORTED),
    "text": _Format(text_reader.TextReader, text_reader.KNOWN, text_reader.UNSUPPORTED),
    "csv": _Format(csv_reader.CsvReader, csv_reader.KNOWN, csv_reader.UNSUPPORTED),
    "json": _Format(json_reader.JsonReader, json_reader.KNOWN, json_reader.UNSUPPORTED),
}

KNOWN = (
    "path",
    "paths",
    "basePath",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "latestFirst",
    "maxFileAge",
    "fileNameOnly",
    "pathGlobFilter",
    "recursiveFileLookup",
    "cleanSource",
    "sourceArchiveDir",
    "ignoreMissingFiles",
    # How Spark caches its listings; Headway lists anew.
    "maxCachedFiles",
    "discardCachedInputRatio",
)
UNSUPPORTED = (
    "ignoreCorruptFiles",
    "ignoredPathSegmentRegex",
    "archivePathFilter",
    "archiveFormatEnabled",
    "modifiedBefore",
    "modifiedAfter",
    "locale",
)


class FileSource:
    """Files of one format; each file is a task."""

    replayable = True

    def __init__(self, source: Source, growth: Growth) -> None:
        self.poll_interval = poll_interval(source, POLL_SECONDS)
        self._source = source
        self._growth = growth
        self._ignore_missing = boolean(source, "ignoreMissingFiles", False)
        self._zone = session_time_zone(source)
        self._in_files = in_files(source.schema)
        self._reader(self._in_files)

    def planner(self) -> Planner:
        return FilePlanner(self._growth)

    def shown(self, position: Position) -> Any:
        offset = log_offset(position)
        return None if offset < 0 else {"logOffset": offset}

    def read(self, task: bytes) -> Iterator[pa.RecordBatch]:
        path, root = json.loads(task)
        location = self._growth.locations[0]
        directories = DirectoryValues(directory_values(path, root), self._in_files, self._zone)
        reader = self._reader(directories.in_files)
        try:
            batches = (directories.add_to(batch) for batch in reader.read(location.filesystem, path))
            yield from with_metadata(batches, self._source.schema, location, path)
        except FileNotFoundError:
            if not self._ignore_missing:
                raise

    def _reader(self, schema: Schema) -> FileReader:
        made = FILE_FORMATS[self._source.format.lower()].reader
        reader: FileReader = made(Source(schema, self._source.format, self._options), arrow_schema(schema))
        return reader

    @property
    def _options(self) -> tuple[tuple[str, str], ...]:
        """With the driver's zone, for a node has no session to ask."""
        return (*(pair for pair in self._source.options if pair[0] != "timezone"), ("timezone", self._zone))


class ParquetSource(FileSource):
    """Files of which only the columns are read that are asked for."""

    def narrowed(self, columns: tuple[int, ...]) -> ParquetSource:
        return ParquetSource(replace(self._source, schema=tuple(self._source.schema[i] for i in columns)), self._growth)


def open_files(source: Source) -> FileSource:
    """Check all that can be known before the first file is seen."""
    kind = FILE_FORMATS[source.format.lower()]
    refuse_unknown(source, (*KNOWN, "timeZone", *kind.known), (*UNSUPPORTED, *kind.unsupported))
    encoding = source.option("encoding") or source.option("charset") or "utf-8"
    if encoding.lower().replace("-", "") not in ("utf8", "usascii"):
        raise UnsupportedPlan(f"option encoding {encoding} of source {source.format}", "only UTF-8 is read natively")
    made = ParquetSource if source.format.lower() == "parquet" else FileSource
    return made(source, _growth(source))


def _growth(source: Source) -> Growth:
    if source.option("maxFilesPerTrigger") and source.option("maxBytesPerTrigger"):
        raise InvalidOption("options maxFilesPerTrigger and maxBytesPerTrigger exclude each other: give one")
    locations, base = _locations(source), source.option("basePath")
    clean = choice(source, "cleanSource", "OFF", ("OFF", "ARCHIVE", "DELETE"))
    return Growth(
        locations=locations,
        max_files=integer(source, "maxFilesPerTrigger", 0) or None,
        max_bytes=integer(source, "maxBytesPerTrigger", 0) or None,
        latest_first=boolean(source, "latestFirst", False),
        max_age_ms=milliseconds(source, "maxFileAge", "7d"),
        name_only=boolean(source, "fileNameOnly", False),
        name_filter=source.option("pathGlobFilter"),
        recursive=boolean(source, "recursiveFileLookup", False),
        base=locate(base).path if base else None,
        clean=clean,
        archive=_archive(source, locations) if clean == "ARCHIVE" else None,
    )


def _locations(source: Source) -> tuple[Location, ...]:
    several, one = source.option("paths"), source.option("path")
    paths: list[str] = json.loads(several) if several else [one] if one else []
    if not paths:
        raise InvalidOption(f"source {source.format} has no path: give one to load()")
    locations = tuple(locate(path) for path in paths)
    if len({location.uri for location in locations}) > 1:
        raise UnsupportedPlan(f"source {source.format} over several file systems")
    for location in locations:
        if not location.is_glob and not location.exists():
            raise InvalidOption(
                f"path {location.path} of source {source.format} does not exist: make the directory first"
            )
    return locations


def _archive(source: Source, locations: Sequence[Location]) -> Location:
    directory = source.option("sourceArchiveDir")
    if not directory:
        raise InvalidOption("cleanSource=archive needs the option sourceArchiveDir, where the files go")
    archive = locate(directory)
    for location in locations:
        check_archive(archive, location)
    return archive
