"""Trips as in January 2013, from a seed.

1. Distances and coordinates follow the quantiles of 10,004 real trips of 1 January 2013, straight lines between them;
   coordinates have six decimals and distances two, as published. 1.6 % of trips have no coordinates (zero).
2. The drop-off lies as far from the pickup, in a direction of the street grid, as the distance says.
3. Vendors are numbers as in the commission's later files, 1 for CMT and 2 for VTS, half of the trips each.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

RING = 1 << 16
VTS = 2
_SHARES = [0.0, 0.01, 0.05, 0.25, 0.50, 0.75, 0.95, 0.99, 1.0]
_LONGITUDES = [-74.03, -74.012, -74.006, -73.992, -73.982, -73.967, -73.946, -73.871, -73.78]
_LATITUDES = [40.63, 40.673, 40.711, 40.733, 40.750, 40.769, 40.793, 40.815, 40.86]
_MILES = [0.01, 0.20, 0.45, 1.08, 1.86, 3.29, 6.87, 11.08, 21.0]
_NOWHERE = 0.016
_MILE = 0.0145, 0.0191
"""Degrees of latitude and longitude."""
_GRID = np.deg2rad(29.0)
"""The streets of Manhattan lie askew by so much."""


def _drawn(random: np.random.Generator, quantiles: list[float]) -> Any:
    return np.interp(random.random(RING), _SHARES, quantiles)


@lru_cache(maxsize=2)
def trips(seed: int) -> pa.Table:
    """The ring: all columns of a trip but its time."""
    random = np.random.default_rng(seed)
    longitude, latitude, miles = (_drawn(random, q) for q in (_LONGITUDES, _LATITUDES, _MILES))
    heading = _GRID + random.integers(0, 4, RING) * np.pi / 2
    ends = longitude + miles * _MILE[1] * np.sin(heading), latitude + miles * _MILE[0] * np.cos(heading)
    somewhere = random.random(RING) >= _NOWHERE
    places = [np.round(place * somewhere, 6) for place in (longitude, latitude, *ends)]
    miles = np.round(miles, 2)
    seconds = np.round(miles * 195 + random.exponential(120.0, RING)).astype(np.int64)
    fare = np.round(2.5 + 2.0 * miles + seconds / 240, 1)
    tip = np.round(fare * 0.2 * (random.random(RING) < 0.4), 2)
    return pa.table(
        {
            "medallion": random.integers(0, 1 << 62, 13_500)[random.integers(0, 13_500, RING)],
            "hack_license": random.integers(0, 1 << 62, 30_000)[random.integers(0, 30_000, RING)],
            "vendor_id": random.integers(1, VTS + 1, RING),
            "trip_time_in_secs": seconds,
            "trip_distance": miles,
            **dict(zip(PLACES, places, strict=True)),
            "fare_amount": fare,
            "tip_amount": tip,
            "total_amount": np.round(fare + tip + 0.5, 2),
        }
    )


PLACES = ("pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude")
