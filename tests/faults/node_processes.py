"""The processes of the nodes, and how to kill one."""

import os
import signal
import time
from contextlib import suppress

from headway import Headway


def pids(hw: Headway) -> list[int]:
    return [hello.pid for hello in hw._runtime.coordinator.hellos()]


def kill(hw: Headway, number: int) -> None:
    """One of the nodes, as soon as all are there."""
    while len(running := pids(hw)) < hw.nodes:
        time.sleep(0.01)
    with suppress(ProcessLookupError):  # it has just been killed, and nobody has noticed
        os.kill(running[number % hw.nodes], signal.SIGKILL)
