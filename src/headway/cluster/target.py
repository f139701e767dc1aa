"""A query's latency target: given, none, or found by measuring; and how it was met.

1. "auto": the query first runs as the most urgent of all, which is as if it were alone. When enough results have been
   seen, twice their 95th percentile is the target, as in Cameo.
2. A target below what the query's own work takes cannot be met by any scheduling: one warning says so.
"""

from __future__ import annotations

from headway.observe.histogram import LatencyHistogram
from headway.observe.metrics import QueryMetrics
from headway.observe.misses import Misses

MOST_URGENT = 0.001
ENOUGH_RESULTS = 200
ENOUGH_SECONDS = 5.0
LONGEST_MEASURE = 60.0
PATIENCE_WITH_COSTS = 3
"""Reports in a row that must say the same before it is said: first runs are slow."""


class Target:
    """See the module. `latency` is None for bulk, and while `measuring`."""

    def __init__(self, latency: float | None, auto: bool = False) -> None:
        self.latency = latency
        self.measuring = auto
        self._measured = LatencyHistogram()
        self._since: float | None = None
        self._met = 0
        self._misses = Misses()
        self._too_slow = 0

    @property
    def urgency(self) -> float | None:
        """The target that the scheduler works with."""
        return MOST_URGENT if self.measuring else self.latency

    def observe(self, metrics: QueryMetrics, now: float) -> bool:
        """Take what happened since the last call; True if the target has been found now."""
        self._met += metrics.met
        self._misses.merge(metrics.misses)
        if not self.measuring:
            return False
        self._measured.merge(metrics.e2e)
        count = self._measured.count
        if not count:
            return False
        self._since = now if self._since is None else self._since
        long_enough = now - self._since >= ENOUGH_SECONDS and count >= ENOUGH_RESULTS
        if not long_enough and now - self._since < LONGEST_MEASURE:
            return False
        self.latency = max(2 * self._measured.summary()["p95"] / 1000, MOST_URGENT)
        self.measuring = False
        return True

    def check(self, service: float) -> str | None:
        """What to warn of, once, where the query's own work takes `service` seconds from source to sink."""
        if self.latency is None or self.latency >= service:
            self._too_slow = min(self._too_slow, 0)
            return None
        self._too_slow += 1
        if self._too_slow != PATIENCE_WITH_COSTS:
            return None
        self._too_slow = -1 << 60
        return (
            f"its latency target is {1000 * self.latency:,.1f} ms, but its own work takes {1000 * service:,.1f} ms "
            f"from source to sink (measured): no scheduling can meet it; ask for {2000 * service:,.0f} ms or more, or "
            'let .latency("auto") find a target'
        )

    def explain(self) -> str:
        if self.measuring:
            return 'The latency target is being measured (latency "auto"): nothing has been missed yet.'
        return self._misses.explain(self.latency, self._met)
