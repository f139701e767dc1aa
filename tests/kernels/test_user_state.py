"""Functions of the user's that keep state, kernel by kernel, with a clock that the test sets: timers, timeouts, time to
live, saving and taking up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import Row
from pyspark.sql import types as T
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils
from pyspark.util import PythonEvalType

from headway.dataflow.expr import Column
from headway.dataflow.graph import Source, StaticTable
from headway.dataflow.types import Field, arrow_schema
from headway.dataflow.user_code import GroupsWithState, TransformWithState, UserFunction
from headway.kernels.user_code.group_state import GroupsKernel
from headway.kernels.user_code.groups import GroupedCode
from headway.kernels.user_code.processor import ProcessorKernel

INPUT = (Field("k", T.DoubleType()), Field("v", T.LongType()))
OUTPUT = T.StructType().add("k", "double").add("n", "long")
SETTINGS = (
    ("spark.sql.execution.arrow.maxRecordsPerBatch", "2"),
    ("spark.sql.session.timeZone", "UTC"),
)
VALUE = T.StructType().add("n", "long")


class Clock:
    """Milliseconds that the test sets."""

    def __init__(self) -> None:
        self.ms = 1_000

    def __call__(self) -> float:
        return self.ms / 1000


def rows(*pairs: tuple[float | None, int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"k": k, "v": v} for k, v in pairs], arrow_schema(INPUT))


def function(command: Any) -> UserFunction:
    args = tuple(Column(f.type, i) for i, f in enumerate(INPUT))
    return UserFunction("f", (cloudpickle.dumps((command, OUTPUT)),), args, (None, None), OUTPUT)


def groups(command: Any, mode: str, clock: Clock) -> GroupsKernel:
    relation = GroupsWithState(
        schema=tuple(Field(f.name, f.dataType) for f in OUTPUT.fields),
        streams=(Source(INPUT, "test", ()),),
        keys=((0,),),
        eval_type=PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF_WITH_STATE,
        settings=SETTINGS,
        function=function(command),
        values=(0, 1),
        time=None,
        time_mode=mode,
        state_type=VALUE,
        watermarked=False,
    )
    return GroupsKernel(relation, clock)


def processor(made: StatefulProcessor, mode: str, clock: Clock, initial: pa.Table | None = None) -> ProcessorKernel:
    utils = TransformWithStateInPandasUdfUtils(made, mode)
    relation = TransformWithState(
        schema=tuple(Field(f.name, f.dataType) for f in OUTPUT.fields),
        streams=(Source(INPUT, "test", ()),),
        keys=((0,),),
        eval_type=PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF,
        settings=SETTINGS,
        function=function(utils.transformWithStateUDF),
        values=(0, 1),
        time=None,
        time_mode=mode.lower().removesuffix("time"),
        schemas=(("n long", VALUE.json()),),
        initial=None if initial is None else StaticTable("initial", initial),
        initial_schema=(INPUT[0], *INPUT) if initial is not None else (),
    )
    return ProcessorKernel(relation, clock)


def told(outcome: Any) -> list[tuple[Any, ...]]:
    return [] if outcome.rows is None else [tuple(row.values()) for row in outcome.rows.to_pylist()]


def again(kernel: GroupedCode, fresh: GroupedCode) -> GroupedCode:
    """`fresh` with the state of `kernel`."""
    fresh.restore(kernel.snapshot())
    return fresh


def test_rows_of_a_key_come_together_in_pieces_of_the_size_asked_for() -> None:
    def sizes(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.DataFrame({"k": [key[0]], "n": [len(frame)]})

    kernel = groups(sizes, "none", Clock())
    batch = rows((1, 1), (2, 1), (1, 2), (1, 3), (None, 1), (float("nan"), 1), (float("nan"), 2))
    found = Counter(map(str, told(kernel.process(0, batch, None))))
    assert found == Counter(["(1.0, 2)", "(1.0, 1)", "(2.0, 1)", "(None, 1)", "(None, 2)"])
    assert kernel.rows == 0  # it updated no state


def test_a_timeout_is_set_anew_by_every_call_or_forgotten() -> None:
    def idle(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        if state.hasTimedOut:
            (n,) = state.get
            yield pd.DataFrame({"k": [key[0]], "n": [-n]})
            assert sum(map(len, frames)) == 0
            if n == 2:
                state.remove()
            return
        n = (state.getOption or (0,))[0] + sum(map(len, frames))
        state.update((np.int64(n),))
        state.setTimeoutDuration(500)
        yield pd.DataFrame({"k": [key[0]], "n": [n]})

    clock = Clock()
    kernel = groups(idle, "processing", clock)
    assert told(kernel.process(0, rows((1, 1), (2, 1)), None)) == [(1.0, 1), (2.0, 1)]
    assert kernel.next_timer() == 1.501
    clock.ms = 1_400
    assert told(kernel.process(0, rows((1, 1)), None)) == [(1.0, 2)]
    kernel = again(kernel, groups(idle, "processing", clock))  # type: ignore[assignment]
    assert told(kernel.on_time(1.5)) == []
    assert told(kernel.on_time(1.501)) == [(2.0, -1)]
    assert kernel.next_timer() == 1.901
    assert told(kernel.on_time(2.0)) == [(1.0, -2)]
    assert (kernel.next_timer(), kernel.rows) == (None, 1)


class Timed(StatefulProcessor):
    """Values that live for a second, and a timer 300 ms after a row."""

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._last = handle.getValueState("last", "n long", 1000)
        self._list = handle.getListState("list", VALUE, 1000)
        self._map = handle.getMapState("map", VALUE, VALUE, 1000)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        now = timerValues.getCurrentProcessingTimeInMs()
        for row in rows:
            self._last.update((row.v,))
            self._list.appendValue((row.v,))
            self._map.updateValue((row.v,), (row.v,))
        self._handle.registerTimer(now + 300)
        self._handle.registerTimer(now + 600)
        self._handle.deleteTimer(now + 600)
        yield from self._held(key)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        yield Row(k=key[0], n=-expiredTimerInfo.getExpiryTimeInMs())
        yield from self._held(key)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:
        self._list.put([(initialState.v,)])

    def _held(self, key: Any) -> Iterator[Row]:
        for held in (self._last.get(), *self._list.get(), *self._map.values()):
            if held is not None:
                yield Row(k=key[0], n=held[0])

    def close(self) -> None:
        pass


def test_values_live_as_long_as_they_may() -> None:
    clock = Clock()
    kernel = processor(Timed(), "ProcessingTime", clock)
    assert told(kernel.process(0, rows((1, 5)), None)) == [(1.0, 5)] * 3
    clock.ms = 1_900
    kernel = again(kernel, processor(Timed(), "ProcessingTime", clock))  # type: ignore[assignment]
    assert kernel.next_timer() == 1.3
    assert told(kernel.process(0, rows((1, 6)), None)) == [(1.0, n) for n in (6, 5, 6, 5, 6)]
    assert told(kernel.on_time(2.0)) == [(1.0, -1300), *[(1.0, 6)] * 3]
    assert kernel.next_timer() == 2.2
    clock.ms = 2_950
    assert told(kernel.on_time(2.95)) == [(1.0, -2200)]
    assert kernel.snapshot().num_rows == 0


def test_the_initial_state_comes_once() -> None:
    schema = pa.schema([("k0", pa.float64()), ("k", pa.float64()), ("v", pa.int64())])
    initial = pa.Table.from_pylist([{"k0": 1.0, "k": 1.0, "v": 7}, {"k0": 2.0, "k": 2.0, "v": 8}], schema)
    clock = Clock()
    kernel = processor(Timed(), "ProcessingTime", clock, initial)
    kernel.start(lambda batch: batch.slice(0, 1))
    assert told(kernel.process(0, rows((1, 5), (2, 5)), None)) == [(1.0, n) for n in (5, 7, 5, 5)] + [(2.0, 5)] * 3
    clock.ms = 9_000
    kernel = again(kernel, processor(Timed(), "ProcessingTime", clock, initial))  # type: ignore[assignment]
    kernel.start(lambda batch: batch.slice(0, 1))
    assert told(kernel.process(0, rows((1, 6)), None)) == [(1.0, 6)] * 3


def test_timers_and_times_to_live_need_a_time_mode() -> None:
    with pytest.raises(PySparkRuntimeError, match="time to live needs timeMode ProcessingTime"):
        processor(Timed(), "EventTime", Clock())


class Forgetful(Timed):
    """Has a timer where there is no time."""

    def init(self, handle: Any) -> None:
        self._handle = handle

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        assert timerValues.getCurrentProcessingTimeInMs() == -1
        self._handle.registerTimer(1)
        yield Row(k=key[0], n=0)


def test_timers_need_a_time_mode() -> None:
    kernel = processor(Forgetful(), "None", Clock())
    with pytest.raises(PySparkRuntimeError, match="WITH_INVALID_TIME_MODE"):
        kernel.process(0, rows((1, 1)), None)
