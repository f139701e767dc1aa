"""The queries as DataFrames.

Where SQL counts distinct values, which streaming Spark refuses, a set is collected instead; where it ranks, the best of
a group are; and what is told when an auction ends is state of one's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from bench.nexmark.winning import RESULT, Winning

Streams = dict[str, DataFrame]
"""By kind: person, auction, bid."""
DELAY = "4 seconds"


@dataclass(frozen=True)
class Query:
    """`kinds` are the streams it reads; `keys`, of a query in update mode, the columns whose newest row counts;
    `ends`, of one in append mode, the column with the end of a group, which comes when event time is past it.
    `guess` is what Headway and Spark follow on two cores, in million rows/s: a search begins there. `batch` makes the
    same of tables, where the query itself needs a stream. `summed`: its windows are of processing time, so what is
    compared is the sum of the last column over them. `last`: its rows are a key, how many auctions of it have ended,
    and the mean price of the last so many of these."""

    name: str
    kinds: tuple[str, ...]
    make: Callable[[Streams], DataFrame]
    guess: tuple[float, float]
    keys: int = 0
    ends: str | None = None
    batch: Callable[[Streams], DataFrame] | None = None
    summed: bool = False
    last: int = 0

    @property
    def mode(self) -> str:
        return "update" if self.keys else "append"


QUERIES: dict[str, Query] = {}


def _query(
    *kinds: str, guess: tuple[float, float], **told: Any
) -> Callable[[Callable[[Streams], DataFrame]], Callable[[Streams], DataFrame]]:
    def register(make: Callable[[Streams], DataFrame]) -> Callable[[Streams], DataFrame]:
        name = make.__name__
        QUERIES[name] = Query(name, kinds, make, guess, **told)
        return make

    return register


def _timed(stream: DataFrame) -> DataFrame:
    return stream.withWatermark("date_time", DELAY)


@_query("bid", guess=(200, 17))
def q0(of: Streams) -> DataFrame:
    """Pass through."""
    return of["bid"].select("auction", "bidder", "price", "date_time", "extra")


@_query("bid", guess=(100, 15))
def q1(of: Streams) -> DataFrame:
    """Prices in another currency."""
    return of["bid"].selectExpr("auction", "bidder", "0.908D * price as price", "date_time", "extra")


@_query("bid", guess=(150, 15))
def q2(of: Streams) -> DataFrame:
    """Bids on some auctions."""
    return of["bid"].where("auction % 123 = 0").select("auction", "price")


@_query("person", "auction", guess=(7, 0.9))
def q3(of: Streams) -> DataFrame:
    """Who sells in some states, in a category."""
    sellers = _timed(of["person"]).where("state in ('OR', 'ID', 'CA')")
    auctions = _timed(of["auction"]).where("category = 10").select(F.col("id").alias("auction"), "seller")
    return auctions.join(sellers, auctions["seller"] == sellers["id"]).select("name", "city", "state", "auction")


@_query("bid", guess=(0.8, 0.25), ends="ended")
def q5(of: Streams) -> DataFrame:
    """The auctions with the most bids in ten seconds, every two."""
    sliding = F.window("date_time", "10 seconds", "2 seconds")
    counts = _timed(of["bid"]).groupBy(sliding, "auction").agg(F.count("*").alias("num"))
    counted = counts.select(F.window_time("window").alias("ended"), "auction", "num")
    again = F.window(F.window_time("window"), "2 seconds")
    most = counts.groupBy(again).agg(F.max("num").alias("most"))
    top = most.select(F.window_time("window").alias("until"), "most")
    same = (counted["ended"] == top["until"]) & (counted["num"] == top["most"])
    return counted.join(top, same).select("ended", "auction", "num")


@_query("bid", guess=(2, 0.15), ends="ended")
def q7(of: Streams) -> DataFrame:
    """The highest bids of every ten seconds."""
    bids = _timed(of["bid"])
    most = bids.groupBy(F.window("date_time", "10 seconds")).agg(F.max("price").alias("most"))
    top = most.select(F.window_time("window").alias("ended"), "most")
    each = bids.select("auction", "bidder", "price", "date_time", "extra")
    lately = F.expr("date_time > ended - interval 10 seconds and date_time <= ended")
    return each.join(top, (each["price"] == top["most"]) & lately).drop("most")


@_query("person", "auction", guess=(2, 0.15), ends="ended")
def q8(of: Streams) -> DataFrame:
    """New persons who opened an auction within the same ten seconds."""
    tumbling = F.window("date_time", "10 seconds")
    people = _timed(of["person"]).groupBy(tumbling, "id", "name").agg(F.count("*").alias("persons"))
    persons = people.select(F.window_time("window").alias("ended"), "id", "name")
    opened = _timed(of["auction"]).groupBy(tumbling, "seller").agg(F.count("*").alias("auctions"))
    sellers = opened.select(F.window_time("window").alias("until"), "seller")
    same = (persons["id"] == sellers["seller"]) & (persons["ended"] == sellers["until"])
    return persons.join(sellers, same).select("ended", "id", "name")


def _won(of: Streams) -> DataFrame:
    """`_winning` of tables."""
    bids, auctions = of["bid"], of["auction"].selectExpr("id", "seller", "category", "date_time as opened", "expires")
    valid = F.expr("auction = id and date_time between opened and expires")
    told = F.expr("struct(bidder, price, unix_micros(date_time) as at_us)")
    best = F.max_by(told, F.expr("struct(price, -unix_micros(date_time))")).alias("best")
    won = bids.join(auctions, valid).groupBy("auction", "seller", "category", "expires").agg(best)
    return won.selectExpr("auction", "seller", "category", "unix_micros(expires) as expires_us", "best.*")


def _winning(of: Streams) -> DataFrame:
    """The highest bids of auctions that have ended."""
    at = "unix_micros(date_time) as at_us"
    bid = [
        "auction",
        "date_time",
        at,
        "bidder",
        "price",
        *(f"null as {n}" for n in ("expires_us", "seller", "category")),
    ]
    auction = ["id as auction", "date_time", at, "null as bidder", "null as price"]
    auction += ["unix_micros(expires) as expires_us", "seller", "category"]
    both = _timed(of["auction"]).selectExpr(*auction).unionByName(_timed(of["bid"]).selectExpr(*bid))
    return both.groupBy("auction").transformWithState(Winning(), RESULT, "Append", "EventTime")


@_query("auction", "bid", guess=(0.05, 0.005), keys=1, batch=_won, last=1 << 62)
def q4(of: Streams) -> DataFrame:
    """The mean price of a category's auctions."""
    return _winning(of).groupBy("category").agg(F.count("*").alias("ended"), F.avg("price").alias("price"))


