"""How far event time is: at a watermark step, and where several inputs meet. Pure.

1. At a watermark step, every source partition has its own watermark: its highest event time less the delay. The step's
   is the least of its partitions. A partition that was silent for a while does not hold back the others, nor does one
   whose rows have no event time or are filtered before the step; when all are silent, the highest counts. How long
   that was goes by when the source was read, and that there was nothing to read the source itself says, in the order
   of its rows: those of a node that was busy with other things are waited for, however long.
2. Where the channels of several nodes meet, the same, step by step; then the least of all steps counts, idle or not,
   as Spark has it: a silent stream is waited for, a silent partition is not. A watermark never goes back. A user may
   have the highest of the streams' watermarks count instead.
3. A planned source is read in rounds, on several nodes at once. Rows of one round are not late to each other, as in a
   micro-batch of Spark's; so what a node says of a round counts only when all inputs are through that round, and what
   a step sees of a round when all its own are: a stream may come to it twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Set
from math import inf

from headway.node.message import Watermark

NOTHING = Watermark(None, False)
Steps = tuple[tuple[int, int | None, bool], ...]
Rounds = tuple[tuple[str, int], ...]
Partition = tuple[Hashable, int]
"""The channel that it comes by, and its number."""


def combine(values: Iterable[tuple[int | None, bool]]) -> tuple[int | None, bool]:
    """The least of those not idle (None is lower than all), the highest if all are idle; and whether all are."""
    known = list(values)
    active = [value for value, idle in known if not idle]
    if active:
        return (None if any(value is None for value in active) else min(v for v in active if v is not None)), False
    return max((value for value, _ in known if value is not None), default=None), True


def _least(steps: Steps, highest_of: Set[int]) -> tuple[int | None, bool]:
    """The least of all steps, where for those of `highest_of` the highest of them that is known counts."""
    values = [value for step, value, _ in steps if step not in highest_of]
    if len(values) < len(steps):
        values.append(max((v for step, v, _ in steps if step in highest_of and v is not None), default=None))
    least = None if None in values else min(value for value in values if value is not None)
    return least, all(idle for _, _, idle in steps)


class SourceWatermark:
    """The watermark of a watermark step."""

    def __init__(self, delay_us: int, idle_after: float) -> None:
        self.delay = delay_us
        self._idle_after = idle_after
        self._highest: dict[Partition, int] = {}
        self._heard: dict[Partition, float] = {}
        self._settled: dict[Partition, int | None] = {}
        """The partitions' highest times that may be told: all for inline sources, those of ended rounds else."""
        self._ended: dict[Hashable, deque[tuple[Rounds, dict[Partition, int]]]] = {}
        """By channel, the rounds that it is through and others are not, and what its highest times were then."""
        self._silent: set[Partition] = set()
        self._idle: set[Hashable] = set()
        """Channels whose source has given all that was there: their partitions are silent."""
        self._told: int | None = None
        self._least: Partition | None = None
        """The partition that held the watermark back when it was computed last; only its rows can move it."""
        self._holds = False
        """Whether what was computed last still counts."""

    def expect(self, partition: Partition, now: float) -> None:
        """A partition that will give rows: until it does or falls silent, it holds the watermark back."""
        self._settled.setdefault(partition, None)
        self._heard.setdefault(partition, now)
        self._silent.discard(partition)
        self._holds = False

    def silence(self, partition: Partition) -> None:
        """There is nothing more in a partition, for now or for long."""
        self._settled.setdefault(partition, None)
        self._silent.add(partition)
        self._holds = False

    def observe(self, partition: Partition, highest: int | None, read: float, in_round: bool) -> None:
        """Rows of `partition` were read then, the latest at `highest`. `in_round`: they count when the round ends."""
        heard = self._heard.setdefault(partition, read)
        if highest is not None:
            self._heard[partition] = max(read, heard)
            self._highest[partition] = max(highest, self._highest.get(partition, highest))
            self._speaks(partition)
        elif read - heard >= self._idle_after and partition not in self._silent:
            self.silence(partition)
        if not in_round:
            if partition == self._least or partition not in self._settled:
                self._holds = False
            self._settled[partition] = self._highest.get(partition)

    def _speaks(self, partition: Partition) -> None:
        if partition in self._silent:
            self._silent.remove(partition)
            self._holds = False

    def end_round(
        self, channel: Hashable, rounds: Rounds, reached: Mapping[str, int], found: float, idle: bool = False
    ) -> None:
        """`channel` is through `rounds`, the last found then; `idle`: which was all there is. What it gave in them
        counts when all channels are: so far are they."""
        seen = {partition: highest for partition, highest in self._highest.items() if partition[0] == channel}
        self._ended.setdefault(channel, deque()).append((rounds, seen))
        for ended in self._ended.values():
            while ended and all(round <= reached.get(origin, 0) for origin, round in ended[0][0]):
                self._settled.update(ended.popleft()[1])
        self._silent |= {p for p, heard in self._heard.items() if p[0] == channel and found - heard >= self._idle_after}
        (self._idle.add if idle else self._idle.discard)(channel)
        self._holds = False

    def current(self) -> tuple[int | None, bool]:
        """The watermark and whether every partition is silent."""
        if self._holds:
            return self._told, False
        silent = {p: p in self._silent or p[0] in self._idle for p in self._settled}
        value, idle = combine(
            (None if highest is None else highest - self.delay, silent[p]) for p, highest in self._settled.items()
        )
        if value is not None and (self._told is None or value > self._told):
            self._told = value
        # Rows of a partition that is ahead of another change nothing: what was computed holds for them.
        self._holds = bool(silent) and not any(silent.values())
        self._least = min(self._settled, key=self._behind, default=None)
        return self._told, idle

    def _behind(self, partition: Partition) -> float:
        highest = self._settled[partition]
        return -inf if highest is None else highest

    def restore(self, told: int) -> None:
        """Go on from a watermark that was told before a restart."""
        self._told = told


