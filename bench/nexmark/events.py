"""The rows of the three streams: row i of a kind is a function of i and the seed alone.

1. What does not grow (prices, names, whether a choice is a hot one) comes from a ring of drawn rows, row i mod n.
2. Ids grow: person and auction number i have the id 1000 + i. A bid refers to auctions and persons of its time: half of
   the bids are on the first of the last hundred auctions, the others on one of the last hundred; three of four are by
   the second of the last hundred persons, the others by one of the last thousand. Sellers are drawn like bidders.
3. An auction is open for a while that is drawn about twice the time in which a hundred auctions begin.

Every id is defined twice, in Python that is compiled, as Spark's generator is, and in Spark's SQL; the tests compare
the two.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa

RING = 1 << 14
FIRST_ID = 1000
PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""Of 50 events."""
IN_FLIGHT = 100
ACTIVE = 1000
HOT = 100
_LENGTH_BITS = 20
STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
CITIES = [f"city {n}" for n in range(60)]
CHANNELS = ["Google", "Facebook", "Baidu", "Apple", *[f"channel-{n}" for n in range(100)]]
_TEXT = pa.string()


class Kind(NamedTuple):
    """A stream: how many of 50 events it has, its columns, and those of them that grow, as Spark's SQL over `value`
    (the row's number) and the ring's columns."""

    weight: int
    ddl: str
    grown: dict[str, str]


def _back(known: str, hot: str, recent: int, place: int = 0) -> str:
    """SQL: the id of a recent person or auction, of whom the newest is number `known`."""
    first = f"greatest(({known}) div {HOT} * {HOT} + {place}, 0)"
    return f"{FIRST_ID} + if({hot}, least({first}, {known}), greatest(({known}) - back % {recent}, 0))"


KINDS = {
    "person": Kind(
        PERSONS,
        "id bigint, name string, email_address string, credit_card string, city string, state string, "
        "date_time timestamp, extra string",
        {"id": f"{FIRST_ID} + value"},
    ),
    "auction": Kind(
        AUCTIONS,
        "id bigint, item_name string, description string, initial_bid bigint, reserve bigint, date_time timestamp, "
        "expires timestamp, seller bigint, category bigint, extra string",
        {"id": f"{FIRST_ID} + value", "seller": _back(f"value div {AUCTIONS}", "hot_seller", ACTIVE, 1)},
    ),
    "bid": Kind(
        BIDS,
        "auction bigint, bidder bigint, price bigint, channel string, url string, date_time timestamp, extra string",
        {
            "auction": _back(f"value div {BIDS} * {AUCTIONS} + {AUCTIONS - 1}", "hot_auction", IN_FLIGHT),
            "bidder": _back(f"value div {BIDS}", "hot_bidder", ACTIVE, 1),
        },
    ),
}


class Reference(NamedTuple):
    """A column of ids of recent persons or auctions: `_back` in parts. When row i comes, the newest of them is number
    i // every * times + plus."""

    every: int
    times: int
    plus: int
    hot: str
    recent: int
    place: int = 0

    def choices(self, ring: pa.RecordBatch) -> Any:
        """Of every row of the ring, how far back the id is; -1: it is the hot one's."""
        back = np.asarray(ring["back"]) % self.recent
        return np.where(np.asarray(ring[self.hot]), -1, back).astype(np.int32)


REFERENCES = {
    "person": {},
    "auction": {"seller": Reference(AUCTIONS, 1, 0, "hot_seller", ACTIVE, 1)},
    "bid": {
        "auction": Reference(BIDS, AUCTIONS, AUCTIONS - 1, "hot_auction", IN_FLIGHT),
        "bidder": Reference(BIDS, 1, 0, "hot_bidder", ACTIVE, 1),
    },
}


