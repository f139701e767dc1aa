"""How often a query tells how far it is: by its target."""

from __future__ import annotations

MARKS_EVERY = 0.05
HURRIES = 5.0
SELDOM = 20
"""Markers and watermarks that end nothing are told so often (seconds); so many times more seldom by queries whose
target is longer than `HURRIES`, or that have none: of dozens of them, the marks would be much of the work."""


def marks_every(latency: float | None) -> float:
    """How often a query of this target tells how far it is, in seconds.

    >>> marks_every(0.1), marks_every(None)
    (0.05, 1.0)
    """
    return MARKS_EVERY if hurries(latency) else SELDOM * MARKS_EVERY


def hurries(latency: float | None) -> bool:
    """Whether a query's target is so short that seconds count."""
    return latency is not None and latency <= HURRIES
