"""What a stage's computation looks like to a node, whichever tier computes it.

1. A kernel belongs to one operator and is called by one thread. It knows no time, no socket, no checkpoint.
2. A kernel that has state gives all of it as one Arrow table and takes it back, in any tier and any number of pieces:
   that is how checkpoints, changing over from interpreted to compiled, and moving a key bucket all work.
3. Partial aggregates: the columns of the keys, then the state columns of every aggregate, as `partial_schema` says.
   Rows of one group may come many times; merging them in any order gives the same answer.
4. Times are microseconds since the epoch (int), as in Spark's timestamps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa

from headway.dataflow.graph import AggCall, Aggregate, Relation
from headway.dataflow.types import arrow_type
from headway.memory import Rows


@dataclass(frozen=True)
class Chain:
    """The stateless steps of a stage, first to last, and the partial aggregation that may end it.

    `steps` are relations of the kinds Filter, Project, Expand, Generate, Watermark, StaticJoin, EvalPython and
    MapBatches, each the input of the next; `input` is the relation whose batches come in. At most one of the steps is a
    Watermark.
    """

    input: Relation
    steps: tuple[Relation, ...]
    aggregate: Aggregate | None = None


class ChainKernel(Protocol):
    """Computes a chain, batch by batch."""

    def process(self, rows: Rows) -> tuple[pa.RecordBatch | None, int | None]:
        """Take one batch; give the rows that come out (None if the chain ends in an aggregation, or if none do), and
        the highest event time seen at the Watermark step (None if there is no such step or only nulls)."""

    def observed(self) -> dict[str, pa.RecordBatch]:
        """What the Observe steps saw since the last call: partials by the name of the observation."""
        return {}

    def flush(self, watermark: int | None) -> pa.RecordBatch | None:
        """Partial aggregates: remove and give the groups that `watermark` ends, all groups if it is None."""

    def flush_to(self, watermark: int | None, owners: int) -> list[pa.RecordBatch] | None:
        """The same, as a batch for each of so many owners of keys (see `hashing.owners_of`)."""

    def snapshot(self) -> pa.Table | None:
        """The partial groups held now, as by flush(None), but they stay. None: the kernel is stateless."""

    def restore(self, state: pa.Table) -> None:
        """Take the groups of a snapshot in addition to those held."""

    def holds_more_than(self, most: int) -> bool:
        """Whether more groups than that are held. Asked after every batch: it may not cost what counting them does."""
        return self.groups > most

    @property
    def groups(self) -> int:
        """How many groups are held."""

    @property
    def bytes(self) -> int:
        """How much memory they take."""


class Changes(NamedTuple):
    """What was added to a kernel's state since it was last asked: how many bytes, and the table, which another thread
    may make. State is what all such tables since the beginning, or since a snapshot, give when they are restored."""

    bytes: int
    table: Callable[[], pa.Table]


class MergeKernel(Protocol):
    """The second step of an aggregation: merges partials, gives results. Rows out have the Aggregate's schema."""

    def merge(self, partials: pa.RecordBatch, watermark: int | None) -> int:
        """Take partials; those of groups that `watermark` ended already are late and dropped. How many were."""

    def emit(self, mode: str, watermark: int | None) -> pa.RecordBatch | None:
        """The results due now, None if there are none.

        append: groups that `watermark` ends, and they are forgotten.
        update: groups changed since the last call; then groups that it ends are forgotten.
        complete: all groups, if any changed since the last call.
        """

    def snapshot(self) -> pa.Table:
        """All groups as partials, with a last column `changed` (bool): not yet emitted by update or complete."""

    def changes(self) -> Changes | None:
        """What came since the last snapshot or changes; None: only a snapshot can tell."""
        return None

    def restore(self, state: pa.Table) -> None:
        """Take groups of snapshots and changes in addition to what is held."""

    @property
    def groups(self) -> int:
        """How many groups are held; of many, it may say up to half too many."""

    @property
    def bytes(self) -> int:
        """How much memory the groups take."""


class Outcome(NamedTuple):
    """What a keyed kernel did: rows out (None: none), rows that were late, and what became of its state.

    `duplicates` were dropped for what is known already; None of operators that drop none.
    """

    rows: pa.RecordBatch | None = None
    late: int = 0
    updated: int = 0
    removed: int = 0
    duplicates: int | None = None


class KeyedKernel(Protocol):
    """Keeps state by key (see `graph.Keyed`), for the key buckets it is given. Rows out have the relation's schema."""

    def process(self, input: int, batch: pa.RecordBatch, watermark: int | None) -> Outcome:
        """Take rows of the input with this number, `watermark` being reached: what it has passed is late."""

    def advance(self, watermark: int) -> Outcome:
        """The watermark has come here."""

    def output_watermark(self, watermark: int) -> int:
        """The watermark of the rows out once `advance(watermark)` was called: less, where older rows may still come."""
        return watermark

    def snapshot(self) -> pa.Table:
        """All state. Its first columns are the key columns: they tell which operator owns a row."""

    def changes(self) -> Changes | None:
        """What came since the last snapshot or changes; None: only a snapshot can tell."""
        return None

    def restore(self, state: pa.Table) -> None:
        """Take rows of snapshots and changes in addition to what is held."""

    def start(self, mine: Callable[[pa.RecordBatch], pa.RecordBatch]) -> None:
        """All states are restored, rows will come. `mine` says which rows, by their first columns, belong here."""

    def close(self) -> None:
        """No more rows will come."""

    @property
    def rows(self) -> int:
        """How many rows are held."""

    @property
    def bytes(self) -> int:
        """How much memory they take, of user code's state as it was last saved."""

    def next_timer(self) -> float | None:
        """When `on_time` should be called next, in seconds of processing time; None: not before there are more rows."""
        return None

    def on_time(self, now: float) -> Outcome:
        """That time has come."""
        return Outcome()


def state_types(agg: AggCall) -> tuple[pa.DataType, ...]:
    """The state columns of one aggregate, the same in both tiers; the function's class says what they are."""
    from headway.kernels.aggregates import bind

    return bind(agg).states


def partial_schema(aggregate: Aggregate) -> pa.Schema:
    """The columns of partials: key fields k0, k1, … then state fields a0_0, a1_0, a1_1, …"""
    keys = [pa.field(f"k{i}", arrow_type(key.type)) for i, key in enumerate(aggregate.keys)]
    states = [
        pa.field(f"a{i}_{j}", column)
        for i, agg in enumerate(aggregate.aggs)
        for j, column in enumerate(state_types(agg))
    ]
    return pa.schema(keys + states)
