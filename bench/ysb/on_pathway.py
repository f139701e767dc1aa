"""The query for Pathway."""

from __future__ import annotations

from typing import Any

import numpy as np
import pathway as pw  # type: ignore[import-not-found]

from bench.libraries.ring import Ring, looked_up


def query(numbers: Any, ring: Ring, window_us: int, told: dict[str, Any]) -> Any:
    """The static table is looked up: Pathway's joins keep every row, lest the table change."""
    ads, campaigns = told["campaigns"]
    assert ads == list(range(1, len(ads) + 1)), "a position says which ad it is"
    views = numbers.filter(ring["event_type"] == 0)
    joined = views.select(
        start=ring.event_time // window_us * window_us,
        campaign_id=looked_up(np.array(campaigns), ring["ad_id"] - 1),
    )
    return joined.groupby(pw.this.start, pw.this.campaign_id).reduce(
        start=pw.this.start,
        end=pw.this.start + window_us,
        key=pw.this.campaign_id,
        rows=pw.reducers.count(),
    )
