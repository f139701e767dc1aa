"""Columns that live in the names of directories (`day=2024-01-01/part-0.parquet`), as Spark discovers them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from headway.connectors.sources.files.location import FoundFile

NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"

_KEY_VALUE = re.compile(r"([^=]+)=(.*)", re.DOTALL)


def directory_values(path: str, base: str) -> dict[str, str | None]:
    """Column -> text of the directories between `base` and the file; outermost first.

    As in Spark, plain directories below the innermost key=value are skipped, and the first plain one above ends it.
    """
    found: list[tuple[str, str | None]] = []
    directory = os.path.dirname(path)
    while len(directory) > len(base) and directory.startswith(base):
        match = _KEY_VALUE.fullmatch(os.path.basename(directory))
        if match:
            value = unquote(match[2])
            found.append((unquote(match[1]), None if value == NULL_DIRECTORY else value))
        elif found:
            break
        directory = os.path.dirname(directory)
    return dict(reversed(found))


def visible_files(found: Iterable[FoundFile], recursive: bool) -> Iterator[FoundFile]:
    """Files in subdirectories count only if these are key=value ones, or the user asked for all."""
    listed = list(found)
    nested = recursive or any(directory_values(file.path, file.root) for file in listed)
    for file in listed:
        if nested or file.path == file.root or os.path.dirname(file.path) == file.root:
            yield file
