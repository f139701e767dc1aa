"""Progress as PySpark shows it, from what the nodes counted; what is Headway's own is under one key.

Headway has no micro-batches: `batchId` is the epoch, and `batchDuration` the time since the progress before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from headway.connectors.api import Reached
from headway.observe.metrics import QueryMetrics, SourceMetrics, StateMetrics

HEADWAY_KEY = "headway"


@dataclass(frozen=True)
class ProgressContext:
    """What progress tells besides the nodes' counts. `time` is the end of the interval, seconds since the epoch."""

    id: str
    run_id: str
    name: str | None
    time: float
    epoch: int
    seconds: float
    sink: str
    facts: dict[str, Any] = field(default_factory=dict)
    """Goes under the key "headway" as it is."""
    stateful: tuple[str, ...] = ()
    """The keys of stateful operators, in the order in which progress tells of them."""


def build_progress(context: ProgressContext, metrics: QueryMetrics) -> dict[str, Any]:
    """One progress: a dict of JSON values."""
    sources = [_source(source, context.seconds) for _, source in sorted(metrics.sources.items())]
    return {
        "id": context.id,
        "runId": context.run_id,
        "name": context.name,
        "timestamp": iso(context.time),
        "batchId": context.epoch,
        "batchDuration": round(context.seconds * 1000),
        "durationMs": {"triggerExecution": round(context.seconds * 1000)},
        "eventTime": _event_time(metrics),
        "stateOperators": [_state(metrics.states[key]) for key in context.stateful if key in metrics.states],
        "sources": sources,
        "sink": {"description": context.sink, "numOutputRows": metrics.output_rows, "metrics": {}},
        "numInputRows": metrics.input_rows,
        "inputRowsPerSecond": _rate(metrics.input_rows, context.seconds),
        "processedRowsPerSecond": _rate(metrics.input_rows, context.seconds),
        "observedMetrics": {},
        HEADWAY_KEY: _own(context, metrics),
    }


def as_pyspark(progress: dict[str, Any]) -> StreamingQueryProgress:
    """The same as PySpark's own object, which is a dict too."""
    made = StreamingQueryProgress.fromJson(progress)
    if HEADWAY_KEY in progress:
        made[HEADWAY_KEY] = progress[HEADWAY_KEY]
    return made


def iso(seconds: float) -> str:
    """A time as Spark writes it in progress.

    >>> iso(1.25)
    '1970-01-01T00:00:01.250Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now_iso() -> str:
    return iso(datetime.now(UTC).timestamp())


def _own(context: ProgressContext, metrics: QueryMetrics) -> dict[str, Any]:
    return {
        "engine": HEADWAY_KEY,
        "latency": {
            "processingLatencyMs": metrics.processing.percentiles(),
            "sourceQueuingLatencyMs": metrics.queuing.percentiles(),
            "e2eLatencyMs": metrics.e2e.percentiles(),
        },
        "targetMs": None if metrics.target is None else metrics.target * 1000,
        "met": metrics.met,
        "missed": metrics.missed,
        "missMs": metrics.misses.mean_ms(),
        "backlogRows": metrics.backlog,
        "busyMsPerSecond": _rate(metrics.busy * 1000, context.seconds),
        "memory": {"inFlightBytes": metrics.in_flight, "blockBytes": metrics.blocks},
        **context.facts,
    }


def _event_time(metrics: QueryMetrics) -> dict[str, str]:
    known = {"max": metrics.event_max_us, "min": metrics.event_min_us, "watermark": metrics.watermark_us}
    return {name: iso(micros / 1e6) for name, micros in known.items() if micros is not None}


def _source(source: SourceMetrics, seconds: float) -> dict[str, Any]:
    rate = _rate(source.rows, seconds)
    return {
        "description": source.description,
        "startOffset": _offset(source.start),
        "endOffset": _offset(source.end),
        "latestOffset": _offset(source.latest or source.end),
        "numInputRows": source.rows,
        "inputRowsPerSecond": rate,
        "processedRowsPerSecond": rate,
        "metrics": {"backlogRows": str(source.backlog)},
    }


def _offset(positions: dict[Any, Any]) -> str | None:
    """Positions as Spark writes its offsets: by partition, where names of two parts nest, or one for all partitions.

    >>> _offset({("clicks", "0"): 17, ("clicks", "1"): 4})
    '{"clicks": {"0": 17, "1": 4}}'
    >>> _offset({"0": Reached(3, {"logOffset": 3})})
    '{"logOffset": 3}'
    """
    reached = [at for at in positions.values() if isinstance(at, Reached)]
    if not positions or reached:
        least = min(reached, key=lambda one: one.at, default=Reached(0, None))
        return None if least.shown is None else json.dumps(least.shown)
    nested: dict[str, Any] = {}
    for name, at in sorted(positions.items()):
        if isinstance(name, tuple):
            nested.setdefault(name[0], {})[name[1]] = at
        else:
            nested[name] = at
    return json.dumps(nested)


def _state(state: StateMetrics) -> dict[str, Any]:
    return {
        "operatorName": state.operator,
        "numRowsTotal": state.rows,
        "numRowsUpdated": state.updated,
        "numRowsRemoved": state.removed,
        "allUpdatesTimeMs": 0,
        "allRemovalsTimeMs": 0,
        "commitTimeMs": 0,
        "memoryUsedBytes": state.bytes,
        "numRowsDroppedByWatermark": state.late,
        "numShufflePartitions": 0,
        "numStateStoreInstances": 0,
        "customMetrics": {} if state.duplicates is None else {"numDroppedDuplicateRows": state.duplicates},
    }


def _rate(rows: float, seconds: float) -> float:
    return rows / seconds if seconds > 0 else 0.0


def latency_percentiles(progress: dict[str, Any], which: str = "e2eLatencyMs") -> dict[str, float]:
    """The percentiles of one of the three latencies in a progress, empty if it has none.

    >>> latency_percentiles({"headway": {"latency": {"e2eLatencyMs": {"P50": 1.5}}}})
    {'P50': 1.5}
    """
    found: dict[str, float] = progress.get(HEADWAY_KEY, {}).get("latency", {}).get(which, {})
    return found
