"""The settings of memory: `headway.memory.*`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from headway.errors import InvalidOption

_PREFIX = "headway.memory."
_UNITS = {"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)")


class MemorySettings(NamedTuple):
    """`node`: bytes of rows in flight per node; `query`: per query in a node; `blocks`: whether they are in blocks."""

    node: int = 1 << 30
    query: int = 256 << 20
    blocks: bool = True


def memory_settings(conf: Mapping[str, Any]) -> MemorySettings:
    """Those of a session.

    >>> memory_settings({"headway.memory.node": "512m", "headway.memory.mode": "queue"})
    MemorySettings(node=536870912, query=268435456, blocks=False)
    """
    own = {name.lower().removeprefix(_PREFIX): value for name, value in conf.items() if _is_own(name)}
    unknown = own.keys() - {"node", "query", "mode"}
    if unknown:
        raise InvalidOption(f"there is no setting {_PREFIX}{min(unknown)}; there are {_PREFIX}node, .query and .mode")
    mode = str(own.get("mode", "blocks")).lower()
    if mode not in ("blocks", "queue"):
        raise InvalidOption(f"{_PREFIX}mode is {mode!r}; use blocks or queue")
    default = MemorySettings()
    return MemorySettings(
        _bytes("node", own.get("node", default.node)),
        _bytes("query", own.get("query", default.query)),
        mode == "blocks",
    )


def _is_own(name: str) -> bool:
    return name.lower().startswith(_PREFIX)


def _bytes(name: str, value: Any) -> int:
    """A size as Spark writes sizes: a number of bytes, or with a unit."""
    found = _SIZE.fullmatch(str(value).strip().lower())
    if found is None or found[2] not in _UNITS or int(found[1]) == 0:
        raise InvalidOption(f'{_PREFIX}{name} is {value!r}; write a size like "512m" or "2g"')
    return int(found[1]) << _UNITS[found[2]]
