"""The query for Pathway."""

from __future__ import annotations

from typing import Any

import pathway as pw  # type: ignore[import-not-found]

from bench.libraries.ring import Ring, looked_up


def query(numbers: Any, ring: Ring, window_us: int, told: dict[str, Any]) -> Any:
    """The static table is looked up: Pathway's joins keep every row, lest the table change."""
    ads, campaigns = told["campaigns"]
    assert ads == list(range(1, len(ads) + 1)), "a position says which ad it is"
    views = numbers.filter(ring["event_type"] == 0)
    joined = views.select(event_time=ring.event_time, campaign_id=looked_up(campaigns, ring["ad_id"] - 1))
    windows = joined.windowby(
        pw.this.event_time, window=pw.temporal.tumbling(duration=window_us), instance=pw.this.campaign_id
    )
    return windows.reduce(
        start=pw.this._pw_window_start,
        end=pw.this._pw_window_end,
        key=pw.this._pw_instance,
        rows=pw.reducers.count(),
    )
