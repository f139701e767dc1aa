"""Token-based proportional fair sharing: every query's sources have so many tokens per interval.

1. The tokens of an interval are spread evenly over it; each has the time of its place as its tag. A source that has
   something due takes the next token of the current interval; what was not taken when the interval ends is void.
2. Work with a token goes by its tag, so that queries advance in proportion to their tokens also where there is less
   capacity than tokens. Work without a token goes last; should its interval end before, it takes the first token of the
   next: else a source that was without one once would wait for ever where others have tokens enough for all the time.
3. What a source reads, and all it causes downstream, has the priority of the source's token.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import floor, inf
from typing import NamedTuple

from headway.errors import InvalidOption
from headway.scheduling.api import Policy, Queue
from headway.scheduling.contexts import Converter, PriorityContext
from headway.scheduling.queue import GRAIN, PriorityQueue


class _Taken(NamedTuple):
    """How many tokens of an interval a source has taken."""

    interval: int
    tokens: int


class Tokens(Policy):
    """`tokens`: by query name, those of each source per interval of so many seconds; others have none."""

    name = "tokens"

    def __init__(self, tokens: Mapping[str, int] | None = None, interval: float = 1.0, grain: float = GRAIN) -> None:
        if not 0 < interval < inf or any(count < 0 for count in (tokens or {}).values()):
            raise InvalidOption("tokens are counts per interval, 0 or more, and the interval is more than 0 seconds")
        self.tokens = dict(tokens or {})
        self.interval = interval
        self._grain = grain

    def at_source(self, converter: Converter, t: float, now: float) -> PriorityContext:
        interval = floor(now / self.interval)
        place = self._take(converter, interval)
        return PriorityContext(interval, place * self.interval, None, t, converter.latency, converter.query)

    def _take(self, converter: Converter, interval: int) -> float:
        """The place of the next token, in intervals."""
        count = self.tokens.get(str(converter.query), 0)
        if not count:
            return inf
        taken = converter.own
        if not isinstance(taken, _Taken) or taken.interval not in (interval, interval + 1):
            taken = _Taken(interval, 0)
        if taken.interval == interval + 1 or taken.tokens >= count:
            converter.own = _Taken(interval + 1, 1)
            return interval + 1
        converter.own = _Taken(interval, taken.tokens + 1)
        # The middle of its part of the interval: else all would have one at the beginning, however few they have.
        return interval + (taken.tokens + 0.5) / count

    def at_operator(
        self, converter: Converter, cause: PriorityContext, p: int | None, t: float, partition: Hashable, now: float
    ) -> PriorityContext:
        return PriorityContext(cause.local, cause.priority, p, t, converter.latency, converter.query, cause.tag)

    def queue(self, workers: int = 1) -> Queue:
        return PriorityQueue(self._grain, patience=inf, floods=False)