@_query("auction", "bid", guess=(0.05, 0.005), keys=1, batch=_won, last=10)
def q6(of: Streams) -> DataFrame:
    """The mean price of a seller's last ten auctions."""
    newest = F.expr("max_by(price, struct(expires_us, auction), 10)").alias("prices")
    sellers = _winning(of).groupBy("seller").agg(F.count("*").alias("ended"), newest)
    mean = "aggregate(prices, 0L, (sum, price) -> sum + price) / size(prices) as price"
    return sellers.selectExpr("seller", "ended", mean)


@_query("auction", "bid", guess=(0.05, 0.005), ends="expires_us", batch=_won)
def q9(of: Streams) -> DataFrame:
    """The highest bid of an auction, when it has ended."""
    return _winning(of)


@_query("bid", guess=(3, 0.5))
def q10(of: Streams) -> DataFrame:
    """A log of bids by day and minute; what is compared is what would be written, not the files."""
    days = F.date_format("date_time", "yyyy-MM-dd").alias("day"), F.date_format("date_time", "HH:mm").alias("minute")
    return of["bid"].select("auction", "bidder", "price", "date_time", "extra", *days)


@_query("bid", guess=(3.5, 0.4), ends="ended")
def q11(of: Streams) -> DataFrame:
    """Bids of a user until ten seconds of silence."""
    sessions = _timed(of["bid"]).groupBy(F.session_window("date_time", "10 seconds").alias("session"), "bidder")
    counted = sessions.agg(F.count("*").alias("bids"))
    return counted.select(F.col("session.start").alias("began"), F.col("session.end").alias("ended"), "bidder", "bids")


@_query("bid", guess=(2, 0.3), keys=3, summed=True)
def q12(of: Streams) -> DataFrame:
    """Bids of a user in ten seconds of processing time."""
    windows = (
        of["bid"].select("bidder", F.current_timestamp().alias("at")).groupBy("bidder", F.window("at", "10 seconds"))
    )
    return windows.agg(F.count("*").alias("bids"))


@_query("bid", guess=(5, 0.7))
def q13(of: Streams) -> DataFrame:
    """Bids with what a static table says of their auction."""
    side = of["bid"].sparkSession.range(10_000).selectExpr("id as key", "concat('value-', id) as value")
    bids = of["bid"].selectExpr("auction", "bidder", "price", "date_time", "auction % 10000 as key")
    return bids.join(F.broadcast(side), "key").select("auction", "bidder", "price", "date_time", "value")


@_query("bid", guess=(3.5, 0.6))
def q14(of: Streams) -> DataFrame:
    """Calculations on bids of a range of prices."""
    hour = F.hour("date_time")
    part = F.when(hour.between(8, 18), "dayTime").when((hour <= 6) | (hour >= 20), "nightTime").otherwise("otherTime")
    told = of["bid"].withColumn("price", F.expr("0.908D * price")).where("price > 1000000 and price < 50000000")
    letters = F.expr("length(extra) - length(replace(extra, 'c', ''))").alias("c_counts")
    return told.select("auction", "bidder", "price", part.alias("bid_time_type"), "date_time", "extra", letters)


