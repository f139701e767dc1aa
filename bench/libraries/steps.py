"""A query as what a Bytewax dataflow does to rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = tuple[Any, ...]
"""The event time in microseconds, then the ring's columns."""
Keyed = tuple[str, tuple[Any, ...]]
"""A group's key, and a value that begins with the event time as the windows want it."""


class Steps(NamedTuple):
    """`keep` filters, projects and joins a batch; the rest is the aggregate, and a result's fields after the key."""

    keep: Callable[[list[Row]], list[Keyed]]
    empty: Callable[[], Any]
    fold: Callable[[Any, tuple[Any, ...]], Any]
    fields: Callable[[Any], tuple[Any, ...]]
