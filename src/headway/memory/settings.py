"""The settings of memory: `headway.memory.*`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from headway.errors import InvalidOption
from headway.memory.chunks import BLOCKS_PER_CHUNK

_PREFIX = "headway.memory."
_NAMES = ("node", "query", "mode", "blocksPerChunk", "rowsPerBlock")
_UNITS = {"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)")


class MemorySettings(NamedTuple):
    """`node`: bytes of rows in flight per node; `query`: per query in a node; `blocks`: whether they are in blocks, of
    so many rows (None: of one size in bytes), so many of which make a chunk."""

    node: int = 1 << 30
    query: int = 256 << 20
    blocks: bool = True
    blocks_per_chunk: int = BLOCKS_PER_CHUNK
    rows_per_block: int | None = None


def memory_settings(conf: Mapping[str, Any]) -> MemorySettings:
    """Those of a session.

    >>> memory_settings({"headway.memory.node": "512m", "headway.memory.mode": "queue"})[:3]
    (536870912, 268435456, False)
    """
    own = {name.lower().removeprefix(_PREFIX): value for name, value in conf.items() if _is_own(name)}
    unknown = own.keys() - {name.lower() for name in _NAMES}
    if unknown:
        names = ", ".join(_PREFIX + name for name in _NAMES)
        raise InvalidOption(f"there is no setting {_PREFIX}{min(unknown)}; there are {names}")
    mode = str(own.get("mode", "blocks")).lower()
    if mode not in ("blocks", "queue"):
        raise InvalidOption(f"{_PREFIX}mode is {mode!r}; use blocks or queue")
    usual = MemorySettings()
    return MemorySettings(
        _bytes("node", own.get("node", usual.node)),
        _bytes("query", own.get("query", usual.query)),
        mode == "blocks",
        _count("blocksPerChunk", own.get("blocksperchunk", usual.blocks_per_chunk)),
        _count("rowsPerBlock", own["rowsperblock"]) if "rowsperblock" in own else None,
    )


def _count(name: str, value: Any) -> int:
    if not str(value).isdigit() or int(value) == 0:
        raise InvalidOption(f"{_PREFIX}{name} is {value!r}; use a whole number, 1 or more")
    return int(value)


def _is_own(name: str) -> bool:
    return name.lower().startswith(_PREFIX)


def _bytes(name: str, value: Any) -> int:
    """A size as Spark writes sizes: a number of bytes, or with a unit."""
    found = _SIZE.fullmatch(str(value).strip().lower())
    if found is None or found[2] not in _UNITS or int(found[1]) == 0:
        raise InvalidOption(f'{_PREFIX}{name} is {value!r}; write a size like "512m" or "2g"')
    return int(found[1]) << _UNITS[found[2]]
