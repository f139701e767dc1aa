"""Reads the partitions of a consumed source that this node was dealt.

1. A thread waits for rows and hands them over; the loop gives them on in order. A few batches wait at most: then the
   thread does, and the source fills.
2. Where the source stands, for checkpoints, is after the rows that were given on.
3. A draining barrier goes out when the thread has fetched all that a look after the request saw.
"""

from __future__ import annotations

from typing import NamedTuple

from headway.cluster.protocol import SourcePlan
from headway.connectors.api import ConsumedSource, Consumer, Fetched, Polled, Position
from headway.node.message import Barrier, Message, Watermark
from headway.node.operators.base import Head
from headway.node.operators.host import Host
from headway.node.operators.source import InlineOperator
from headway.node.threads import Worker

WAITING = 8
"""Batches."""


class _Checked(NamedTuple):
    """All has been fetched that was there when so many drains had been asked for."""

    request: int


class ConsumeOperator(InlineOperator):
    """See the module. `share` is this node's number among the query's, and how many these are."""

    def __init__(
        self,
        host: Host,
        stage: int,
        plan: SourcePlan,
        share: tuple[int, int],
        event_column: int | None,
    ) -> None:
        super().__init__(host, stage, plan.key, (), plan.description, event_column)
        self._source: ConsumedSource = plan.connector  # type: ignore[assignment]
        self._share = share
        self._start_at = start = plan.positions[share[0]]
        self._at = {(topic, number): at for topic, numbers in start.items() for number, at in numbers.items()}
        self._numbers = {partition: number for number, partition in enumerate(self._at)}
        """The numbers by which watermarks tell partitions apart."""
        self._consumer: Consumer | None = None
        """Not None iff the thread has begun."""
        self._requests = 0
        self._checked = 0
        self._worker = Worker(f"consume {plan.key}", self._consume, lambda: host.notify(self), limit=WAITING)

    def start(self) -> None:
        now = self.host.now()
        for number in self._numbers.values():
            self._expect(number, now)
        if not self._numbers:
            self.broadcast(Message(None, None, now, now, now, watermark=Watermark(None, True)))
        self._worker.start()

    def _expect(self, number: int, now: float) -> None:
        self.broadcast(Message(None, None, now, now, now, 0, number, Watermark(None, False)))

    def close(self) -> None:
        self._worker.close()

    def _consume(self, worker: Worker) -> None:
        """In a thread."""
        consumer = self._consumer = self._source.consume(self._start_at, *self._share)
        looked = checked = 0
        try:
            while not worker.closed:
                if self._requests > looked:
                    looked = self._requests
                    consumer.look()
                if looked > checked and consumer.reached():
                    checked = looked
                    worker.give(_Checked(checked))
                for fetched in consumer.fetch(self.host.now):
                    if not worker.give(fetched):
                        return
        finally:
            consumer.close()

    def inject(self, barrier: Barrier) -> None:
        self._requests += barrier.drain
        self._barriers.append((barrier, self._requests if barrier.drain else 0))
        self.schedule()

    def _may_pass(self, barrier: Barrier, asked: float) -> bool:
        return asked <= self._checked

    def _head(self) -> Head | None:
        results = self._worker.results
        if not results and not (self._barriers and self._may_pass(*self._barriers[0])):
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
            else:
                self._checked = result.request
        self._pass_barriers()
        self.schedule()

    def _give_fetched(self, fetched: Fetched, now: float, blocked: float) -> None:
        self._at[fetched.partition] = fetched.position
        if fetched.batch is None:
            return
        number = self._numbers.get(fetched.partition)
        if number is None:
            number = self._numbers[fetched.partition] = len(self._numbers)
            self._expect(number, now)
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
