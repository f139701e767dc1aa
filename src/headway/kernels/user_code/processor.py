"""transformWithState and transformWithStateInPandas: a StatefulProcessor of the user's, called in this process.

1. The processor is made ready once, when its operator is built, and closed with it; Spark does both for every
   partition of every micro-batch.
2. The initial state comes first, for every key of it that no checkpoint knows; such a key is remembered for good, so
   that it comes once.
3. What is over its time to live is gone for the processor at once, and from memory at the next checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkRuntimeError, PySparkValueError
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    ListState,
    MapState,
    StatefulProcessorHandle,
    TimerValues,
    ValueState,
)
from pyspark.util import PythonEvalType

from headway.dataflow.user_code import TransformWithState
from headway.kernels.user_code.groups import Group, GroupedCode, hashable
from headway.kernels.user_code.variables import ListVariable, MapVariable, ValueVariable, Variable
from headway.kernels.user_code.worker import command

_IN_PANDAS = (
    PythonEvalType.SQL_TRANSFORM_WITH_STATE_PANDAS_UDF,
    PythonEvalType.SQL_TRANSFORM_WITH_STATE_PANDAS_INIT_STATE_UDF,
)
Mine = Callable[[pa.RecordBatch], pa.RecordBatch]


class ProcessorKernel(GroupedCode):
    """See the module. The state of a key is a dict: of every variable that has a value, the value."""

    def __init__(self, relation: TransformWithState, clock: Callable[[], float] = time.time) -> None:
        super().__init__(relation, clock)
        self._initial = relation.initial
        self._initial_schema = relation.initial_schema
        self.in_pandas = relation.eval_type in _IN_PANDAS
        self.time_mode = relation.time_mode
        self.variables: dict[str, Variable] = {}
        self._first: set[Any] = set()
        """Keys of the initial state."""
        self._processor = command(relation.function).__self__._stateful_processor  # type: ignore[attr-defined]
        self._processor.init(Handle(self, dict(relation.schemas)))

    def fresh(self) -> dict[str, Any]:
        return {}

    def holds(self, group: Group) -> bool:
        return bool(group.state) or hashable(group.key) in self._first

    def start(self, mine: Mine) -> None:
        if self._initial is None:
            return
        self._tell_time(None)
        for batch in self._initial.table.combine_chunks().to_batches():
            self._begin(mine(batch))

    def _begin(self, batch: pa.RecordBatch) -> None:
        """Hand over the rows of the initial state, key by key."""
        keys, shown = self._key_rows(batch.columns[: len(self._keys)], batch.num_rows)
        fields = self._initial_schema[len(self._keys) :]
        sent = pa.schema([pa.field(f.name, self.settings.sent_type(f.type)) for f in fields])
        cast = [c.cast(f.type) for c, f in zip(batch.columns[len(self._keys) :], sent, strict=True)]
        rows = pa.RecordBatch.from_arrays(cast, schema=sent)
        known = set(self.groups)
        places: dict[Any, list[int]] = {}
        for at, key in enumerate(keys):
            places.setdefault(hashable(key), []).append(at)
        for key, mine in places.items():
            self._first.add(key)
            group = self.group(keys[mine[0]], shown[mine[0]], key)
            if key not in known:
                for row in self._given(rows.take(pa.array(mine))):
                    self.current = group
                    self._processor.handleInitialState(group.shown, row, self._timer_values())

    def call(self, group: Group, rows: pa.RecordBatch) -> Iterator[Any]:
        self.current = group
        yield from self._made(self._processor.handleInputRows(group.shown, self._given(rows), self._timer_values()))
        self.current = None

    def fire(self, group: Group, when: int) -> Iterator[Any]:
        self.current = group
        fired = ExpiredTimerInfo(when)
        yield from self._made(
            self._processor.handleExpiredTimer(
                key=group.shown, timerValues=self._timer_values(), expiredTimerInfo=fired
            )
        )
        group.timers.discard(when)
        self.current = None

    def tidy(self) -> None:
        self._tell_time(None)
        for group in list(self.groups.values()):
            for name, held in list(group.state.items()):
                left = self.variables[name].tidied(held) if name in self.variables else held
                if left is None:
                    del group.state[name]
                else:
                    group.state[name] = left
            if not group.timers and not self.holds(group):
                del self.groups[hashable(group.key)]

    def close(self) -> None:
        with suppress(Exception):  # the query has ended, or failed of something else
            self._processor.close()

    def _given(self, rows: pa.RecordBatch) -> Iterator[Any]:
        """Rows as the processor takes them."""
        if not self.in_pandas:
            row = T.Row(*rows.schema.names)
            return (row(*values) for values in zip(*(c.to_pylist() for c in rows.columns), strict=True))
        return (self.frame(piece) for piece in self.settings.slices(rows))

    def _made(self, results: Any) -> Iterator[Any]:
        for result in results or ():
            if self.in_pandas and not isinstance(result, pd.DataFrame):
                raise PySparkValueError(
                    "Invalid return type. Please make sure that the UDF returns a pandas.DataFrame when the specified "
                    "return type is StructType."
                )
            yield result

    def _timer_values(self) -> TimerValues:
        if self.time_mode == "none":
            return TimerValues(-1, -1)
        return TimerValues(self.now_ms, self.watermark_ms)


class Handle(StatefulProcessorHandle):  # type: ignore[misc]
    """What the processor's `init` gets. `schemas` has, as JSON, those that it writes as DDL."""

    def __init__(self, kernel: ProcessorKernel, schemas: Mapping[str, str]) -> None:
        self._kernel = kernel
        self._schemas = schemas

    def getValueState(self, stateName: str, schema: T.StructType | str, ttlDurationMs: int | None = None) -> ValueState:
        made = ValueVariable(self._kernel, stateName, self._schema(schema), self._ttl(ttlDurationMs))
        return self._kernel.variables.setdefault(stateName, made)

    def getListState(self, stateName: str, schema: T.StructType | str, ttlDurationMs: int | None = None) -> ListState:
        made = ListVariable(self._kernel, stateName, self._schema(schema), self._ttl(ttlDurationMs))
        return self._kernel.variables.setdefault(stateName, made)

    def getMapState(
        self,
        stateName: str,
        userKeySchema: T.StructType | str,
        valueSchema: T.StructType | str,
        ttlDurationMs: int | None = None,
    ) -> MapState:
        schemas = self._schema(userKeySchema), self._schema(valueSchema)
        made = MapVariable(self._kernel, stateName, *schemas, self._ttl(ttlDurationMs))
        return self._kernel.variables.setdefault(stateName, made)

    def registerTimer(self, expiryTimestampMs: int) -> None:
        self._kernel.set_timer(self._timed("register_timer"), expiryTimestampMs)

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        self._timed("delete_timer").timers.discard(expiryTimestampMs)

    def listTimers(self) -> Iterator[int]:
        return iter(sorted(self._timed("list_timers").timers))

    def deleteIfExists(self, stateName: str) -> None:
        self._kernel.variables.pop(stateName, None)
        for group in self._kernel.groups.values():
            group.state.pop(stateName, None)

    def _schema(self, schema: T.StructType | str) -> T.StructType:
        if isinstance(schema, T.StructType):
            return schema
        parsed = T._parse_datatype_json_string(self._schemas[schema])
        assert isinstance(parsed, T.StructType)
        return parsed

    def _ttl(self, duration: int | None) -> int | None:
        if duration is not None and self._kernel.time_mode != "processing":
            raise PySparkRuntimeError("a state with a time to live needs timeMode ProcessingTime")
        return duration

    def _timed(self, operation: str) -> Group:
        if self._kernel.time_mode == "none":
            raise PySparkRuntimeError(
                f"[STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE] {operation} needs timeMode "
                "ProcessingTime or EventTime"
            )
        if self._kernel.current is None:
            raise PySparkRuntimeError(f"{operation} is for a key: call it where a key is given")
        return self._kernel.current
