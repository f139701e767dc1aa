"""What sources and sinks look like to a node and to the driver.

Sources come in three shapes:
1. Inline (rate, generators): a partition is polled by the worker loop itself and never blocks.
2. Planned (files, sockets, Python data sources): a planner, in one node, turns what is new into tasks; readers, in
   every node, turn a task into batches. Both run in threads of their own and may block.
3. Consumed (Kafka): every node has a consumer, in a thread of its own, that is pushed the rows of the partitions the
   node was dealt; a partition may turn up while the query runs.

Positions are JSON values. A source can start at any position it gave before (`replayable` says whether it can).
Physical times are seconds since the epoch (float).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa

from headway.dataflow.graph import Source
from headway.dataflow.types import Schema
from headway.memory import HEAP, Layout, Rows

Position = Any
"""A JSON value: where a source, or a partition of it, is."""


class Polled(NamedTuple):
    """Rows of one poll, with the physical times at which the first and the last of them reached the source."""

    batch: Rows
    first_arrival: float
    last_arrival: float


class Filled(NamedTuple):
    """How many rows were filled in, and when the first and the last of them reached the source."""

    rows: int
    first_arrival: float
    last_arrival: float


class Reached(NamedTuple):
    """How far a partition is, where Spark tells of the whole source at once: of several, the least counts."""

    at: int
    shown: Any
    """The offset of Spark's, a JSON value; None: nothing was read."""


class InlinePartition(Protocol):
    """One partition of an inline source, inside a node. Never blocks."""

    def poll(self, now: float, max_rows: int) -> Polled | None:
        """The next rows that are due at `now`, at most `max_rows`; None if there are none."""

    def next_due(self, now: float) -> float:
        """When the next row is due (`now` or earlier: at once)."""

    def backlog(self, now: float) -> int:
        """Rows that are due and not polled."""

    def position(self) -> Position:
        """Where to go on from after the rows polled so far."""


@runtime_checkable
class FillingPartition(InlinePartition, Protocol):
    """A partition whose rows have columns of fixed width without nulls: it fills memory that the node lends it."""

    schema: pa.Schema

    def fill(self, columns: Sequence[np.ndarray[Any, Any]], most: int, now: float) -> Filled | None:
        """Put the next rows that are due at `now` into the columns (see `memory.Layout.columns`), at most so many; None
        if there are none."""


@runtime_checkable
class ReachingPartition(InlinePartition, Protocol):
    """A partition of a source whose offset in progress is one for all partitions; else each shows its position."""

    def reached(self) -> Reached: ...


def filled(partition: FillingPartition, most: int, now: float) -> Polled | None:
    """A poll into memory of its own."""
    block = Layout(partition.schema, rows=most).block(HEAP)
    found = partition.fill(block.columns, most, now)
    if found is None:
        return None
    block.num_rows = found.rows
    return Polled(block.record_batch(), found.first_arrival, found.last_arrival)


class InlineSource(Protocol):
    """An inline source as the driver plans it and the nodes open it; must be picklable."""

    replayable: bool

    def partitions(self, nodes: int, restored: Sequence[Position] | None, now: float) -> list[Position]:
        """Start positions, one per partition, planned by the driver: fresh ones, or `restored` re-dealt.

        A partition carries all it needs in its position, so that any node can open it.
        """

    def open(self, position: Position) -> InlinePartition:
        """Open a partition inside a node."""


class Planner(Protocol):
    """Finds out what is new. Lives in one node, in a thread of its own; only that thread calls it."""

    def start(self, position: Position | None) -> Position:
        """Begin at `position`, or, if None, where a new query begins; give where that is."""

    def latest(self) -> Position:
        """Where the source ends now. May block. Equal to the last one: nothing is new."""

    def tasks(self, start: Position, end: Position) -> Sequence[tuple[int, bytes]]:
        """What lies between, as tasks that may be read in parallel, each with the id of its source partition (for
        watermarks; tasks of one id are read in order, on one node)."""

    def commit(self, end: Position) -> None:
        """Everything before `end` is in a committed checkpoint."""

    def close(self) -> None: ...


class PlannedSource(Protocol):
    """A planned source; must be picklable."""

    replayable: bool
    poll_interval: float
    """Seconds between looks while nothing is new."""

    def planner(self) -> Planner: ...

    def shown(self, position: Position) -> Any:
        """The offset, a JSON value of few bytes, that Spark's progress has for a position; None: nothing was read."""

    def read(self, task: bytes) -> Iterator[pa.RecordBatch]:
        """The rows of a task as batches of the source's schema. Runs in a reader thread of a node, may block."""


