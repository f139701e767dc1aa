"""State of one's own for what SQL cannot write for a stream: an auction's highest bid, told when it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

cloudpickle.register_pickle_by_value(sys.modules[__name__])

RESULT = "auction bigint, seller bigint, category bigint, expires_us bigint, bidder bigint, price bigint, at_us bigint"
NAMES = [column.split()[0] for column in RESULT.split(", ")]


class Winning(StatefulProcessor):
    """Rows of an auction are its own, which has `expires_us`, and its bids. A bid that comes before its auction waits
    for it. Of equal prices the earliest bid wins."""

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._open = handle.getValueState("open", "opened_us bigint, expires_us bigint, seller bigint, category bigint")
        self._best = handle.getValueState("best", "price bigint, at_us bigint, bidder bigint")
        self._early = handle.getListState("early", "price bigint, at_us bigint, bidder bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        bids = []
        open_ = self._open.get()
        for row in rows:
            if row.expires_us is None:
                bids.append((row.price, row.at_us, row.bidder))
            else:
                open_ = (row.at_us, row.expires_us, row.seller, row.category)
                self._open.update(open_)
                self._handle.registerTimer(row.expires_us // 1000 + 1)
                bids += [tuple(bid) for bid in self._early.get()]
                self._early.clear()
        if open_ is None:
            self._early.appendList(bids)
        else:
            self._compare(bids, *open_[:2])
        return iter(())

    def _compare(self, bids: list[Any], opened: int, expires: int) -> None:
        valid = [bid for bid in bids if opened <= bid[1] <= expires]
        if valid:
            before = self._best.get()
            self._best.update(max(valid if before is None else [tuple(before), *valid], key=lambda b: (b[0], -b[1])))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        best, (_, expires, seller, category) = self._best.get(), self._open.get()
        for state in (self._open, self._best, self._early):
            state.clear()
        if best is not None:
            price, at, bidder = best
            yield Row(**dict(zip(NAMES, (key[0], seller, category, expires, bidder, price, at), strict=True)))

    def close(self) -> None:
        pass
