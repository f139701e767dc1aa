"""Latency histograms: cheap to record into, small to send, exact to add up across nodes, percentiles in milliseconds.

A latency is rounded down to eight significant bits of its microseconds, an error below 1 %, and counted in a dict: that
costs a third of a microsecond, and what travels is only what was seen.
"""

from __future__ import annotations

from collections.abc import Sequence

PERCENTILES = {"P0": 0.0, "P50": 50.0, "P90": 90.0, "P95": 95.0, "P99": 99.0}

_BITS = 8
_SPAN_POINTS = 4


class LatencyHistogram:
    """Counts of latencies.

    >>> latencies = LatencyHistogram()
    >>> latencies.record(0.002, count=99)
    >>> latencies.record(1.5)
    >>> latencies.percentiles()["P50"], latencies.percentiles()["P99"]
    (2.0, 2.0)
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def record(self, seconds: float, count: int = 1) -> None:
        """Count `count` results of this latency; below zero (clocks differ) counts as zero."""
        micros = int(seconds * 1e6)
        surplus_bits = micros.bit_length() - _BITS
        if surplus_bits > 0:
            micros = micros >> surplus_bits << surplus_bits
        counts = self._counts
        counts[micros] = counts.get(micros, 0) + count

    def record_span(self, lowest: float, highest: float, count: int) -> None:
        """Count `count` results whose latencies lie evenly between the two.

        Rows that came one after another and left together waited differently long: to count them all as the last one
        would hide the wait.
        """
        points = min(count, _SPAN_POINTS)
        if points <= 1 or highest - lowest < 0.02 * highest:
            self.record(highest, count)
            return
        share, rest = divmod(count, points)
        step = (highest - lowest) / (points - 1)
        for i in range(points):
            self.record(highest - i * step, share + (i < rest))

    def merge(self, other: LatencyHistogram) -> None:
        counts = self._counts
        for micros, count in other._counts.items():
            counts[micros] = counts.get(micros, 0) + count

    @property
    def count(self) -> int:
        return sum(self._counts.values())

    @property
    def total(self) -> tuple[int, int]:
        """How many were counted, and the sum of their microseconds."""
        return self.count, sum(max(micros, 0) * count for micros, count in self._counts.items())

    def percentiles(self) -> dict[str, float]:
        """Milliseconds by the names of `PERCENTILES`, empty while nothing was recorded."""
        found = self.at(list(PERCENTILES.values()))
        return dict(zip(PERCENTILES, found, strict=True)) if found else {}

    def summary(self) -> dict[str, float]:
        """Mean, median, tail and highest in milliseconds, empty while nothing was recorded."""
        if not self._counts:
            return {}
        count, micros = self.total
        mean = micros / count / 1000
        p50, p95, p99, highest = self.at([50.0, 95.0, 99.0, 100.0])
        return {"mean": mean, "p50": p50, "p95": p95, "p99": p99, "max": highest}

    def at(self, percentiles: Sequence[float]) -> list[float]:
        """Milliseconds at ascending percentiles: the lowest value that so many percent of the counts do not exceed."""
        total = self.count
        found: list[float] = []
        seen = 0
        for micros, count in sorted(self._counts.items()):
            seen += count
            while len(found) < len(percentiles) and seen >= total * percentiles[len(found)] / 100:
                found.append(max(micros, 0) / 1000)
        return found