_RANKS = ("price < 10000", "price >= 10000 and price < 1000000", "price >= 1000000")


def _distinct(what: str, condition: str | None = None) -> Column:
    """How many different values there are, of rows that satisfy a condition."""
    return F.size(F.collect_set(F.when(F.expr(condition), F.col(what)) if condition else F.col(what)))


def _ranked() -> list[Column]:
    counts = [F.count(F.when(F.expr(rank), 1)).alias(f"rank{n}_bids") for n, rank in enumerate(_RANKS, 1)]
    return [F.count("*").alias("total_bids"), *counts]


def _distincts() -> list[Column]:
    return [
        _distinct(what, rank).alias(f"{'total' if n == 0 else f'rank{n}'}_{what}s")
        for what in ("bidder", "auction")
        for n, rank in enumerate((None, *_RANKS))
    ]


def _day() -> Column:
    return F.date_format("date_time", "yyyy-MM-dd").alias("day")


@_query("bid", guess=(1.2, 0.35), keys=1)
def q15(of: Streams) -> DataFrame:
    """Bids, bidders and auctions of a day, by ranges of price."""
    return of["bid"].groupBy(_day()).agg(*_ranked(), *_distincts())


@_query("bid", guess=(1, 0.25), keys=2)
def q16(of: Streams) -> DataFrame:
    """The same by channel."""
    newest = F.max(F.date_format("date_time", "HH:mm")).alias("minute")
    return of["bid"].groupBy("channel", _day()).agg(newest, *_ranked(), *_distincts())


@_query("bid", guess=(2.8, 0.5), keys=2)
def q17(of: Streams) -> DataFrame:
    """Statistics of an auction's bids of a day."""
    prices = [f("price").alias(f"{f.__name__}_price") for f in (F.min, F.max, F.avg, F.sum)]
    return of["bid"].groupBy("auction", _day()).agg(*_ranked(), *prices)


@_query("bid", guess=(1.5, 0.45), keys=2)
def q18(of: Streams) -> DataFrame:
    """The last bid of a user on an auction."""
    bid = F.struct("price", "channel", "url", "extra")
    last = (
        of["bid"]
        .groupBy("bidder", "auction")
        .agg(F.max("date_time").alias("date_time"), F.max_by(bid, F.col("date_time")).alias("bid"))
    )
    return last.select("bidder", "auction", "date_time", "bid.*")


@_query("bid", guess=(3.5, 1), keys=2)
def q19(of: Streams) -> DataFrame:
    """The ten highest bids on an auction."""
    highest = F.expr("max_by(struct(bidder, price, date_time), struct(price, -unix_micros(date_time), bidder), 10)")
    best = of["bid"].groupBy("auction").agg(highest.alias("bids"))
    return best.select("auction", F.posexplode("bids").alias("place", "bid")).select("auction", "place", "bid.*")


@_query("auction", "bid", guess=(1.3, 0.3))
def q20(of: Streams) -> DataFrame:
    """Bids with their auctions, of a category."""
    auctions = (
        _timed(of["auction"])
        .where("category = 10")
        .selectExpr(
            "id", "item_name", "description", "initial_bid", "reserve", "date_time as opened", "expires", "seller"
        )
    )
    bids = _timed(of["bid"]).select("auction", "bidder", "price", "channel", "url", "date_time")
    return bids.join(auctions, bids["auction"] == auctions["id"]).drop("id")


@_query("bid", guess=(3, 0.5))
def q21(of: Streams) -> DataFrame:
    """The number of a bid's channel, from its name or its address."""
    known = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    cases = " ".join(f"when '{name}' then '{number}'" for name, number in known.items())
    number = f"case lower(channel) {cases} else regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) end as channel_id"
    told = of["bid"].selectExpr("auction", "bidder", "price", "channel", number)
    return told.where("channel_id != ''")


@_query("bid", guess=(4, 0.6))
def q22(of: Streams) -> DataFrame:
    """Parts of a bid's address."""
    parts = [f"split_part(url, '/', {n + 3}) as dir{n}" for n in (1, 2, 3)]
    return of["bid"].selectExpr("auction", "bidder", "price", "channel", *parts)


@_query("person", "auction", "bid", guess=(0.5, 0.1))
def q23(of: Streams) -> DataFrame:
    """Bids with their auctions and their bidders."""
    # Without a watermark: a bid that waits for its auction would be late to the second join.
    bids = of["bid"].select("auction", "bidder", "price", "channel", "url", "date_time")
    auctions = of["auction"].selectExpr("id as auction_id", "item_name", "category", "seller")
    persons = of["person"].selectExpr("id as person_id", "name", "city", "state")
    sold = bids.join(auctions, bids["auction"] == auctions["auction_id"])
    return sold.join(persons, sold["bidder"] == persons["person_id"]).drop("auction_id", "person_id")
