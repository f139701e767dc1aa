"""Where the time of results went that were later than their target.

1. A message says where its time went so far (`Spent`); what nobody accounts for, rows spent in an operator's state:
   waiting for the watermark, or for the moment at which changed groups leave.
2. Only results that missed count here, each with the time of the event it is timed from. So the parts of a miss add up
   to its latency.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

PARTS = {
    "sourceLag": "in the source, before it was read",
    "backPressure": "in the source, because operators downstream had no room",
    "queueing": "in queues, while other operators ran",
    "service": "in operators, being worked on",
    "exchange": "on the way between processes",
    "watermark": "in state, until the watermark or the interval between results let it go",
    "commit": "written, until the epoch's commit made it visible",
}
_ADVICE = {
    "sourceLag": "the node polls too seldom or all cores are busy: fewer queries per node, or more nodes",
    "backPressure": "the query cannot keep up with its source: more nodes, or less work per row",
    "queueing": "the cores are taken by others with nearer deadlines: more nodes, or a longer target for some",
    "service": "the query's own work takes that long: a longer target, or less work per row",
    "exchange": "the network or the receiving node is slow: fewer nodes for this query (option headway.nodes)",
    "watermark": "results wait for event time: a shorter watermark delay, or a source partition that is not idle",
    "commit": "this sink shows rows at checkpoints: a shorter headway.checkpointInterval",
}


class Spent(NamedTuple):
    """Where the time of a message went since its rows were polled, seconds; `blocked` was before: the source could not
    be read because those downstream had no room."""

    blocked: float = 0.0
    queueing: float = 0.0
    service: float = 0.0
    exchange: float = 0.0

    def and_then(self, queueing: float = 0.0, service: float = 0.0, exchange: float = 0.0) -> Spent:
        """
        >>> Spent(service=1.0).and_then(queueing=0.5, service=0.25)
        Spent(blocked=0.0, queueing=0.5, service=1.25, exchange=0.0)
        """
        return Spent(self.blocked, self.queueing + queueing, self.service + service, self.exchange + exchange)


class Result(NamedTuple):
    """Rows that went out together: when their first and last event came, when those were polled, and, once they were
    written, when that was and where the time went."""

    first_t: float
    t: float
    polled: float
    rows: int
    written: float
    spent: Spent

    def parts(self, now: float) -> dict[str, float]:
        """Seconds by the names of `PARTS`, for results that showed at `now`."""
        spent = self.spent
        known = {
            "sourceLag": max(0.0, self.polled - self.first_t - spent.blocked),
            "backPressure": spent.blocked,
            "queueing": spent.queueing,
            "service": spent.service,
            "exchange": spent.exchange,
            "commit": max(0.0, now - self.written),
        }
        known["watermark"] = max(0.0, now - self.first_t - sum(known.values()))
        return known


@dataclass
class Misses:
    """The results that missed: how many, how late in all, and their seconds by part."""

    results: int = 0
    late: float = 0.0
    latest: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, results: int, late: float, parts: dict[str, float]) -> None:
        self.results += results
        self.late += results * late
        self.latest = max(self.latest, late)
        for part, seconds in parts.items():
            self.seconds[part] = self.seconds.get(part, 0.0) + results * seconds

    def merge(self, other: Misses) -> None:
        self.results += other.results
        self.late += other.late
        self.latest = max(self.latest, other.latest)
        for part, seconds in other.seconds.items():
            self.seconds[part] = self.seconds.get(part, 0.0) + seconds

    def mean_ms(self) -> dict[str, float]:
        """Milliseconds of an average miss by part, the largest first; empty if there was none."""
        mean = {part: 1000 * seconds / self.results for part, seconds in self.seconds.items()} if self.results else {}
        return dict(sorted(mean.items(), key=lambda item: -item[1]))

    def explain(self, target: float | None, met: int) -> str:
        """For people: what was missed, by how much, where the time went and what would help.

        >>> misses = Misses()
        >>> misses.add(10, 0.05, {"queueing": 0.12, "service": 0.03})
        >>> print(misses.explain(0.1, met=90))  # doctest: +ELLIPSIS
        10 of 100 results (10.0 %) missed the target of 100 ms, by 50 ms on average and 50 ms at most.
        Where the time of an average miss went:
            120.0 ms   80 %  queueing      in queues, while other operators ran
        ...
        """
        if target is None:
            return "The query has no latency target: nothing can be missed."
        everything = met + self.results
        if not self.results:
            return f"All {everything:,} results met the target of {1000 * target:,.0f} ms."
        mean = self.mean_ms()
        whole = sum(mean.values()) or 1.0
        lines = [
            f"{self.results:,} of {everything:,} results ({100 * self.results / everything:.1f} %) missed the target "
            f"of {1000 * target:,.0f} ms, by {1000 * self.late / self.results:,.0f} ms on average and "
            f"{1000 * self.latest:,.0f} ms at most.",
            "Where the time of an average miss went:",
        ]
        for part, ms in mean.items():
            if ms >= 0.001 * whole:
                lines.append(f"{ms:9,.1f} ms {100 * ms / whole:4.0f} %  {part:<13} {PARTS[part]}")
        worst = next(iter(mean))
        lines.append(f"Most of it is {worst}: {_ADVICE[worst]}.")
        return "\n".join(lines)
