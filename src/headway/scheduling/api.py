"""What a scheduling policy is: it holds the operators that could run, and says which runs next.

1. The node pushes an operator when it has a message and room for its output, and never twice at once.
2. `pop` takes an operator out; the node runs one message of it and pushes it again if it still could run.
3. A policy knows no clock: `now` comes with every call.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Protocol


class Head(NamedTuple):
    """What a policy may know of an operator's next message."""

    arrival: int
    """Order of arrival in the node, over all operators."""
    p: int | None
    t: float
    latency: float | None
    """The query's target in seconds, None for bulk."""


class Policy(Protocol):
    """See the module."""

    def push(self, operator: Hashable, head: Head, now: float) -> None: ...

    def pop(self, now: float) -> Hashable | None: ...

    def __len__(self) -> int: ...
