"""What kernels of the user's stateful functions share: the keys, their timers, and how rows go in and come out.

1. The state of a key is one object of the user's making, pickled when it is saved: its first columns are the key.
2. Timers are milliseconds of event time, which fire when the watermark has reached them, or of processing time.
3. The time of a call is that of the batch's arrival here, as in Spark a micro-batch has one.
"""

from __future__ import annotations

import heapq
import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.conversion import ArrowBatchTransformer, PandasToArrowConversion
from pyspark.sql.pandas.types import to_arrow_type

from headway.dataflow.types import arrow_schema, arrow_type
from headway.dataflow.user_code import StatefulCode
from headway.kernels.api import KeyedKernel, Outcome
from headway.kernels.event_times import without_late
from headway.kernels.user_code.worker import Settings

Key = tuple[Any, ...]
_STATE = "state"
_NAN = ("NaN",)


class Group:
    """A key: its values as columns hold them and as the user sees them, its state, and its timers (milliseconds)."""

    def __init__(self, key: Key, shown: Key, state: Any) -> None:
        self.key = key
        self.shown = shown
        self.state = state
        self.timers: set[int] = set()


class GroupedCode(KeyedKernel):
    """See the module. A subclass says what the state of a new key is, and calls the user's function."""

    fires_after = 0
    """How many milliseconds after its time a timer fires."""

    def __init__(self, relation: StatefulCode, clock: Callable[[], float] = time.time) -> None:
        self._relation = relation
        self._clock = clock
        self._keys = relation.keys[0]
        below = relation.streams[0].schema
        self.settings = Settings(relation.settings)
        fields = [pa.field(f"k{i}", arrow_type(below[key].type)) for i, key in enumerate(self._keys)]
        self._saved = pa.schema([*fields, pa.field(_STATE, pa.binary())])
        values = [below[at] for at in relation.values]
        self._sent = pa.schema([pa.field(f.name, self.settings.sent_type(f.type)) for f in values])
        self._out = arrow_schema(relation.schema)
        self._result = T.StructType([T.StructField("_0", relation.function.type)])
        self.groups: dict[Key, Group] = {}
        self._due: list[tuple[int, int, Key]] = []
        """A heap of timers; those that their group has not any more are passed over."""
        self._order = 0
        self.current: Group | None = None
        """The key that the user's function is called for."""
        self.now_ms = 0
        self.watermark_ms = 0
        self.in_pandas = True
        self._updated = 0
        self._removed = 0
        self._bytes = 0

    # What a subclass does.

    def fresh(self) -> Any:
        """The state of a key that was not seen before."""
        raise NotImplementedError

    def holds(self, group: Group) -> bool:
        """Whether there is anything to remember of a key."""
        raise NotImplementedError

    def call(self, group: Group, rows: pa.RecordBatch) -> Iterator[Any]:
        """The user's results for rows of a key."""
        raise NotImplementedError

    def fire(self, group: Group, when: int) -> Iterator[Any]:
        """The user's results for a timer, which is still set."""
        raise NotImplementedError

    # The kernel.

    def process(self, input: int, batch: pa.RecordBatch, watermark: int | None) -> Outcome:
        batch, late = without_late(batch, self._relation.time, watermark)
        self._tell_time(watermark)
        made: list[Any] = []
        for group, rows in self._by_key(batch):
            made += self.call(group, rows)
            self._settle(group)
        if self._relation.time_mode == "event":
            made += self._fire(self.watermark_ms)
        return self._outcome(made, late)

    def advance(self, watermark: int) -> Outcome:
        if self._relation.time_mode != "event":
            return Outcome()
        self._tell_time(watermark)
        return self._outcome(self._fire(self.watermark_ms))

    def next_timer(self) -> float | None:
        if self._relation.time_mode != "processing":
            return None
        self._pass_over()
        return (self._due[0][0] + self.fires_after) / 1000 if self._due else None

    def on_time(self, now: float) -> Outcome:
        self._tell_time(None, now)
        return self._outcome(self._fire(self.now_ms))

    def snapshot(self) -> pa.Table:
        self.tidy()
        groups = list(self.groups.values())
        columns = [pa.array([g.key[i] for g in groups], f.type) for i, f in enumerate(list(self._saved)[:-1])]
        states = pa.array([pickle.dumps((g.state, g.timers)) for g in groups], pa.binary())
        table = pa.Table.from_arrays([*columns, states], schema=self._saved)
        self._bytes = table.nbytes
        return table

    def tidy(self) -> None:
        """Let go what is not to be remembered any more."""

    def restore(self, state: pa.Table) -> None:
        for batch in state.combine_chunks().to_batches():
            keys, shown_keys = self._key_rows(batch.columns[:-1])
            for key, shown, saved in zip(keys, shown_keys, batch.column(_STATE).to_pylist(), strict=True):
                group = self.groups[hashable(key)] = Group(key, shown, self.fresh())
                group.state, timers = pickle.loads(saved)
                for when in timers:
                    self.set_timer(group, when)

    @property
    def rows(self) -> int:
        return len(self.groups)

    @property
    def bytes(self) -> int:
        return self._bytes

    # Timers.

    def set_timer(self, group: Group, when: int) -> None:
        group.timers.add(when)
        self._order += 1
        heapq.heappush(self._due, (when, self._order, hashable(group.key)))

    def _pass_over(self) -> None:
        """Drop timers from the front that were deleted."""
        while self._due and not self._is_set(*self._due[0]):
            heapq.heappop(self._due)

    def _is_set(self, when: int, _: int, key: Key) -> bool:
        group = self.groups.get(key)
        return group is not None and when in group.timers

    def _fire(self, now_ms: int) -> list[Any]:
        made: list[Any] = []
        due = []
        while self._due and self._due[0][0] + self.fires_after <= now_ms:
            due.append(heapq.heappop(self._due))
        for timer in due:
            if self._is_set(*timer):
                group = self.groups[timer[2]]
                made += self.fire(group, timer[0])
                self._settle(group)
        return made

    def _tell_time(self, watermark: int | None, now: float | None = None) -> None:
        self.now_ms = int((self._clock() if now is None else now) * 1000)
        if watermark is not None:
            self.watermark_ms = max(self.watermark_ms, watermark // 1000)

    # Rows.

    def _by_key(self, batch: pa.RecordBatch) -> Iterator[tuple[Group, pa.RecordBatch]]:
        if not batch.num_rows:
            return
        keys, shown = self._key_rows([batch.column(key) for key in self._keys], batch.num_rows)
        values = [batch.column(at) for at in self._relation.values]
        cast = [c if c.type == f.type else c.cast(f.type) for c, f in zip(values, self._sent, strict=True)]
        rows = pa.RecordBatch.from_arrays(cast, schema=self._sent)
        places: dict[Key, list[int]] = {}
        for at, key in enumerate(keys):
            places.setdefault(hashable(key), []).append(at)
        for found, mine in places.items():
            group = self.group(keys[mine[0]], shown[mine[0]], found)
            yield group, rows.take(pa.array(mine)) if len(places) > 1 else rows

    def group(self, key: Key, shown: Key, found: Key | None = None) -> Group:
        """The group of a key, made if there is none."""
        at = hashable(key) if found is None else found
        if at not in self.groups:
            self.groups[at] = Group(key, shown, self.fresh())
        return self.groups[at]

    def _settle(self, group: Group) -> None:
        """After a call: what has nothing to remember is forgotten."""
        self._updated += 1
        if not group.timers and not self.holds(group) and self.groups.pop(hashable(group.key), None) is not None:
            self._removed += 1

    def _key_rows(self, columns: list[pa.Array], rows: int = 0) -> tuple[list[Key], list[Key]]:
        """Keys as columns hold them, and as the user's function gets them."""
        if not columns:
            return [()] * max(rows, 1), [()] * max(rows, 1)
        below = self._relation.streams[0].schema
        kinds = [self.settings.sent_type(below[key].type) for key in self._keys]
        sent = [column.cast(kind) for column, kind in zip(columns, kinds, strict=True)]
        shown = [list(series) for series in self.frames(sent)] if self.in_pandas else [c.to_pylist() for c in sent]
        return list(zip(*(c.to_pylist() for c in columns), strict=True)), list(zip(*shown, strict=True))

    def frame(self, rows: pa.RecordBatch) -> Any:
        """Rows as a pandas frame."""
        frame = pd.concat(self.frames(rows.columns), axis=1)
        frame.columns = pd.Index(rows.schema.names)
        return frame

    def frames(self, columns: list[pa.Array]) -> list[Any]:
        """Columns as pandas series, as PySpark's worker makes them."""
        batch = pa.RecordBatch.from_arrays(columns, [f"_{i}" for i in range(len(columns))])
        runner = self.settings.runner
        series: list[Any] = ArrowBatchTransformer.to_pandas(
            batch, timezone=runner.timezone, prefer_int_ext_dtype=runner.prefer_int_ext_dtype
        )
        return series

    def _outcome(self, made: list[Any], late: int = 0) -> Outcome:
        updated, self._updated = self._updated, 0
        removed, self._removed = self._removed, 0
        batches = [batch for batch in self._batches(made) if batch.num_rows]
        if not batches:
            return Outcome(None, late, updated, removed)
        return Outcome(pa.concat_batches(batches), late, updated, removed)

    def _batches(self, made: list[Any]) -> Iterable[pa.RecordBatch]:
        if self.in_pandas:
            return (self._taken(self._from_pandas(frame).flatten()) for frame in made if len(frame))
        returned = to_arrow_type(self._relation.function.type, timezone="UTC")
        return [self._taken(pa.array([row.asDict(True) for row in made], returned).flatten())] if made else []

    def _from_pandas(self, frame: Any) -> pa.Array:
        runner = self.settings.runner
        made = PandasToArrowConversion.convert(
            [frame],
            self._result,
            timezone=runner.timezone,
            safecheck=runner.safecheck,
            arrow_cast=True,
            assign_cols_by_name=runner.assign_cols_by_name,
            int_to_decimal_coercion_enabled=runner.int_to_decimal_coercion_enabled,
        )
        return made.column(0)

    def _taken(self, columns: list[pa.Array]) -> pa.RecordBatch:
        cast = [c if c.type == f.type else c.cast(f.type) for c, f in zip(columns, self._out, strict=True)]
        return pa.RecordBatch.from_arrays(cast, schema=self._out)


def hashable(key: Key) -> Key:
    """Equal for equal keys: NaN is NaN."""
    return tuple(_NAN if isinstance(value, float) and np.isnan(value) else _hashable_value(value) for value in key)


def _hashable_value(value: Any) -> Any:
    return repr(value) if isinstance(value, dict | list) else value
