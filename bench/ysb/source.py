"""The event generator, a Python data source that Headway polls inside its nodes.

1. Event number i is a function of i and the seed alone: seven fields and a padding of 64 bits each. user_id and page_id
   are pseudo-random in 1..1,000,000; ad_id = i mod 1000 + 1, ad_type = i mod 5, event_type = i mod 3. No row repeats.
2. With drift, event_type is (i mod 3) & 1 in every other stretch of so many seconds: two of three pass for one.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyarrow as pa
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bench.numbered import TIME, Columns, FilledPartition, Leg, NumberedSource, times

ADS = 1000
CAMPAIGNS = 100
RING = 3 * ADS
"""Ads and types of events repeat after so many events."""
FIELDS = ("event_time", "user_id", "page_id", "ad_id", "ad_type", "event_type", "ip_address", "padding")
_TYPES = (TIME, *[pa.int64()] * 7)


@numba.njit(nogil=True, cache=True, inline="always")
def _mix(x: Any) -> Any:
    """A bijection of 64 bits (the finalizer of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def _random(first: int, step: int, seed: int, users: Any, pages: Any) -> None:
    scale = np.uint64(1_000_000)
    for row in range(users.shape[0]):
        random = _mix(np.uint64(first + row * step) + np.uint64(seed))
        # The high part of a product maps 32 random bits to a range without a division.
        users[row] = np.int64(((random & np.uint64(0xFFFFFFFF)) * scale) >> np.uint64(32)) + 1
        pages[row] = np.int64(((random >> np.uint64(32)) * scale) >> np.uint64(32)) + 1


@intrinsic
def _copy(context: Any, to: Any, source: Any, numbers: Any) -> Any:
    """C's memcpy of 64-bit numbers from an address to another: a third of what a loop costs, which reads each line of
    memory before it writes it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        addresses = [builder.inttoptr(address, pointer) for address in arguments[:2]]
        cgutils.raw_memcpy(builder, *addresses, arguments[2], 8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp), generate


@numba.njit(nogil=True, cache=True)
def _repeat(pattern: Any, phase: int, column: Any) -> None:
    """`pattern` over and over, from `phase` on."""
    period, rows = pattern.shape[0], column.shape[0]
    at, row = phase % period, 0
    while row < rows:
        length = min(period - at, rows - row)
        _copy(column.ctypes.data + 8 * row, pattern.ctypes.data + 8 * at, length)
        row += length
        at = 0


@numba.njit(nogil=True, cache=True)
def generate(
    first: int,
    step: int,
    seed: int,
    ads: Any,
    kinds: Any,
    events: Any,
    begin: int,
    at: int,
    rate: int,
    places: Any,
    out: Any,
    rows: int,
) -> None:
    """Fill `rows` rows of `out` with the events first, first + step, …: column i goes to `places[i]`, nowhere if that
    is negative.

    The three patterns are those of a partition; they repeat every 1000, 5 and 3 of its events. Event number `begin` is
    due at `at`, and `rate` of them a second.
    """
    turn = first // step
    if places[0] >= 0:
        times(first - begin, step, at, rate, out[places[0], :rows])
    if places[1] >= 0 and places[2] >= 0:
        _random(first, step, seed, out[places[1], :rows], out[places[2], :rows])
    elif places[1] >= 0:
        _random(first, step, seed, out[places[1], :rows], np.empty(rows, np.int64))
    elif places[2] >= 0:
        _random(first, step, seed, np.empty(rows, np.int64), out[places[2], :rows])
    if places[3] >= 0:
        _repeat(ads, turn, out[places[3], :rows])
    if places[4] >= 0:
        _repeat(kinds, turn, out[places[4], :rows])
    if places[5] >= 0:
        _repeat(events, turn, out[places[5], :rows])
    if places[6] >= 0:
        out[places[6], :rows] = -1
    if places[7] >= 0:
        out[places[7], :rows] = 0


def _pattern(first: int, step: int, period: int, added: int = 0) -> Any:
    """Enough turns of (i mod period) + added over a partition's events that copying them is cheap, and stays in the
    first-level cache."""
    turns = period * max(1, 1024 // period)
    return (first % step + np.arange(turns) * step) % period + added


class YsbPartition(FilledPartition):
    """One partition, polled by a node."""

    schema = pa.schema([pa.field(name, type_) for name, type_ in zip(FIELDS, _TYPES, strict=True)])

    def __init__(self, position: dict[str, Any], columns: Columns = None) -> None:
        super().__init__(position, columns)
        read = self.schema.names
        self._places = np.array([read.index(name) if name in read else -1 for name in FIELDS])
        self._seed, self._drift = position["seed"], position["drift"] * 1_000_000
        self._t0 = position["t0_us"]
        first, kinds = position["next"], _pattern(position["next"], self.step, 3)
        self._ads, self._types = _pattern(first, self.step, ADS, 1), _pattern(first, self.step, 5)
        self._kinds = kinds, kinds & 1

    def _phase(self, number: int) -> int:
        """How often the events have changed before a number."""
        return (self._pace.time_us(number) - self._t0) // self._drift if self._drift else 0

    def contiguous(self, first: int) -> int:
        """Up to the next change."""
        if not self._drift:
            return super().contiguous(first)
        change = self._t0 + (self._phase(first) + 1) * self._drift
        return -(-(self._pace.first_at(change) - first) // self.step)

    def write(self, first: int, rows: int, leg: Leg, out: Any) -> None:
        kinds = self._kinds[self._phase(first) % 2]
        generate(first, self.step, self._seed, self._ads, self._types, kinds, *leg, self._places, out, rows)


class YsbSource(NumberedSource):
    """`spark.readStream.format("ysb")` with options rate (events/s), seed, t0_us and drift (seconds; 0: none)."""

    opened = YsbPartition
    ddl = "event_time timestamp, " + ", ".join(f"{name} bigint" for name in FIELDS[1:])
    numbers = ("seed", "drift")

    @classmethod
    def name(cls) -> str:
        return "ysb"
