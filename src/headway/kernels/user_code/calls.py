"""A function of an iterator of batches, called once for many of them: what it sets up at its start is set up once.

1. The function runs in a thread of its own. It has its turn while `give` waits: from a batch on to where it asks for
   the next. So there is never more than one of the two at work.
2. All that it makes of a batch must come before it asks for more: rows that it held back would be late, or lost in a
   failure. If `give` finds that something is missing, it ends the iterator, upon which the function gives what it has;
   the next batch begins another call.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator

import pyarrow as pa

from headway.kernels.user_code.worker import Batches


class _Turns:
    """What both threads see. The function's may not hold on to the call: it would never end."""

    def __init__(self) -> None:
        self.given: deque[pa.RecordBatch] = deque()
        self.made: list[pa.RecordBatch] = []
        self.ending = False
        self.ended = False
        self.error: BaseException | None = None
        self._ours = threading.Semaphore(0)
        self._theirs = threading.Semaphore(0)

    def run(self, compute: Callable[[Batches], Batches]) -> None:
        """In the function's thread, from its first turn to its end."""
        self._theirs.acquire()
        try:
            for batch in compute(self._batches()):
                self.made.append(batch)
        except BaseException as error:
            self.error = error
        self.ended = True
        self._ours.release()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        while True:
            while not self.given:
                if self.ending:
                    return
                self._ours.release()
                self._theirs.acquire()
            yield self.given.popleft()

    def turn(self) -> list[pa.RecordBatch]:
        """Let the function run until it asks for more or ends; what it made."""
        self._theirs.release()
        self._ours.acquire()
        if self.error is not None:
            raise self.error
        made, self.made = self.made, []
        return made

    def abandon(self) -> None:
        """Nobody waits any more."""
        self.ending = True
        self._theirs.release()


class LongCall:
    """See the module. `compute` gives as many rows as it is given."""

    def __init__(self, compute: Callable[[Batches], Batches]) -> None:
        self._compute = compute
        self._turns: _Turns | None = None

    def give(self, pieces: Batches) -> list[pa.RecordBatch]:
        """What the function makes of the pieces of one batch."""
        turns = self._turns or self._begin()
        self._turns = None
        given = list(pieces)
        turns.given.extend(given)
        try:
            made = turns.turn()
            if not turns.ended and _rows(made) == _rows(given):
                self._turns = turns
            elif not turns.ended:
                turns.ending = True
                made += turns.turn()
            return made
        finally:
            if self._turns is None:
                self._at_end.detach()

    def _begin(self) -> _Turns:
        turns = _Turns()
        threading.Thread(target=turns.run, args=(self._compute,), name="headway-user-call", daemon=True).start()
        self._at_end = weakref.finalize(self, turns.abandon)
        return turns


def _rows(batches: list[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in batches)
