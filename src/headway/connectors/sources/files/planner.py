"""Finds new files of a growing directory and plans their reading.

1. New is what was not seen before, by path (or by name, with fileNameOnly); a file that changes is not new.
2. Seen files are forgotten when they are older than the newest by more than maxFileAge; older files are never new.
3. A round takes files in the order of their modification times (latestFirst: the reverse), as many as the limits allow.
4. A position is what was seen, {"seen": {path: mtime}, "horizon": mtime, "log": rounds before the last}, and needs
   nothing else to go on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headway.connectors.api import Position
from headway.connectors.sources.files.cleaner import Cleaner
from headway.connectors.sources.files.layout import visible_files
from headway.connectors.sources.files.location import FoundFile, Location, glob_regex
from headway.connectors.sources.files.sink_log import has_log, logged_files
from headway.errors import InvalidOption

NOTHING: Position = {"seen": {}, "horizon": 0, "log": -1}
LANES = 8
"""Files of a round are read in parallel by so many lanes; a source partition, to the watermark, is a lane."""


@dataclass(frozen=True)
class Growth:
    """The options that say which files count, and how many at a time."""

    locations: tuple[Location, ...]
    max_files: int | None
    max_bytes: int | None
    latest_first: bool
    max_age_ms: int
    name_only: bool
    name_filter: str | None
    recursive: bool
    base: str | None
    clean: str
    archive: Location | None

    @property
    def horizon_ns(self) -> int | None:
        """How far behind the newest file old ones are forgotten; None: never, for latestFirst with a limit."""
        limited = self.max_files is not None or self.max_bytes is not None
        return None if self.latest_first and limited else self.max_age_ms * 1_000_000


class FilePlanner:
    """Turns new files into tasks: one per file, a JSON list of its path and its root."""

    def __init__(self, growth: Growth) -> None:
        self._growth = growth
        self._cleaner = Cleaner(growth)
        self._logged: bool | None = None
        self._seen: Position = NOTHING
        self._committed: Position = self._seen

    def start(self, position: Position | None) -> Position:
        self._seen = self._committed = position or NOTHING
        return self._seen

    def latest(self) -> Position:
        new = sorted(self._new_files(), key=lambda file: (file.mtime, file.path), reverse=self._growth.latest_first)
        chosen = list(self._limit(new))
        if chosen:
            self._seen = self._after(chosen)
        return self._seen

    def tasks(self, start: Position, end: Position) -> Sequence[tuple[int, bytes]]:
        fresh = _between(start, end)
        if self._growth.latest_first:
            fresh.reverse()
        return [(index % LANES, json.dumps([path, self._root_of(path)]).encode()) for index, path in enumerate(fresh)]

    def commit(self, end: Position) -> None:
        done = _between(self._committed, end)
        self._committed = end
        self._cleaner.clean(done)

    def close(self) -> None:
        """Nothing is open between looks."""

    def _root_of(self, path: str) -> str:
        """The directory below which key=value directories are columns."""
        if self._growth.base is not None:
            return self._growth.base
        roots = (location.root_of(path) for location in self._growth.locations)
        return next((root for root in roots if root is not None), os.path.dirname(path))

    def _new_files(self) -> Iterator[FoundFile]:
        horizon = self._seen["horizon"]
        seen = {self._key(path) for path in self._seen["seen"]} if self._growth.name_only else self._seen["seen"]
        for file in self._listed():
            if file.mtime >= horizon and self._key(file.path) not in seen:
                yield file

    def _listed(self) -> Iterator[FoundFile]:
        growth = self._growth
        wanted = glob_regex(growth.name_filter) if growth.name_filter else None
        for location in growth.locations:
            for file in self._list_one(location):
                if wanted is None or wanted.fullmatch(os.path.basename(file.path)):
                    yield file

    def _list_one(self, location: Location) -> Iterator[FoundFile]:
        if len(self._growth.locations) == 1 and self._has_log(location):
            return logged_files(location)
        found = list(visible_files(location.files(), self._growth.recursive))
        if found and self._logged is None and len(self._growth.locations) == 1:
            # A sink may have begun between the look for its log and the listing: only then is it settled.
            self._logged = self._has_log(location)
            return logged_files(location) if self._logged else iter(found)
        return iter(found)

    def _has_log(self, location: Location) -> bool:
        if self._logged is None and has_log(location):
            if self._growth.clean != "OFF":
                raise InvalidOption(
                    f"option cleanSource cannot be used on {location.path}: a file sink wrote it, and its log would "
                    "name files that are gone"
                )
            self._logged = True
        return bool(self._logged)

    def _limit(self, files: Sequence[FoundFile]) -> Iterator[FoundFile]:
        """The first files that the limits allow, but always one."""
        total = 0
        for index, file in enumerate(files):
            total += file.size
            too_many = self._growth.max_files is not None and index >= self._growth.max_files
            too_much = self._growth.max_bytes is not None and index > 0 and total > self._growth.max_bytes
            if too_many or too_much:
                return
            yield file

    def _after(self, chosen: Sequence[FoundFile]) -> Position:
        fresh = {file.path: file.mtime for file in chosen}
        seen = {**self._seen["seen"], **fresh}
        age, log = self._growth.horizon_ns, log_offset(self._seen) + 1
        if age is None:
            return {"seen": seen, "horizon": 0, "log": log}
        horizon = max(self._seen["horizon"], max(seen.values()) - age)
        # Files of this very round stay, however old, for they are still to be read; the next round forgets them.
        kept = {path: mtime for path, mtime in seen.items() if mtime >= horizon or path in fresh}
        return {"seen": kept, "horizon": horizon, "log": log}

    def _key(self, path: str) -> str:
        return os.path.basename(path) if self._growth.name_only else path


def log_offset(position: Position) -> int:
    """What Spark calls a position in its log of files: the number of the last round, -1 before the first."""
    return int(position.get("log", -1))


def _between(start: Position, end: Position) -> list[str]:
    """What `end` has seen and `start` has not, oldest first."""
    before = start["seen"]
    fresh = [(mtime, path) for path, mtime in end["seen"].items() if path not in before]
    return [path for _, path in sorted(fresh)]
