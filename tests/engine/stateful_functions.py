"""Functions of the user's that keep state, for tests; what is pickled must not need this file where it is unpickled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.state import GroupState

cloudpickle.register_pickle_by_value(sys.modules[__name__])

OUTPUT = "k string, what string, n long"


def counted(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Counts rows; ten seconds of event time after the last one of a key, says how many there were."""
    if state.hasTimedOut:
        (count, last) = state.get
        state.remove()
        yield pd.DataFrame({"k": [key[0]], "what": ["over"], "n": [count]})
        return
    count, last = state.getOption or (0, 0)
    for frame in frames:
        count += len(frame)
        last = max(last, int(frame["ts"].max().timestamp()))
    state.update((count, last))
    state.setTimeoutTimestamp(max(last * 1000, state.getCurrentWatermarkMs()) + 10_000)
    yield pd.DataFrame()
    yield pd.DataFrame({"k": [key[0]], "what": ["so far"], "n": [count]})


class Remembering(StatefulProcessor):
    """Keeps a count, a list and a map, and has a timer ten seconds of event time after the first row."""

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._count = handle.getValueState("count", "n long")
        self._seen = handle.getListState("seen", "v long")
        self._kinds = handle.getMapState("kinds", "kind string", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count = self._count.get()[0] if self._count.exists() else 0
        for row in rows:
            count += 1
            self._seen.appendValue((row.v,))
            kind = ("odd" if row.v % 2 else "even",)
            before = self._kinds.getValue(kind)
            self._kinds.updateValue(kind, ((before[0] if before else 0) + 1,))
            if count == 1:
                self._handle.registerTimer(int(row.ts.timestamp()) * 1000 + 10_000)
        self._count.update((count,))
        yield Row(k=key[0], what="count", n=count)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        yield Row(k=key[0], what="sum", n=sum(v for (v,) in self._seen.get()))
        for (kind,), (n,) in self._kinds.iterator():
            yield Row(k=key[0], what=kind, n=n)
        yield Row(k=key[0], what="timers", n=len(list(self._handle.listTimers())))
        for state in (self._count, self._seen, self._kinds):
            state.clear()

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        self._count.update((initialState.n,))

    def close(self) -> None:
        pass


class InPandas(Remembering):
    """The same, with frames."""

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        every = (Row(v=int(row.v), ts=row.ts) for frame in rows for row in frame.itertuples())
        yield pd.DataFrame([row.asDict() for row in super().handleInputRows(key, every, timerValues)])

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        made = super().handleExpiredTimer(key, timerValues, expiredTimerInfo)
        yield pd.DataFrame([row.asDict() for row in made])

    def handleInitialState(self, key: Any, initialState: pd.DataFrame, timerValues: Any) -> None:
        self._count.update((int(initialState["n"].sum()),))


class Forgetting(StatefulProcessor):
    """Keeps values for a millisecond."""

    def init(self, handle: Any) -> None:
        self._count = handle.getValueState("count", "n long", ttlDurationMs=1)
        self._seen = handle.getListState("seen", "v long", ttlDurationMs=1)
        self._kinds = handle.getMapState("kinds", "kind string", "n long", ttlDurationMs=1)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        values = [row.v for row in rows]
        self._count.update((len(values),))
        self._seen.appendList([(value,) for value in values])
        self._kinds.updateValue(("all",), (len(values),))
        yield Row(k=key[0], what="count", n=len(values))

    def close(self) -> None:
        pass