class InputWatermark:
    """The watermark of an operator with one or several input channels."""

    def __init__(self, channels: Iterable[Hashable]) -> None:
        self._pending: dict[Hashable, deque[Watermark]] = {c: deque() for c in channels}
        self._counts: dict[Hashable, Watermark] = dict.fromkeys(self._pending, NOTHING)
        self._reached: dict[Hashable, dict[str, int]] = {c: {} for c in self._pending}
        self._heard: set[Hashable] = set()
        self.highest_of: Set[int] = frozenset()
        """Watermark steps of which the highest counts, not the least."""
        self.current = NOTHING

    def update(self, channel: Hashable, watermark: Watermark) -> bool:
        """Take what `channel` says; whether the watermark changed."""
        self._heard.add(channel)
        self._reached[channel].update(watermark.rounds)
        self._pending[channel].append(watermark)
        if len(self._heard) < len(self._pending):
            return False
        rounds = self._common()
        for c, pending in self._pending.items():
            while pending and all(round <= rounds[origin] for origin, round in pending[0].rounds):
                self._counts[c] = pending.popleft()
        steps = self._steps()
        value, idle = (
            _least(steps, self.highest_of) if steps else combine((w.value, w.idle) for w in self._counts.values())
        )
        if self.current.value is not None and (value is None or value < self.current.value):
            value = self.current.value
        before, self.current = self.current, Watermark(value, idle, tuple(sorted(rounds.items())), steps)
        return before != self.current

    def in_rounds(self, channel: Hashable) -> bool:
        """Whether what comes by `channel` comes in rounds."""
        return bool(self._reached[channel])

    def restore(self, reached: int) -> None:
        """Go on from a watermark that was reached before a restart."""
        self.current = Watermark(reached, False)

    def _steps(self) -> Steps:
        """How far each watermark step is, over all channels."""
        told: dict[int, list[tuple[int | None, bool]]] = {}
        for watermark in self._counts.values():
            for step, value, idle in watermark.steps:
                told.setdefault(step, []).append((value, idle))
        return tuple((step, *combine(values)) for step, values in sorted(told.items()))

    def _common(self) -> dict[str, int]:
        """The rounds that every channel that knows of them is through."""
        rounds: dict[str, int] = {}
        for reached in self._reached.values():
            for origin, round in reached.items():
                rounds[origin] = min(round, rounds.get(origin, round))
        return rounds
