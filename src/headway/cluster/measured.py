"""What is measured of a query, in its nodes and in the driver, and the progress that is made of it.

1. While something happens there is progress once a second, and once more a second after, so that the last one tells
   that it is over. Then once in ten seconds, as Spark does by `spark.sql.streaming.noDataProgressEventInterval`.
   Such a one says that the query is idle.
2. A node that has nothing to report stands where it stood.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from headway.cluster.target import Target
from headway.dataflow.query import QuerySpec
from headway.kernels.observation import observations, observed
from headway.observe.metrics import QueryMetrics
from headway.observe.misses import Result
from headway.observe.progress import ProgressContext, build_progress

KEPT = 100
EVERY = 1.0
EVERY_IDLE = 10.0
_log = logging.getLogger("headway")


class Measured:
    """See the module."""

    def __init__(self, spec: QuerySpec, target: Target, now: float, stateful: tuple[int, ...] = ()) -> None:
        self._spec = spec
        self._stateful = tuple(map(str, stateful))
        self._target = target
        self._driver = QueryMetrics(spec.latency)
        self._nodes: dict[int, QueryMetrics] = {}
        """What nodes have measured since the last progress."""
        self._totals = QueryMetrics(spec.latency)
        self._observations = observations(spec.plan)
        self._facts: dict[str, Any] = {}
        self._made: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._callbacks: list[Callable[[dict[str, Any], bool], None]] = []
        self._made_at = now
        self.news = True
        """Something has happened that no progress tells of."""
        self._had_news = True
        """Whether something had happened when progress was made last."""

    # What a user's thread calls.

    def progress(self) -> list[dict[str, Any]]:
        return list(self._made)

    def totals(self) -> QueryMetrics:
        """All counts since the last call of this, exact to the last progress."""
        taken, self._totals = self._totals, QueryMetrics(self._target.latency)
        return taken

    def facts(self) -> dict[str, Any]:
        return dict(self._facts)

    def add_callback(self, callback: Callable[[dict[str, Any], bool], None]) -> None:
        self._callbacks.append(callback)

    # What the coordinator's thread calls.

    def report(self, node: int, metrics: QueryMetrics, facts: dict[str, Any]) -> bool:
        """What a node has measured since its last report; whether it has read, changed or written anything."""
        known = self._nodes.get(node)
        moved = metrics.moved(known)
        if known is None:
            self._nodes[node] = metrics
        else:
            known.follow(metrics)
        self.news = self.news or moved or self._facts.get("compiled") != facts.get("compiled")
        self._facts.update(facts)
        return moved

    def show(self, result: Result, now: float) -> None:
        """Results can be seen in the driver's sink."""
        self.news = True
        self._driver.show(result, now)

    def marker(self, seconds: float) -> None:
        self._driver.marker.record(seconds)

    def changed(self) -> None:
        """The query is in another state."""
        self.news = True

    def forget_nodes(self) -> None:
        """They begin anew."""
        self._nodes = {}

    def due(self) -> float:
        """When progress is to be made."""
        return self._made_at + (EVERY if self.news or self._had_news else EVERY_IDLE)

    def make(self, now: float, epoch: int, state: str) -> bool:
        """Make progress, and tell; whether the query's target has been found with it."""
        metrics = self._take()
        found = self._target.observe(metrics, now)
        self._driver.target = self._target.latency
        self._warn()
        spec = self._spec
        facts = {"state": state, **self._facts}
        context = ProgressContext(
            spec.id,
            spec.run_id,
            spec.name,
            now,
            epoch,
            now - self._made_at,
            type(spec.sink).__name__,
            facts,
            self._stateful,
        )
        self._made_at = now
        idle = not (self.news or self._had_news)
        self._had_news, self.news = self.news, False
        progress = build_progress(context, metrics)
        progress["observedMetrics"] = self._observed(metrics)
        self._totals.follow(metrics)
        self._made.append(progress)
        for callback in self._callbacks:
            callback(progress, idle)
        return found

    def _observed(self, metrics: QueryMetrics) -> dict[str, Any]:
        taken, metrics.observed = metrics.observed, {}
        return {name: observed(wanted, taken.get(name, [])) for name, wanted in self._observations.items()}

    def _warn(self) -> None:
        too_slow = self._target.check(self._facts.get("serviceMs", 0.0) / 1000)
        if too_slow is not None:
            _log.warning("query %s: %s", self._spec.name or self._spec.id, too_slow)

    def _take(self) -> QueryMetrics:
        """What happened since the last progress, everywhere."""
        metrics, self._driver = self._driver, QueryMetrics(self._target.latency)
        for node, measured in self._nodes.items():
            metrics.merge(measured)
            self._nodes[node] = measured.carried()
        return metrics
