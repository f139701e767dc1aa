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


def hurries(latency: float | None) -> bool:
    """Whether a query's target is so short that seconds count."""
    return latency is not None and latency <= HURRIES
