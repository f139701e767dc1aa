"""What a workload is to a peer that is a Python library; its query is code, in the workload's `on_<peer>` module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class LibraryJob:
    """`ring` has the columns that the query reads but for the event time: 64-bit integers and doubles.

    `told` is what the query has to know besides, as JSON can say it.
    """

    ring: pa.Table
    window_us: int
    told: dict[str, Any] = field(default_factory=dict)
