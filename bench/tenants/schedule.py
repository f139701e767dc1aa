"""When a tenant's events are due: a function of the seed and the tenant's number alone.

1. Most of the time a tenant is idle: a message of a few events every 10 to 60 seconds.
2. In every slot of three seconds a tenant bursts with a given chance: thousands of events a second, evenly spaced.
3. Nothing is due in the first seconds, while the queries are started and observed at rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SLOT_US = 3_000_000
ACTIVE = 0.02
"""The chance of a burst, so the share of tenants that are active at any time."""
BURST_RATES = (2_000, 8_000)
MESSAGE_ROWS = (1, 6)
MESSAGE_GAP_US = (10_000_000, 60_000_000)
MESSAGE_SPACING_US = 10
MESSAGE_US = MESSAGE_ROWS[1] * MESSAGE_SPACING_US


class Run(NamedTuple):
    """Events that follow each other evenly: `rows` of them, `gap_us` apart, the first at `start_us`."""

    start_us: int
    rows: int
    gap_us: int

    @property
    def end_us(self) -> int:
        """When the last event is due."""
        return self.start_us + (self.rows - 1) * self.gap_us

    def due(self, now_us: float) -> int:
        """How many of its events are due at `now_us`."""
        if now_us < self.start_us:
            return 0
        return min(self.rows, int(now_us - self.start_us) // self.gap_us + 1)


def schedule(seed: int, tenant: int, t0_us: int, seconds: float) -> list[Run]:
    """The runs of a tenant from `t0_us` on, in order; they do not overlap."""
    random = np.random.default_rng((seed, tenant))
    runs: list[Run] = []
    message_us = t0_us + int(random.integers(0, MESSAGE_GAP_US[1]))
    for slot in range(int(seconds * 1_000_000) // SLOT_US):
        start = t0_us + slot * SLOT_US
        if random.random() < ACTIVE:
            runs.append(_burst(random, start))
        elif message_us < start + SLOT_US:
            at = min(max(message_us, start), start + SLOT_US - MESSAGE_US)
            runs.append(Run(at, int(random.integers(*MESSAGE_ROWS)), MESSAGE_SPACING_US))
        while message_us < start + SLOT_US:
            message_us += int(random.integers(*MESSAGE_GAP_US))
    return runs


def _burst(random: np.random.Generator, start: int) -> Run:
    rate = int(random.integers(*BURST_RATES))
    gap = 1_000_000 // rate
    offset = int(random.integers(0, gap))
    return Run(start + offset, (SLOT_US - offset) // gap, gap)
