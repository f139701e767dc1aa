"""Reads the partitions of a consumed source that this node was dealt.

1. A thread waits for rows and hands them over; the loop gives them on in order. A few batches wait at most: then the
   thread does, and the source fills.
2. Where the source stands, for checkpoints, is after the rows that were given on.
3. A draining barrier goes out when the thread has fetched all that a look after the request saw.
4. A partition is silent when the thread has waited for a while and nothing came from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from headway.cluster.protocol import SourcePlan
from headway.connectors.api import ConsumedSource, Consumer, Fetched, Polled, Position
from headway.node.message import Barrier
from headway.node.operators.base import Head
from headway.node.operators.host import Host
from headway.node.operators.source import InlineOperator
from headway.node.threads import Worker

WAITING = 8
"""Batches."""
LONGEST_FETCH = 1.0
"""Seconds. A process that stood still in between has not waited longer."""
Partition = tuple[str, str]


class Waited:
    """For how long a thread has waited for rows of each partition, but for the times when it did something else.

    >>> waited = Waited(["a", "b"], 1.0)
    >>> [waited.passed(0.6, ["a"]), waited.passed(0.6, ["a"]), waited.passed(0.6, [])]
    [[], ['b'], []]
    """

    def __init__(self, partitions: Iterable[Any], longest: float) -> None:
        self._longest = longest
        self._since = dict.fromkeys(partitions, 0.0)

    def passed(self, seconds: float, spoke: Iterable[Any]) -> list[Any]:
        """So long did a fetch take, in which these had something; which have fallen silent by it."""
        silent = []
        for partition, before in self._since.items():
            self._since[partition] = after = before + min(seconds, LONGEST_FETCH)
            if before < self._longest <= after and partition not in spoke:
                silent.append(partition)
        self._since.update(dict.fromkeys(spoke, 0.0))
        return silent


class _Checked(NamedTuple):
    """All has been fetched that was there when so many drains had been asked for."""

    request: int


class _Silent(NamedTuple):
    """Nothing came for a while."""

    partition: Partition


class ConsumeOperator(InlineOperator):
    """See the module. `share` is this node's number among the query's, and how many these are."""

    def __init__(
        self,
        host: Host,
        stage: int,
        plan: SourcePlan,
        share: tuple[int, int],
        event_column: int | None,
        idle_after: float,
    ) -> None:
        super().__init__(host, stage, plan.key, (), plan.description, event_column, idle_after)
        self._source: ConsumedSource = plan.connector  # type: ignore[assignment]
        self._share = share
        self._start_at = start = plan.positions[share[0]]
        self._at = {(topic, number): at for topic, numbers in start.items() for number, at in numbers.items()}
        self._number_of = {partition: number for number, partition in enumerate(self._at)}
        self._consumer: Consumer | None = None
        """Not None iff the thread has begun."""
        self._requests = 0
        self._checked = 0
        self._worker = Worker(f"consume {plan.key}", self._consume, lambda: host.notify(self), limit=WAITING)

    def start(self) -> None:
        now = self.host.now()
        self._tell_of_all(now)
        self._worker.start()

    @property
    def _numbers(self) -> Iterable[int]:
        return self._number_of.values()

    def close(self) -> None:
        self._worker.close()

    def _consume(self, worker: Worker) -> None:
        """In a thread."""
        consumer = self._consumer = self._source.consume(self._start_at, *self._share)
        looked = checked = 0
        waited = Waited(self._at, self._idle_after)
        try:
            while not worker.closed:
                if self._requests > looked:
                    looked = self._requests
                    consumer.look()
                if looked > checked and consumer.reached():
                    checked = looked
                    worker.give(_Checked(checked))
                began = self.host.now()
                found = consumer.fetch(self.host.now)
                # One that moved on without rows has not spoken: nothing downstream knows of it.
                spoke = [fetched.partition for fetched in found if fetched.batch is not None]
                silent = waited.passed(self.host.now() - began, spoke)
                for result in (*found, *map(_Silent, silent)):
                    if not worker.give(result):
                        return
        finally:
            consumer.close()

    def inject(self, barrier: Barrier) -> None:
        self._requests += barrier.drain
        self._barriers.append((barrier, self._requests if barrier.drain else 0))
        self.schedule()

    def _may_pass(self, barrier: Barrier, asked: float, now: float) -> bool:
        return asked <= self._checked

    def _head(self) -> Head | None:
        results = self._worker.results
        if not results and not (self._barriers and self._may_pass(*self._barriers[0], 0.0)):
            return None
        since = results[0].arrival if results and isinstance(results[0], Fetched) else self.host.now()
        return self._own_head(since)

    def run(self) -> None:
        self.queued = False
        if not self._has_room():
            return
        now, blocked = self._begin()
        if self._worker.results:
            result = self._worker.take()
            if isinstance(result, Fetched):
                self._give_fetched(result, now, blocked)
            elif isinstance(result, _Silent):
                self._tell_of(self._number_of[result.partition], now, idle=True)
            else:
                self._checked = result.request
        self._pass_barriers()
        self.schedule()

    def _give_fetched(self, fetched: Fetched, now: float, blocked: float) -> None:
        self._at[fetched.partition] = fetched.position
        if fetched.batch is None:
            return
        number = self._number_of.get(fetched.partition)
        if number is None:
            number = self._number_of[fetched.partition] = len(self._number_of)
            self._tell_of(number, now, idle=False)
        self._give(number, Polled(fetched.batch, fetched.arrival, fetched.arrival), now, blocked)

    def positions(self) -> list[tuple[int, Position]]:
        nested: dict[str, dict[str, Position]] = {}
        for (topic, number), at in self._at.items():
            nested.setdefault(topic, {})[number] = at
        return [(self._share[0], nested)]

    def measure(self, now: float) -> None:
        source = self.host.metrics.source(self._key, self._description)
        source.backlog = 0 if self._consumer is None else self._consumer.backlog
        source.end = dict(self._at)
