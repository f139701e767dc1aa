"""Cameo's own policies: a message's priority is the latest time at which its operator may start.

1. Topology: a result is out in time if its message starts by t + L - C_op - C_path.
2. Semantics: rows that wait for a window's end need not hurry. t is then the frontier time, at which the window is
   expected to be complete, but a target after the arrival at most: rows that wait are work that piles up, of which
   the cost of one message does not tell. The message that completes a window hurries, as does all it causes; so does
   a message of which the frontier time is not known.
3. Deadlines that are nearly equal are equal, and then whoever came first goes first: the noise of measured costs and
   fits would let one of many like queries wait for all others, all the time.
4. A source is read when nothing that sources gave before is as urgent: its own cost does not count, and it comes a
   grain after its deadline. Else it would run ahead until there is no more room, and rows would be cold in the
   processor's cache when their turn comes.
5. Among the messages of an operator the earlier frontier time goes first. (Cameo orders by frontier progress, of which
   it is the time; so inputs with and without event time compare.)
6. What the policy knows may be narrowed, and the costs it works with perturbed: see `Knowledge`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import floor, inf
from random import Random

from headway.scheduling.api import Policy, Queue
from headway.scheduling.contexts import Converter, Held, PriorityContext
from headway.scheduling.queue import GRAIN, PATIENCE, SHARE, PriorityQueue

STEADY = 1 / 64
"""Who runs goes on for a while if nobody is more urgent by more than this part of its target."""
STEPS = 64
"""The time at which a window is expected to be complete is known to this part of its slide, on the early side; what was
found out of it counts for so long, or for this part of the target."""


@dataclass(frozen=True)
class Knowledge:
    """What a policy may know: the windows of queries, the paths below operators, and costs with an error of so many
    seconds (a normal distribution's standard deviation)."""

    semantics: bool = True
    topology: bool = True
    cost_error: float = 0.0


def coarse(time: float, step: float) -> float:
    """The last multiple of a step up to a time.

    >>> coarse(10.37, 0.25), coarse(inf, 0.25), coarse(1.5, 0.0)
    (10.25, inf, 1.5)
    """
    return floor(time / step) * step if step > 0.0 and -inf < time < inf else time


class Deadlines(Policy):
    """Base of LLF, EDF and SJF, which differ in `urgency`."""

    def __init__(
        self,
        knowledge: Knowledge | None = None,
        grain: float = GRAIN,
        patience: float = PATIENCE,
        share: float = SHARE,
        seed: int = 0,
    ) -> None:
        self.knowledge = knowledge or Knowledge()
        self._grain = grain
        self._patience = patience
        self._share = share
        self._random = Random(seed)

    def urgency(self, t: float, latency: float, cost: float, path: float) -> float:
        """The global priority of a message whose frontier time is t."""
        raise NotImplementedError

    def priority(self, urgency: float) -> float:
        """What the queue compares: differences below the re-scheduling grain do not count."""
        return coarse(urgency, self._grain)

    def at_source(self, converter: Converter, t: float, now: float) -> PriorityContext:
        if converter.windows is not None and converter.reached and self.knowledge.semantics:
            # The source that is behind completes the window.
            frontier = converter.windows.frontier(min(converter.reached.values()))
            t = self._expected(converter, frontier, t)
        return self._context(converter, 0.0, None, t, None, after=self._grain)

    def at_operator(
        self, converter: Converter, cause: PriorityContext, p: int | None, t: float, partition: Hashable, now: float
    ) -> PriorityContext:
        reached = converter.reached.get(partition)
        if converter.held is not None:
            begin, end, since, until, number, context = converter.held
            fits = number is None or (p is not None and begin <= p < end and number == reached)
            if fits and since <= t <= until and context.tag == cause.tag:
                return context
        if converter.windows is None or not self.knowledge.semantics:
            return self._regular(converter, p, t, cause.tag)
        if p is None:
            return self._context(converter, converter.cost, p, t, cause.tag)
        number = converter.windows.number(p)
        if converter.progress is not None:
            converter.progress.update(p, t)
        if reached is None or number > reached:
            converter.reached[partition] = number
            if reached is not None:  # it completes a window
                frontier = converter.windows.frontier(reached)
                return self._context(converter, converter.cost, frontier, t, cause.tag)
        else:
            number = reached
        return self._held(converter, number, t, cause.tag)

    def _regular(self, converter: Converter, p: int | None, t: float, tag: object) -> PriorityContext:
        """The context of what no window holds back: it counts for others that come within the grain."""
        context = self._context(converter, converter.cost, p, t, tag)
        if not self.knowledge.cost_error:
            converter.held = Held(0, 0, t, t + self._grain, None, context)
        return context

    def _held(self, converter: Converter, number: int, t: float, tag: object) -> PriorityContext:
        """The context of rows that wait for a window's end: it counts for others that come soon, on the early side."""
        windows, latency = converter.windows, converter.latency
        assert windows is not None
        frontier = windows.frontier(number)
        expected = self._expected(converter, frontier, t)
        context = self._context(converter, converter.cost, frontier, expected, tag)
        if t < expected and not self.knowledge.cost_error:
            until = min(expected, t + min(latency, windows.slide / 1e6) / STEPS)
            converter.held = Held(frontier - windows.slide, frontier, expected - latency, until, number, context)
        return context

    def _expected(self, converter: Converter, frontier: int, t: float) -> float:
        """PROGRESSMAP: when the frontier is expected; t, as for a regular operator, if that is not known.

        One time counts for all that wait for a frontier: were it to waver with every message, so would their order.
        """
        assert converter.windows is not None
        if converter.progress is None:
            return frontier / 1e6
        expected = converter.ends.get(frontier)
        if expected is None:
            expected = converter.progress.time_of(frontier)
            if expected is None:
                return t
            step = converter.windows.slide / 1e6 / STEPS
            expected = coarse(expected + step / 2, step) - step
            converter.ends.clear()
            converter.ends[frontier] = expected
        return max(t, min(expected, t + converter.latency))

    def _context(
        self, converter: Converter, cost: float, p: int | None, t: float, tag: object, after: float = 0.0
    ) -> PriorityContext:
        if self.knowledge.cost_error:
            cost += self._random.gauss(0.0, self.knowledge.cost_error)
        path = converter.path if self.knowledge.topology else 0.0
        priority = self.priority(self.urgency(t, converter.latency, cost, path)) + after
        return PriorityContext(t, priority, p, t, converter.latency, converter.query, tag)

    def queue(self, workers: int = 1) -> Queue:
        return PriorityQueue(self._grain, self._patience, self._share, workers=workers, steady=STEADY)
