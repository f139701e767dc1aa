"""Latency histograms: cheap to record into, exact to add up across nodes, percentiles in milliseconds."""

from __future__ import annotations

from typing import Any

from hdrh.histogram import HdrHistogram

PERCENTILES = {"P0": 0.0, "P50": 50.0, "P90": 90.0, "P95": 95.0, "P99": 99.0}

_HIGHEST_US = 3_600_000_000
_DIGITS = 2
_BITS = 8
_SPAN_POINTS = 4


class LatencyHistogram:
    """Counts of latencies from 1 microsecond to an hour, to within 1 %.

    >>> latencies = LatencyHistogram()
    >>> latencies.record(0.002, count=99)
    >>> latencies.record(1.5)
    >>> latencies.percentiles()["P50"], latencies.percentiles()["P99"]
    (2.007, 2.007)
    """

    __slots__ = ("_hdr", "_pending")

    def __init__(self, encoded: bytes | None = None) -> None:
        self._hdr = HdrHistogram.decode(encoded) if encoded else HdrHistogram(1, _HIGHEST_US, _DIGITS)
        # Recording into a dict of rounded values costs a quarter of recording into the histogram itself.
        self._pending: dict[int, int] = {}

    def record(self, seconds: float, count: int = 1) -> None:
        """Count `count` results of this latency; below zero (clocks differ) counts as zero, beyond an hour as that."""
        micros = int(seconds * 1e6)
        surplus_bits = micros.bit_length() - _BITS
        if surplus_bits > 0:
            micros = micros >> surplus_bits << surplus_bits
        pending = self._pending
        pending[micros] = pending.get(micros, 0) + count

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
        self._folded().add(other._folded())

    def encode(self) -> bytes:
        encoded: bytes = self._folded().encode()
        return encoded

    @property
    def count(self) -> int:
        return int(self._folded().total_count)

    def percentiles(self) -> dict[str, float]:
        """Milliseconds by the names of `PERCENTILES`, empty while nothing was recorded."""
        values = self._folded().get_percentile_to_value_dict(list(PERCENTILES.values()))
        return {name: values[at] / 1000 for name, at in PERCENTILES.items()} if values else {}

    def summary(self) -> dict[str, float]:
        """Mean, median, tail and highest in milliseconds, empty while nothing was recorded."""
        hdr = self._folded()
        if not hdr.total_count:
            return {}
        tail = {f"p{at}": hdr.get_value_at_percentile(at) / 1000 for at in (50, 95, 99)}
        return {"mean": hdr.get_mean_value() / 1000, **tail, "max": hdr.get_max_value() / 1000}

    def _folded(self) -> HdrHistogram:
        for micros, count in self._pending.items():
            self._hdr.record_value(min(max(micros, 0), _HIGHEST_US), count)
        self._pending.clear()
        return self._hdr

    def __reduce__(self) -> tuple[Any, ...]:
        return LatencyHistogram, (self.encode(),)
