"""applyInPandasWithState: a function of a key, its rows as pandas frames, and its GroupState.

A key's timeout is forgotten when the function is called for it, unless the function sets it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkRuntimeError, PySparkTypeError
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from headway.dataflow.user_code import GroupsWithState
from headway.kernels.user_code.groups import Group, GroupedCode
from headway.kernels.user_code.variables import Codec
from headway.kernels.user_code.worker import command

_TIMEOUTS = {
    "none": GroupStateTimeout.NoTimeout,
    "processing": GroupStateTimeout.ProcessingTimeTimeout,
    "event": GroupStateTimeout.EventTimeTimeout,
}


class GroupsKernel(GroupedCode):
    """See the module. The state of a key is its value in PySpark's internal form, None if it has none."""

    fires_after = 1

    def __init__(self, relation: GroupsWithState, clock: Callable[[], float] = time.time) -> None:
        super().__init__(relation, clock)
        self._function = command(relation.function)
        self._codec = Codec(relation.state_type)
        self._timeout = _TIMEOUTS[relation.time_mode]
        self._watermarked = relation.watermarked
        self._width = len(relation.schema)

    def fresh(self) -> None:
        return None

    def holds(self, group: Group) -> bool:
        return group.state is not None

    def call(self, group: Group, rows: pa.RecordBatch) -> Iterator[Any]:
        frames = (self.frame(piece) for piece in self.settings.slices(rows))
        return self._call(group, frames, timed_out=False)

    def fire(self, group: Group, when: int) -> Iterator[Any]:
        return self._call(group, [pd.DataFrame(columns=self._sent.names)], timed_out=True)

    def _call(self, group: Group, frames: Iterable[Any], timed_out: bool) -> Iterator[Any]:
        state = self._state_of(group, timed_out)
        group.timers.clear()
        made = self._function(group.shown, frames, state)
        if isinstance(made, pd.DataFrame) or not isinstance(made, Iterable):
            raise _returned("iterable of pandas.DataFrame", type(made).__name__)
        for frame in made:
            yield self._checked(frame)
        group.state = self._codec.encode(state.get) if state.exists else None
        if state._timeout_timestamp != GroupState.NO_TIMESTAMP:
            self.set_timer(group, int(state._timeout_timestamp))

    def _state_of(self, group: Group, timed_out: bool) -> GroupState:
        value = None if group.state is None else self._codec.decode(group.state)
        return GroupState(
            optionalValue=value,
            batchProcessingTimeMs=self.now_ms,
            eventTimeWatermarkMs=self.watermark_ms if self._watermarked else GroupState.NO_TIMESTAMP,
            timeoutConf=self._timeout,
            hasTimedOut=timed_out,
            watermarkPresent=self._watermarked,
            defined=value is not None,
            updated=False,
            removed=False,
            timeoutTimestamp=GroupState.NO_TIMESTAMP,
            keyAsUnsafe=b"",
            valueSchema=self._codec.schema,
        )

    def _checked(self, frame: Any) -> Any:
        if not isinstance(frame, pd.DataFrame):
            raise _returned("iterator of pandas.DataFrame", f"iterator of {type(frame).__name__}")
        if len(frame.columns) != self._width and not (len(frame.columns) == 0 and frame.empty):
            raise PySparkRuntimeError(
                errorClass="RESULT_COLUMN_SCHEMA_MISMATCH",
                messageParameters={"expected": str(self._width), "actual": str(len(frame.columns))},
            )
        return frame


def _returned(expected: str, actual: str) -> PySparkTypeError:
    return PySparkTypeError(errorClass="UDF_RETURN_TYPE", messageParameters={"expected": expected, "actual": actual})
