"""What a node counts about a query, and how the counts of nodes add up.

1. A node has one `QueryMetrics` per query; it fills it and, once per report, takes it and starts a new one: counts
   and histograms are of the interval, gauges (backlog, state, watermark, positions) are of its end.
2. `merge` adds another node's metrics of the same interval, or the same node's of the next one: counts add up;
   gauges add up across nodes, so merge over time with `follow`.
3. Nothing here reads a clock or locks: the worker loop calls it with the times it knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headway.observe.histogram import LatencyHistogram
from headway.observe.misses import Misses, Result


@dataclass
class SourceMetrics:
    """One source of the query. `start`, `end`, `latest` are positions by the name of the partition, as the connector
    gives them."""

    description: str
    rows: int = 0
    backlog: int = 0
    start: dict[Any, Any] = field(default_factory=dict)
    end: dict[Any, Any] = field(default_factory=dict)
    latest: dict[Any, Any] = field(default_factory=dict)

    def merge(self, other: SourceMetrics) -> None:
        self.rows += other.rows
        self.backlog += other.backlog
        self.start = other.start | self.start
        self.end = self.end | other.end
        self.latest = self.latest | other.latest


@dataclass
class StateMetrics:
    """One stateful operator. `rows` and `bytes` are held now; the others happened in the interval.

    `duplicates` were dropped; None of an operator that drops none.
    """

    operator: str
    rows: int = 0
    updated: int = 0
    removed: int = 0
    late: int = 0
    bytes: int = 0
    duplicates: int | None = None

    def merge(self, other: StateMetrics) -> None:
        self.rows += other.rows
        self.updated += other.updated
        self.removed += other.removed
        self.late += other.late
        self.bytes += other.bytes
        self.duplicates = _fold(sum, self.duplicates, other.duplicates)


@dataclass
class QueryMetrics:
    """What happened to one query in one node in one interval.

    `target` is the latency target in seconds, None for a bulk query (then `met` and `missed` stay 0). `watermark_us`
    and `event_max_us` are None while no event time was seen.
    """

    target: float | None = None
    sources: dict[str, SourceMetrics] = field(default_factory=dict)
    states: dict[str, StateMetrics] = field(default_factory=dict)
    in_flight: int = 0
    """Bytes of rows between source and sink."""
    blocks: int = 0
    """Bytes of the blocks of memory that such rows are in, which may hold rows that have been taken too."""
    busy: float = 0.0
    """Seconds of the workers that its operators took."""
    output_rows: int = 0
    met: int = 0
    missed: int = 0
    misses: Misses = field(default_factory=Misses)
    watermark_us: int | None = None
    event_min_us: int | None = None
    event_max_us: int | None = None
    processing: LatencyHistogram = field(default_factory=LatencyHistogram)
    queuing: LatencyHistogram = field(default_factory=LatencyHistogram)
    e2e: LatencyHistogram = field(default_factory=LatencyHistogram)
    marker: LatencyHistogram = field(default_factory=LatencyHistogram)
    """Markers that sources send with their rows, a few in a target's time, from the first row's arrival to the sink."""
    observed: dict[str, list[Any]] = field(default_factory=dict)
    """What `observe` counted, by its name: partial aggregates, to be put together where progress is made."""

    def source(self, key: str, description: str = "") -> SourceMetrics:
        found = self.sources.get(key)
        if found is None:
            found = self.sources[key] = SourceMetrics(description or key)
        return found

    def state(self, key: str, operator: str = "stateStoreSave") -> StateMetrics:
        found = self.states.get(key)
        if found is None:
            found = self.states[key] = StateMetrics(operator)
        return found

    def read(self, waited_first: float, waited_last: float, rows: int) -> None:
        """`rows` were taken from a source; the first and the last had waited there so many seconds."""
        self.queuing.record_span(waited_last, waited_first, rows)

    def show(self, result: Result, now: float) -> None:
        """Results can be seen. Their events came one by one and they go out together: latencies lie in between."""
        first, last = now - result.first_t, now - result.t
        self.output_rows += result.rows
        self.e2e.record_span(last, first, result.rows)
        self.processing.record(now - result.polled, result.rows)
        if self.target is not None:
            missed = result.rows - _met(self.target, first, last, result.rows)
            self.met += result.rows - missed
            self.missed += missed
            if missed:
                self.misses.add(missed, first - self.target, result.parts(now))

    def late(self, key: str, rows: int) -> None:
        """`rows` of the stateful operator `key` were dropped because the watermark had passed them."""
        self.state(key).late += rows

    @property
    def input_rows(self) -> int:
        return sum(source.rows for source in self.sources.values())

    @property
    def backlog(self) -> int:
        return sum(source.backlog for source in self.sources.values())

    def moved(self, before: QueryMetrics | None) -> bool:
        """Whether anything was read, kept, dropped or written; `before` is what the same node told last."""
        if self.input_rows or self.output_rows or self.observed:
            return True
        if any(state.updated or state.removed or state.late for state in self.states.values()):
            return True
        known = {} if before is None else before.sources
        # A source may move on without rows, over what it leaves out.
        return any(
            source.end and (key not in known or source.end != known[key].end) for key, source in self.sources.items()
        )

    def merge(self, other: QueryMetrics) -> None:
        """Add another node's metrics of the same interval; the watermark is the lowest of those known."""
        self._merge_counts(other)
        for key, source in other.sources.items():
            self.source(key, source.description).merge(source)
        for key, state in other.states.items():
            self.state(key, state.operator).merge(state)
        self.watermark_us = _fold(min, self.watermark_us, other.watermark_us)
        self.in_flight += other.in_flight
        self.blocks += other.blocks

    def follow(self, later: QueryMetrics) -> None:
        """Add the same nodes' metrics of the next interval: counts add up, gauges are those of the later one."""
        self._merge_counts(later)
        for key, source in later.sources.items():
            mine = self.source(key, source.description)
            mine.backlog = 0
            mine.merge(source)
        for key, state in later.states.items():
            held = self.state(key, state.operator)
            held.rows = held.bytes = 0
            held.merge(state)
        self.watermark_us = _fold(max, self.watermark_us, later.watermark_us)
        self.in_flight, self.blocks = later.in_flight, later.blocks

    def carried(self) -> QueryMetrics:
        """What holds on into the next interval: the gauges, every count at zero."""
        gauges = QueryMetrics(self.target, watermark_us=self.watermark_us, in_flight=self.in_flight, blocks=self.blocks)
        for key, source in self.sources.items():
            gauges.sources[key] = SourceMetrics(source.description, 0, source.backlog, source.end, source.end)
        for key, state in self.states.items():
            gauges.states[key] = StateMetrics(
                state.operator, state.rows, bytes=state.bytes, duplicates=None if state.duplicates is None else 0
            )
        return gauges

    def _merge_counts(self, other: QueryMetrics) -> None:
        self.busy += other.busy
        self.output_rows += other.output_rows
        self.met += other.met
        self.missed += other.missed
        self.misses.merge(other.misses)
        self.event_min_us = _fold(min, self.event_min_us, other.event_min_us)
        self.event_max_us = _fold(max, self.event_max_us, other.event_max_us)
        self.processing.merge(other.processing)
        self.queuing.merge(other.queuing)
        self.e2e.merge(other.e2e)
        self.marker.merge(other.marker)
        for name, partials in other.observed.items():
            self.observed.setdefault(name, []).extend(partials)


def _met(target: float, first: float, last: float, rows: int) -> int:
    """How many of the rows, whose latencies lie evenly between the two, are within the target."""
    if first <= target:
        return rows
    return 0 if last > target else round(rows * (target - last) / (first - last))


def _fold(choose: Any, one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return choose(known) if known else None
