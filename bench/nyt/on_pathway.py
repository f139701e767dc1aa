"""The query for Pathway: what costs little is asked first, as in the other systems' forms of it."""

from __future__ import annotations

from typing import Any

import pathway as pw  # type: ignore[import-not-found]

from bench.libraries.ring import Ring
from bench.nyt.cells import CELLS, EAST_STEP, NORTH, SOUTH_STEP, WEST


def _floor(number: Any) -> Any:
    return pw.cast(int, number // 1.0)


def _cell(longitude: Any, latitude: Any) -> Any:
    """As `bench.nyt.cells.cell`."""
    east = _floor((longitude - WEST) / EAST_STEP + 0.5)
    south = _floor((NORTH - latitude) / SOUTH_STEP + 0.5)
    inside = (east >= 0) & (east < CELLS) & (south >= 0) & (south < CELLS)
    return pw.if_else(inside, south * CELLS + east + 1, 0)


def query(numbers: Any, ring: Ring, window_us: int, told: dict[str, Any]) -> Any:
    """Trips and their mean distance per pickup cell."""
    asked = numbers.filter(ring["vendor_id"] == told["vendor"])
    long = asked.filter(ring["trip_distance"] > 1)
    mapped = long.select(
        start=ring.event_time // window_us * window_us,
        trip_distance=ring["trip_distance"],
        cell=_cell(ring["pickup_longitude"], ring["pickup_latitude"]),
        dropoff=_cell(ring["dropoff_longitude"], ring["dropoff_latitude"]),
    )
    kept = mapped.filter((pw.this.cell > 0) & (pw.this.dropoff > 0))
    return kept.groupby(pw.this.start, pw.this.cell).reduce(
        start=pw.this.start,
        end=pw.this.start + window_us,
        key=pw.this.cell,
        rows=pw.reducers.count(),
        distance=pw.reducers.avg(pw.this.trip_distance),
    )
