"""Operators by the priority of their next message.

1. The lowest priority runs next; equal ones in the order in which they were pushed.
2. The re-scheduling grain: an operator that has more to do goes on until its turn has taken so long, then the most
   urgent takes over. If that one is ahead by no more than `steady` times the running one's target, it takes over so
   much later, `LONG` grains at most: to change over costs what is in the processor's cache, and in bulk nobody gains.
   If it is ahead by more, it runs in between, and the turn goes on.
3. Nobody starves. An operator that has waited `patience` starves: it runs although others are more urgent, as long as
   such runs take no more than `share` of the time of the others; it starves on while it has more to do. So an operator
   waits at most

       patience + (n + 1) x longest x (2 + 1 / share)

   where n operators starve before it and no run takes more than `longest`. If the part `steady` of its target is longer
   than `patience`, it has `LEISURE` times as much: dozens of bulk queries that take long turns wait for each other.
4. A query that floods takes nothing from those who keep within their means: a message that is overdue, of a query
   that has had more than an equal part of the time lately used, and far more than somebody else who waits (like
   queries never have like parts to the microsecond), is set back to a full target from now, as
   if it had just come. Whoever is on time goes first. While nobody who waits is on time, the turn of the only worker
   goes on.
5. A run counts for `MEMORY` at most, and a wait that the clock went back in counts as if it had not: what else looks
   long is a jump of the clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from math import exp, inf
from typing import Any

from headway.scheduling.api import Turns
from headway.scheduling.contexts import PriorityContext

GRAIN = 0.001
LONG = 100
PATIENCE = 1.0
LEISURE = 10
SHARE = 0.05
MEMORY = 1.0
"""Seconds over which the time that a query has had is remembered."""
FAR_MORE = 1.5
LEAST_HOLDS = 0.02
FORGOTTEN = 1e-6
"""Seconds; who has had less lately need not be remembered."""
MOST_FADES = 200.0
"""Multiples of `MEMORY` after which everything is weighed anew."""
IDLE = 0.2
"""Who has had a part of less than so many of these seconds, per worker, does not flood: there is time enough."""


class _Usage:
    """The time that queries have had, and that all of them have had, fading.

    What is new weighs more instead: so nothing that was has to be looked at again.
    """

    __slots__ = ("_all", "_base", "_had", "_most", "_weighed", "_weight")

    def __init__(self) -> None:
        self._had: dict[Hashable, float] = {}
        self._all = 0.0
        self._most = 64
        self._base = self._weighed = 0.0
        self._weight = 1.0

    def add(self, query: Hashable, seconds: float, now: float) -> None:
        weighed = seconds * self._weight_at(now)
        self._had[query] = self._had.get(query, 0.0) + weighed
        self._all += weighed
        if len(self._had) > self._most:
            self._had = {query: had for query, had in self._had.items() if had > self._weight * FORGOTTEN}
            self._most = 2 * len(self._had) + 64

    def of(self, query: Hashable, now: float) -> float:
        return self._had.get(query, 0.0) / self._weight_at(now)

    def of_all(self, now: float) -> float:
        return self._all / self._weight_at(now)

    def _weight_at(self, now: float) -> float:
        """What counts once now. A clock that went back makes nothing fade until it is there again."""
        if now > self._weighed:
            self._weighed = now
            since = (now - self._base) / MEMORY
            if since > MOST_FADES:
                self._begin_again(now, since)
                since = 0.0
            self._weight = exp(since)
        return self._weight

    def _begin_again(self, now: float, since: float) -> None:
        """Weigh everything anew, before numbers get too large."""
        self._base = now
        faded = exp(-min(since, 2 * MOST_FADES))
        self._had = {query: had * faded for query, had in self._had.items()}
        self._all *= faded


def _far_ahead(first: list[Any], priority: float, allowed: float) -> bool:
    """Whether the first entry is ahead of the running operator by more than that one may go on for; all that has a
    target is, if the running one has none."""
    return bool(first[0] < priority - allowed if allowed < inf else first[0] < priority)


class PriorityQueue:
    """See the module. `patience` infinite: no prevention of starvation; `floods` False: none of floods.

    >>> def context(priority, query): return PriorityContext(0, priority, None, 0.0, 1.0, query)
    >>> queue = PriorityQueue()
    >>> queue.push("b", context(9.0, "B"), arrival=1, now=0.0)
    >>> queue.push("a", context(8.0, "A"), arrival=2, now=0.0)
    >>> queue.pop(now=0.0)
    'a'
    """

    def __init__(
        self,
        grain: float = GRAIN,
        patience: float = PATIENCE,
        share: float = SHARE,
        floods: bool = True,
        workers: int = 1,
        steady: float = 0.0,
    ) -> None:
        self._grain = grain
        self._steady = steady
        self._patience = patience
        self._share = share
        self._floods = floods
        self._workers = workers
        self._heap: list[list[Any]] = []
        """[priority, rank, operator, query, latency, steady]; operator None: taken or pushed again; latency infinite:
        is not to be set back."""
        self._entries: dict[Any, list[Any]] = {}
        self._waiting: dict[Any, float] = {}
        """Until when each operator waits patiently that does not starve, the first first."""
        self._at_leisure: dict[Any, float] = {}
        """The same of those with more patience."""
        self._starving: dict[Any, None] = {}
        """The others, in the order of their runs."""
        self._turns = Turns()
        self._queries: dict[Hashable, int] = {}
        """How many operators of each query wait."""
        self._usage = _Usage()
        self._least = (-inf, 0.0)
        self._running: dict[int, tuple[float, Hashable, bool]] = {}
        """Per worker that runs one: when it began, its query, and whether it ran out of turn."""
        self._out_of_turn: set[Any] = set()
        self._budget = 0.0
        """Time that operators which starve may take."""
        self._number = 0
        self._latest = -inf
        self._goes_on: Any = None
        """The operator that runs, if it may go on: the only worker's."""
        self._at_hand: tuple[Any, PriorityContext, float] | None = None
        """That operator with what it would do next, and since when: most go on, and need not wait among the others."""

    def __len__(self) -> int:
        return len(self._entries) + (self._at_hand is not None)

    def push(
        self, operator: Any, context: PriorityContext, arrival: int, now: float, worker: int | None = None
    ) -> None:
        if operator is self._goes_on and operator not in self._entries:
            if self._at_hand is not None:
                self._leaves(self._at_hand[1].query)
            self._comes(context.query)
            self._at_hand = (operator, context, now)
            return
        self._enter(operator, context, now)

    def _enter(self, operator: Any, context: PriorityContext, now: float) -> None:
        priority, query = context.priority, context.query
        latency = context.latency if self._floods and priority > -inf else inf
        before = self._entries.get(operator)
        if before is None:
            self._wait(operator, context.latency * self._steady > self._patience, now)
        else:
            before[2] = None
            self._leaves(before[3])
            if before[4] == inf > latency:  # it stays set back until it runs
                priority, latency = max(priority, before[0]), inf
        self._number += 1
        entry = [priority, self._rank(operator, context), operator, query, latency, context.latency * self._steady]
        self._comes(query)
        self._entries[operator] = entry
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._entries) + 64:
            self._heap = [kept for kept in self._heap if kept[2] is not None]
            heapq.heapify(self._heap)

    def _rank(self, operator: Any, context: PriorityContext) -> Any:
        """What orders operators of equal priority."""
        return self._number

    def _wait(self, operator: Any, at_leisure: bool, now: float) -> None:
        if operator in self._out_of_turn:
            self._starving[operator] = None
        elif at_leisure:
            self._at_leisure[operator] = now + LEISURE * self._patience
        else:
            self._waiting[operator] = now + self._patience

    def _comes(self, query: Hashable) -> None:
        self._queries[query] = self._queries.get(query, 0) + 1

    def _leaves(self, query: Hashable) -> None:
        left = self._queries[query] - 1
        if left:
            self._queries[query] = left
        else:
            del self._queries[query]

    def pop(self, now: float, worker: int = 0) -> Any | None:
        if now < self._latest:
            for waiting in (self._waiting, self._at_leisure):
                waiting.update({operator: until - (self._latest - now) for operator, until in waiting.items()})
        self._latest = now
        if self._at_hand is not None:
            operator, context, since = self._at_hand
            goes_on = self._may_go_on(operator, context, now, worker)
            self._at_hand = None
            self._leaves(context.query)
            if goes_on:
                self._running[worker] = (now, context.query, False)
                return operator
            self._enter(operator, context, since)
        entry = self._longest_starving(now)
        out_of_turn = entry is not None
        if entry is None:
            entry = self._next(now, worker)
        if entry is None:
            return None
        operator, query = entry[2], entry[3]
        self._take(entry)
        if out_of_turn:
            self._turns.end(worker)
            self._out_of_turn.add(operator)
        self._goes_on = None if out_of_turn or self._workers > 1 else operator
        self._running[worker] = (now, query, out_of_turn)
        return operator

    def _may_go_on(self, operator: Any, context: PriorityContext, now: float, worker: int) -> bool:
        """Whether it is still this operator's turn; False if that needs a closer look."""
        turns, grain = self._turns, self._grain
        if turns.going_on(now, worker, LONG * grain if self._steady else grain) is not operator:
            return False
        if self._longest_starving(now) is not None:
            return False
        taken, allowed = turns.taken(now, worker), context.latency * self._steady
        if taken < grain:
            return True
        if not taken < grain + allowed:
            return False
        first = self._first(now)
        if first is None:
            return True
        if _far_ahead(first, context.priority, allowed):
            return False
        on_time = first[0] >= now and first[4] < inf
        return not (on_time and self._floods and context.priority < now and self._flooding(context.query, now))

    def _longest_starving(self, now: float) -> list[Any] | None:
        if self._budget <= 0.0:
            return None
        for waiting in (self._waiting, self._at_leisure):
            while waiting:
                operator, until = next(iter(waiting.items()))
                if now <= until:
                    break
                del waiting[operator]
                self._starving[operator] = None
        return self._entries[next(iter(self._starving))] if self._starving else None

    def _next(self, now: float, worker: int) -> list[Any] | None:
        """Whose turn it is, or who runs in between."""
        turns, grain = self._turns, self._grain
        entry = self._entries.get(turns.going_on(now, worker, LONG * grain if self._steady else grain))
        if entry is not None:
            taken = turns.taken(now, worker)
            if taken < grain:
                return entry
            first = self._first(now)
            assert first is not None
            if taken < grain + entry[5]:
                return first if _far_ahead(first, entry[0], entry[5]) else entry
            turns.end(worker)
        else:
            first = self._first(now)
        if first is not None:
            turns.run(first[2], now, worker)
        return first

    def _first(self, now: float) -> list[Any] | None:
        heap = self._heap
        while heap:
            entry = heap[0]
            if entry[2] is None:
                heapq.heappop(heap)
            elif entry[0] < now and entry[4] < inf and self._flooding(entry[3], now):
                entry[0] = now + entry[4]
                entry[4] = inf
                heapq.heapreplace(heap, entry)
            else:
                return entry
        return None

    def _flooding(self, query: Hashable, now: float) -> bool:
        waiting = len(self._queries)
        if waiting == 1:
            return False
        usage = self._usage
        had = usage.of(query, now)
        if had * waiting <= max(usage.of_all(now), IDLE * self._workers):
            return False
        return had > FAR_MORE * self._least_had(now)

    def _least_had(self, now: float) -> float:
        """The time that the one of the queries has had that has had least, of those that waited a moment ago."""
        at, least = self._least
        if not at <= now < at + LEAST_HOLDS:
            least = min(self._usage.of(query, now) for query in self._queries)
            self._least = (now, least)
        return least

    def _take(self, entry: list[Any]) -> None:
        operator = entry[2]
        entry[2] = None
        del self._entries[operator]
        for waiting in (self._waiting, self._at_leisure, self._starving):
            waiting.pop(operator, None)
        self._leaves(entry[3])
        if self._heap[0] is entry:
            heapq.heappop(self._heap)

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        began, query, out_of_turn = self._running.pop(worker)
        seconds = min(max(0.0, now - began), MEMORY)
        self._usage.add(query, seconds, now)
        if out_of_turn:
            self._out_of_turn.discard(operator)
            self._budget -= seconds
        else:
            credit = self._share * seconds
            # What nobody needed is not saved up: who starves later may take no more than a grain at once.
            self._budget = min(self._budget + credit, max(self._grain, credit))