class Fetched(NamedTuple):
    """Rows of one partition of a consumed source; None: it moved on without any."""

    partition: tuple[str, str]
    """Its name: the keys under which a position holds where it is."""
    batch: pa.RecordBatch | None
    position: Position
    """Where the partition goes on from after these rows."""
    arrival: float


class Consumer(Protocol):
    """What one node reads of a consumed source. One thread calls it, but for `backlog`."""

    backlog: int
    """Rows that are known to be there and were not fetched."""

    def fetch(self, now: Callable[[], float]) -> Sequence[Fetched]:
        """Wait a moment for rows; what has come, in order. Raises what ends the query."""

    def look(self) -> None:
        """Find out where all partitions end now, new ones included."""

    def reached(self) -> bool:
        """Whether everything that the last look saw has been fetched."""

    def close(self) -> None: ...


class ConsumedSource(Protocol):
    """A consumed source; must be picklable. Positions are two-level: `{"topic": {"0": 17}}`."""

    replayable: bool

    def settle(self) -> Position:
        """Where a new query begins. Asked once in a query's life, in the driver; may block. Raises what is wrong with
        the source as far as it can be known."""

    def partitions(self, nodes: int, restored: Sequence[Position], now: float) -> list[Position]:
        """Positions, one per node, of what is dealt to it, from those of a checkpoint or of `settle`."""

    def consume(self, position: Position, node: int, nodes: int) -> Consumer:
        """Inside the thread of a node, which is number `node` of those that the query has."""


Connector: TypeAlias = InlineSource | PlannedSource | ConsumedSource


@runtime_checkable
class Narrowing(Protocol):
    """A source of any shape that need not make all of its columns."""

    def narrowed(self, columns: tuple[int, ...]) -> Connector:
        """The same source with these columns alone: positions in its schema, at least one, in their order. Positions
        that it gives and takes are the same."""


class SinkWriter(Protocol):
    """The part of a sink that runs in a node, one per operator. Unless `inline`, in a thread of its own."""

    def write(self, batch: pa.RecordBatch, epoch: int) -> None:
        """Take rows of `epoch`. What this raises fails the query."""

    def prepare(self, epoch: int) -> Any:
        """Make durable what was written for `epoch`; the picklable receipt goes to `SinkCommitter.commit`."""

    def close(self, failed: bool) -> None:
        """No more rows; drop what was not prepared."""


class SinkCommitter(Protocol):
    """The part of a sink that lives in the driver. Called by one thread, in the order of epochs."""

    def rows(self, batch: pa.RecordBatch, epoch: int) -> None:
        """Sinks with `to_driver`: rows of an epoch that is not committed yet; they may be shown already."""

    def prepare(self, epoch: int) -> Any:
        """Sinks with `to_driver`: all rows of `epoch` have come. The JSON value or bytes given here is kept in the
        checkpoint and handed to `commit`, also after a restart."""

    def commit(self, epoch: int, receipts: Sequence[Any]) -> None:
        """Publish `epoch`. Called once per committed epoch, and again after a restart for the last one: the second
        call must change nothing (or, for foreachBatch, is the repetition that Spark allows, same id, same rows)."""

    def restore(self, epoch: int, kept: Sequence[Any]) -> None:
        """The query goes on after `epoch` (-1: from the beginning): forget rows of later epochs. `kept` are the
        values that prepare gave in epochs up to it, if the sink asks to keep them all (`keeps_history`), else of it."""

    def close(self, failed: bool) -> None: ...


class Sink(Protocol):
    """A sink as the driver makes it from the writer's format and options; the class checks them and raises
    `InvalidOption` or `UnsupportedPlan`. Its `writer` is called in nodes, so the sink must be picklable."""

    to_driver: bool
    """Rows go to the committer in the driver; there is no writer in the nodes."""
    inline: bool
    """The writer never blocks (noop), and needs no thread."""
    keeps_history: bool
    """All values of `prepare` are kept in the checkpoint, not only the last (memory)."""
    visible_at_commit: bool
    """Rows can be seen only when their epoch commits (files, foreachBatch)."""
    modes: frozenset[str]
    """The output modes it can take."""

    def writer(self, operator: str) -> SinkWriter:
        """In a node; `operator` is unique in the query and stable over restarts only by chance."""

    def committer(self) -> SinkCommitter:
        """In the driver."""


class SourceFactory(Protocol):
    """How a connector makes a source from a plan's leaf; checks options."""

    def __call__(self, source: Source) -> Connector: ...


class SinkContext(NamedTuple):
    """What a sink can need to know, in the driver, when it is made."""

    spark: Any
    query_name: str | None
    query_id: str
    schema: Schema
    output_mode: str
    options: dict[str, str]
    partition_by: tuple[str, ...]
    payload: Any
    """The user's function or object for foreach and foreachBatch."""
