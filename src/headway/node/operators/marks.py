"""How often a query tells how far it is: by its target."""

from __future__ import annotations

MARKS_IN_TARGET = 4
"""Markers and watermarks that end nothing are told so often in the time of a target: of dozens of queries, more of them
would be much of the work."""
MARKS_EVERY = 0.05
SELDOM = 1.0
"""But at most and at least so often (seconds); queries without a target tell seldom."""
HURRIES = 5.0


def marks_every(latency: float | None) -> float:
    """How often a query of this target tells how far it is, in seconds.

    >>> marks_every(0.1), marks_every(0.8), marks_every(None)
    (0.05, 0.2, 1.0)
    """
    return SELDOM if latency is None else min(SELDOM, max(MARKS_EVERY, latency / MARKS_IN_TARGET))


class Markers:
    """Which events of a source are latency markers: those that arrive every so often, by their own time of arrival.

    So they are as many when the source is read late as when it is read in time, and late ones are not missed; and they
    are no older than other events of their batch. Of a batch at most one is.

    >>> markers = Markers()
    >>> [markers.due(first, last, every=0.05) for first, last in [(1.0, 1.01), (1.01, 1.04), (1.04, 1.08), (1.08, 1.3)]]
    [1.0, None, 1.05, 1.1]
    """

    def __init__(self) -> None:
        self._next = 0.0

    def due(self, first: float, last: float, every: float) -> float | None:
        """When the marker arrived among events that arrived from `first` to `last`; None: there is none."""
        if last < self._next:
            return None
        at = max(first, self._next)
        self._next = max(at + every, last)
        return at


def hurries(latency: float | None) -> bool:
    """Whether a query's target is so short that seconds count."""
    return latency is not None and latency <= HURRIES
