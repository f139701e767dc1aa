"""Operators by a priority that is computed from their state, in epochs.

1. The highest priority runs next; equal ones in the order in which they were pushed. All priorities are computed anew
   when an epoch begins, an operator's own also when it has run: the loop acts on no stale state.
2. An operator runs until it has taken as many rows as its turn allows; nothing interrupts it.
3. Operators that are not eligible are passed over. If none is, `pop` gives None and `wakes` tells when to ask again: by
   the next epoch.
4. A source that was not read for longer than the queue's patience goes first when an epoch begins, if as many turns of
   others have begun meanwhile as operators wait. After a long run all have waited for long: what it led to goes on
   first. What is in flight has `INNER` times as much patience: else the windows of many queries that end together would
   all be begun before any is finished.
5. An epoch is longer where many operators wait, so that ranking them stays a small part of it.
6. A run that leaves something waiting at another operator ends the turn, and that operator is eligible. A node hands
   rows on at once, while they are in the processor's cache, but not past what waits: a source would fill a queue.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from headway.scheduling.contexts import PriorityContext
from headway.scheduling.flow import Flow, flow_of

PERIOD = 0.02
"""Seconds. A turn ends with its epoch at the latest, and to change to another query has a cost: with the 1 ms of the
paper, nodes that have all they can take read a twentieth less."""
RANKING = 20e-6
"""The least length of an epoch per operator that waits."""
INNER = 20.0
"""How many times as much patience operators have that are no sources."""
_Entry = tuple[float, int, int, Any, Flow, int]
"""How it ranks: the priority and the place in the query, both negative, and the number of its push, which no other has;
then the operator and its flow, and how many turns began before it was pushed."""


@dataclass(slots=True)
class _Turn:
    """Until how many rows a worker's operator has taken in all; how many it had taken before its last run."""

    until: int
    taken: int = 0


class Ranking(Protocol):
    """What a policy has to say of operators."""

    def priority(self, flow: Flow) -> float:
        """The higher, the sooner."""

    def eligible(self, flow: Flow, now: float) -> bool:
        """Whether an operator that could run shall."""

    def eligible_from(self, flow: Flow) -> float:
        """When one that is not will be, though nothing comes."""

    def rows(self, flow: Flow, left: float) -> int:
        """How many rows an operator may take in a turn that begins so long before the epoch's end."""


class StateQueue:
    """See the module."""

    def __init__(self, ranking: Ranking, period: float = PERIOD, patience: float = inf) -> None:
        self._ranking = ranking
        self._period = period
        self._patience = patience
        self._order: list[_Entry] = []
        self._entries: dict[Any, _Entry] = {}
        self._running: dict[Any, float] = {}
        """Operators that run, and when that began."""
        self._again: dict[Any, int] = {}
        """Those that have more to do after it, with the numbers of their pushes."""
        self._at_hand: dict[int, _Entry] = {}
        """Per worker, one whose turn goes on: it need not be ranked among the others, so its priority tells nothing."""
        self._turns: dict[int, _Turn] = {}
        self._handed: set[Any] = set()
        """Operators at which a run has left something."""
        self._epoch = (-inf, -inf)
        """When it began and ends."""
        self._priorities: dict[Any, float] = {}
        """Of this epoch, as far as they were asked for."""
        self._number = 0
        self.decisions = 0
        """Turns that began."""

    def __len__(self) -> int:
        return len(self._entries) + len(self._again) + len(self._at_hand)

    def push(
        self, operator: Any, context: PriorityContext, arrival: int, now: float, worker: int | None = None
    ) -> None:
        if operator in self._entries or operator in self._again or (self._at_hand and self._is_at_hand(operator)):
            return
        self._number += 1
        if operator in self._running:
            self._again[operator] = self._number
            return
        self._add(operator, self._number, flow_of(operator))
        if worker in self._turns:
            self._turns[worker].until = 0
            self._handed.add(operator)

    def _is_at_hand(self, operator: Any) -> bool:
        return any(entry[3] is operator for entry in self._at_hand.values())

    def _add(self, operator: Any, number: int, flow: Flow) -> None:
        priority = self._priorities.get(operator)
        if priority is None:
            priority = self._priorities[operator] = self._ranking.priority(flow)
        entry = (-priority, -flow.place, number, operator, flow, self.decisions)
        self._entries[operator] = entry
        insort(self._order, entry)

    def _remove(self, entry: _Entry) -> None:
        del self._entries[entry[3]]
        del self._order[bisect_left(self._order, entry)]

    def pop(self, now: float, worker: int = 0) -> Any | None:
        entry = self._at_hand.pop(worker, None)
        if entry is None:
            if not self._epoch[0] <= now < self._epoch[1]:
                self._begin_epoch(now)
            entry = self._first(now, worker) or self._anothers(worker)
            if entry is None:
                return None
        operator, flow = entry[3:5]
        self._running[operator] = now
        self._turns[worker].taken = flow.taken
        return operator

    def _begin_epoch(self, now: float) -> None:
        waiting = list(self._entries.values())
        self._epoch = (now, now + max(self._period, RANKING * len(waiting)))
        self._priorities.clear()
        for _, place, number, operator, flow, turn in waiting:
            patience = self._patience if flow.backlog is not None else INNER * self._patience
            overdue = patience < now - flow.last < inf and self.decisions - turn >= len(waiting)
            priority = inf if overdue else self._ranking.priority(flow)
            self._entries[operator] = (-priority, place, number, operator, flow, turn)
        self._order = sorted(self._entries.values())

    def _first(self, now: float, worker: int) -> _Entry | None:
        eligible = self._ranking.eligible
        for entry in self._order:
            operator, flow = entry[3:5]
            if operator in self._handed or eligible(flow, now):
                self.decisions += 1
                self._turns[worker] = _Turn(flow.taken + self._ranking.rows(flow, self._epoch[1] - now))
                self._remove(entry)
                self._handed.discard(operator)
                return entry
        return None

    def _anothers(self, worker: int) -> _Entry | None:
        """What another worker would go on with, if it has not come back for it."""
        if not self._at_hand:
            return None
        self._turns[worker] = _Turn(0)
        return self._at_hand.popitem()[1]

    def wakes(self, now: float) -> float:
        """When `pop`, which gave nothing, may give something though nothing comes."""
        soonest = min((self._ranking.eligible_from(flow) for _, _, _, _, flow, _ in self._order), default=inf)
        # An instant later, for then it has passed, however times are rounded.
        return min(self._epoch[1], max(soonest, now) + 1e-6) if self._order else inf

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        flow = flow_of(operator)
        flow.ran(max(0.0, now - self._running.pop(operator)), now)
        number = self._again.pop(operator, None)
        if number is None:
            return
        turn = self._turns[worker]
        # One that only has marks to take makes no progress that could be counted.
        if turn.taken < flow.taken < turn.until:
            self._at_hand[worker] = (0.0, 0, number, operator, flow, 0)
        else:
            self._add(operator, number, flow)
