"""A node goes before its machine's other processes, where the operating system lets it.

A node's run takes a millisecond or less, and a process that merely wakes up beside it (the driver, Java) has a core for
several: that made nearly all late events late where a benchmark was run at half of the highest load. Where it is
refused, as to most who are not root, nothing else changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from headway.errors import InvalidOption

SETTING = "headway.node.nice"
USUAL = -5
BEHIND = 5


def niceness(conf: Mapping[str, Any]) -> int:
    """As the command `nice` counts it: 0 is like others, less goes before them.

    >>> niceness({}), niceness({"headway.node.nice": "0"})
    (-5, 0)
    """
    value = next((str(value) for name, value in conf.items() if name.lower() == SETTING), str(USUAL))
    if not value.removeprefix("-").isdigit() or not -20 <= int(value) <= 19:
        raise InvalidOption(f"{SETTING} is {value!r}; use a whole number from -20 to 19")
    return int(value)


@contextmanager
def precedence(nice: int) -> Iterator[None]:
    """For this thread and those that it starts, until the end: Spark may use the process for something else then."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    try:
        yield
    finally:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, before)


def step_back() -> None:
    """This thread works for nobody who waits: it goes after the loop, and after others."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, max(BEHIND, os.getpriority(os.PRIO_PROCESS, 0)))