@numba.njit(nogil=True, cache=True)
def refer(first: int, step: int, every: int, times: int, plus: int, place: int, choices: Any, ids: Any) -> None:
    """The ids of a `Reference`, for the rows first, first + step, …; those between which nothing new comes at once."""
    group, rest = divmod(first, every)
    row = 0
    while row < ids.shape[0]:
        known = group * times + plus
        hot = FIRST_ID + min(known // HOT * HOT + place, known)
        until = min(ids.shape[0], row + (every - rest + step - 1) // step)
        for at in range(row, until):
            ids[at] = hot if choices[at] < 0 else FIRST_ID + max(known - choices[at], 0)
        more, rest = divmod(rest + (until - row) * step, every)
        group += more
        row = until


def open_us(rate: int) -> int:
    """Twice the time in which so many auctions begin as are open at once, in microseconds."""
    return 2 * IN_FLIGHT * 1_000_000 // max(rate, 1)


def expires(time_us: Any, length: Any, rate: int) -> Any:
    """When auctions end that begin at these times; `length` is the ring's column."""
    return time_us + 1000 + length * open_us(rate) // (1 << _LENGTH_BITS)


def expires_sql(rate: int) -> str:
    return f"timestamp_micros(unix_micros(date_time) + 1000 + length * {open_us(rate)} div {1 << _LENGTH_BITS})"


@lru_cache(maxsize=8)
def ring(kind: str, seed: int) -> pa.Table:
    """What does not grow: columns of the stream, and those that choices depend on."""
    random = np.random.default_rng((seed, list(KINDS).index(kind)))
    return {"person": _persons, "auction": _auctions, "bid": _bids}[kind](random)


def _texts(random: np.random.Generator, length: int) -> list[str]:
    letters = random.integers(97, 123, (RING, length)).astype(np.uint8)
    return [bytes(row).decode() for row in letters]


def _chosen(random: np.random.Generator, values: list[str]) -> list[str]:
    return [values[n] for n in random.integers(0, len(values), RING)]


def _persons(random: np.random.Generator) -> pa.Table:
    cards = random.integers(0, 10_000, (RING, 4))
    return pa.table(
        {
            "name": pa.array(_texts(random, 14), _TEXT),
            "email_address": pa.array([f"{text}@example.com" for text in _texts(random, 7)], _TEXT),
            "credit_card": pa.array([" ".join(f"{part:04d}" for part in card) for card in cards], _TEXT),
            "city": pa.array(_chosen(random, CITIES), _TEXT),
            "state": pa.array(_chosen(random, STATES), _TEXT),
            "extra": pa.array(_texts(random, 120), _TEXT),
        }
    )


def _price(random: np.random.Generator) -> Any:
    return np.round(10 ** (6 * random.random(RING)) * 100).astype(np.int64)


def _auctions(random: np.random.Generator) -> pa.Table:
    least = _price(random)
    return pa.table(
        {
            "item_name": pa.array(_texts(random, 20), _TEXT),
            "description": pa.array(_texts(random, 100), _TEXT),
            "initial_bid": least,
            "reserve": least + _price(random),
            "category": random.integers(10, 15, RING),
            "extra": pa.array(_texts(random, 300), _TEXT),
            "length": random.integers(0, 1 << _LENGTH_BITS, RING),
            "hot_seller": random.random(RING) < 0.75,
            "back": random.integers(0, ACTIVE, RING),
        }
    )


def _bids(random: np.random.Generator) -> pa.Table:
    paths = _texts(random, 5)
    channels = random.integers(0, len(CHANNELS), RING)
    urls = [
        f"https://www.nexmark.com/{path}/item.htm?query=1" + (f"&channel_id={n * 7919 % 100_003}" if n >= 4 else "")
        for path, n in zip(paths, channels.tolist(), strict=True)
    ]
    return pa.table(
        {
            "price": _price(random),
            "channel": pa.array([CHANNELS[n] for n in channels], _TEXT),
            "url": pa.array(urls, _TEXT),
            "extra": pa.array(_texts(random, 32), _TEXT),
            "hot_auction": random.random(RING) < 0.5,
            "hot_bidder": random.random(RING) < 0.75,
            "back": random.integers(0, ACTIVE, RING),
        }
    )
