"""Queries in rounds, and the operators of a query by priority.

1. A worker visits the queries at which something could run in rounds, each once a round, the one with the highest
   priority first. A query's rows and state stay in the processor's cache during a visit, and none waits for more than
   those of the others. The order of queries stays for `STEADY`: one that is first in a round and last in the next would
   wait for almost two.
2. At a query, the highest priority runs next, of equal ones the deepest, until there is nothing more to run. A source
   has one turn a visit: what it has read gets out before the next query is read. What other nodes send may never end,
   so a visit that has taken `LONGEST` ends with the run, and those who waited in vain go first in the next one.
3. An operator runs until it has taken as many rows as its turn allows, or until it leaves something at another
   operator: a node hands rows on at once, while they are in the processor's cache, but not past what waits. A source
   that has more and room for it goes on with its turn when that has run.
4. Operators that are not eligible are passed over. If none is, `pop` gives None and `wakes` tells when to ask again: by
   the next epoch.
5. Priorities are computed anew when an epoch begins: within a query, the loop acts on no stale state.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

from headway.scheduling.contexts import PriorityContext
from headway.scheduling.flow import Flow, flow_of

STEADY = 1.0
LONGEST = 0.5
"""Both in seconds."""


class Ranking(Protocol):
    """What a policy has to say of operators."""

    def priority(self, flow: Flow) -> float:
        """The higher, the sooner."""

    def eligible(self, flow: Flow, now: float) -> bool:
        """Whether an operator that could run shall."""

    def eligible_from(self, flow: Flow) -> float:
        """When one that is not will be, though nothing comes."""

    def rows(self, flow: Flow, seconds: float) -> int:
        """How many rows an operator may take in a turn of so many seconds."""


@dataclass(slots=True)
class _Visit:
    """A worker is at a query."""

    query: Hashable = None
    began: float = -inf
    turns: dict[Any, int] = field(default_factory=dict)
    """Its sources that have begun their turns, and how many rows these end with."""
    operator: Any = None
    """The one whose turn it is; None: it is over."""
    taken: int = 0
    """How many rows it had taken before its last run."""
    until: int = 0
    """How many its turn ends with."""


class Rounds:
    """See the module."""

    def __init__(self, ranking: Ranking, period: float) -> None:
        self._ranking = ranking
        self._period = period
        self._waiting: dict[Hashable, dict[Any, Flow]] = {}
        """By query."""
        self._held: dict[Any, Hashable] = {}
        """The query of each that waits."""
        self._running: dict[Any, tuple[Hashable, float]] = {}
        """Operators that run, and when that began."""
        self._again: set[Any] = set()
        """Those that have more to do after it."""
        self._round: list[Hashable] = []
        """Queries that it has not come to yet, the last first."""
        self._visits: dict[int, _Visit] = {}
        """By worker."""
        self._passed_over: set[Any] = set()
        """Those that waited when a visit to their query had taken too long."""
        self._epoch = (-inf, -inf)
        """When it began and ends."""
        self._ordered = -inf
        """When the order of queries was found."""
        self._priorities: dict[Any, float] = {}
        """Of this epoch, as far as they were asked for."""
        self._of_queries: dict[Hashable, float] = {}
        """The highest of each query, when a round began: by these they are in order."""
        self.decisions = 0
        """Turns that began."""

    def __len__(self) -> int:
        return len(self._held) + len(self._again)

    def push(
        self, operator: Any, context: PriorityContext, arrival: int, now: float, worker: int | None = None
    ) -> None:
        if operator in self._running:
            self._again.add(operator)
            return
        if operator in self._held:
            return
        self._hold(operator, context.query, flow_of(operator))
        if worker in self._visits:
            self._visits[worker].until = 0

    def _hold(self, operator: Any, query: Hashable, flow: Flow) -> None:
        self._held[operator] = query
        operators = self._waiting.get(query)
        if operators is None:
            operators = self._waiting[query] = {}
        operators[operator] = flow

    def pop(self, now: float, worker: int = 0) -> Any | None:
        if not self._epoch[0] <= now < self._epoch[1]:
            self._begin_epoch(now)
        visit = self._visits.get(worker)
        if visit is None:
            visit = self._visits[worker] = _Visit()
        if not self._stay(visit, now) and not self._move(visit, now):
            del self._visits[worker]  # it may keep operators of queries that have ended
            return None
        operator = visit.operator
        self._passed_over.discard(operator)
        query = self._held.pop(operator)
        operators = self._waiting[query]
        visit.taken = operators.pop(operator).taken
        if not operators:
            del self._waiting[query]
        self._running[operator] = (query, now)
        return operator

    def _begin_epoch(self, now: float) -> None:
        self._epoch = (now, now + self._period)
        self._priorities.clear()
        if not self._ordered <= now < self._ordered + STEADY:
            self._ordered = now
            self._of_queries.clear()

    def _stay(self, visit: _Visit, now: float) -> bool:
        """Whether there is more to do at the query, and time for it."""
        if not 0.0 <= now - visit.began < LONGEST:
            self._passed_over.update(self._waiting.get(visit.query, ()))
            return False
        return visit.operator in self._held or self._choose(visit, now)

    def _move(self, visit: _Visit, now: float) -> bool:
        """Go on to the next query at which something can run; whether there is any."""
        for begins in (False, True):
            if begins:
                self._round = sorted(self._waiting, key=self._highest)
            while self._round:
                visit.query, visit.began = self._round.pop(), now
                visit.turns.clear()
                if self._choose(visit, now):
                    return True
        return False

    def _choose(self, visit: _Visit, now: float) -> bool:
        """Begin the turn of the first operator of the query; whether there is one."""
        first: Any = None
        its: Any = None
        for operator, flow in self._waiting.get(visit.query, {}).items():
            if flow.taken >= visit.turns.get(operator, inf) or not self._ranking.eligible(flow, now):
                continue
            if first is None or self._rank(operator, flow) > self._rank(first, its):
                first, its = operator, flow
        visit.operator = first
        if first is None:
            return False
        self.decisions += 1
        visit.until = visit.turns.get(first) or its.taken + self._ranking.rows(its, self._period)
        if its.backlog is not None:
            visit.turns[first] = visit.until
        return True

    def _highest(self, query: Hashable) -> float:
        highest = self._of_queries.get(query)
        if highest is None:
            highest = max(self._priority(operator, flow) for operator, flow in self._waiting[query].items())
            self._of_queries[query] = highest
        return highest

    def _rank(self, operator: Any, flow: Flow) -> tuple[bool, float, int]:
        return operator in self._passed_over, self._priority(operator, flow), flow.place

    def _priority(self, operator: Any, flow: Flow) -> float:
        priority = self._priorities.get(operator)
        if priority is None:
            priority = self._priorities[operator] = self._ranking.priority(flow)
        return priority

    def wakes(self, now: float) -> float:
        """When `pop`, which gave nothing, may give something though nothing comes."""
        waiting = (flow for operators in self._waiting.values() for flow in operators.values())
        soonest = min(map(self._ranking.eligible_from, waiting), default=inf)
        # An instant later, for then it has passed, however times are rounded.
        return min(self._epoch[1], max(soonest, now) + 1e-6) if self._held else inf

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        flow = flow_of(operator)
        query, began = self._running.pop(operator)
        flow.ran(max(0.0, now - began), now)
        visit = self._visits[worker]
        more = operator in self._again
        # One that only has marks to take makes no progress that could be counted.
        goes_on = more and visit.taken < flow.taken
        if not goes_on or flow.taken >= visit.until:
            visit.operator = None
        if not goes_on and operator in visit.turns:
            visit.turns[operator] = flow.taken
        if more:
            self._again.remove(operator)
            self._hold(operator, query, flow)
