"""A workload's query as Flink's SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa


def micros(column: str) -> str:
    """SQL: a timestamp of whole seconds as microseconds since the epoch."""
    return f"CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', {column}) AS BIGINT) * 1000000"


@dataclass(frozen=True)
class FlinkJob:
    """`query` reads the table `events`: event_time and the ring's columns (64-bit integers and doubles).

    Its columns are numbers, those of the lines that the other systems write. `views` are made before it. A static
    table of two columns is a function of its name, for joins on the first column.
    """

    ring: pa.Table
    query: str
    views: dict[str, str] = field(default_factory=dict)
    lookups: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)
