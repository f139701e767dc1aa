"""What happens to files when everything in them is in a committed checkpoint: nothing, archiving, or deletion."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from headway.connectors.sources.files.location import Location, glob_regex
from headway.errors import InvalidOption

if TYPE_CHECKING:
    from headway.connectors.sources.files.planner import Growth

_log = logging.getLogger(__name__)


class Cleaner:
    """Applies cleanSource. A file that cannot be cleaned is left where it is, with a warning, as in Spark."""

    def __init__(self, growth: Growth) -> None:
        self._growth = growth

    def clean(self, paths: Sequence[str]) -> None:
        if self._growth.clean == "OFF":
            return
        for path in paths:
            try:
                self._clean_one(path)
            except (OSError, pa.ArrowException) as error:
                _log.warning("cannot clean up %s, it is left where it is: %s", path, error)

    def _clean_one(self, path: str) -> None:
        filesystem = self._growth.locations[0].filesystem
        if self._growth.clean == "DELETE":
            filesystem.delete_file(path)
            return
        assert self._growth.archive is not None
        target = self._growth.archive.path.rstrip("/") + "/" + path.lstrip("/")
        filesystem.create_dir(os.path.dirname(target))
        filesystem.move(path, target)


def check_archive(archive: Location, source: Location) -> None:
    """Refuse an archive that the source would read again, or that lies in another file system."""
    if archive.uri != source.uri:
        raise InvalidOption(
            f"sourceArchiveDir {archive.path} lies in another file system than {source.path}: choose one in the same"
        )
    depth = min(archive.path.count("/"), source.path.count("/"))
    pattern, names = source.path.split("/")[: depth + 1], archive.path.split("/")[: depth + 1]
    if all(glob_regex(glob).fullmatch(name) for glob, name in zip(pattern, names, strict=True)):
        raise InvalidOption(
            f"sourceArchiveDir {archive.path} lies where {source.path} is read, so archived files would come again: "
            "choose a directory outside of it"
        )
