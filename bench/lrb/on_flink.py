"""The query in Flink's SQL, view by view as in `bench.lrb.query`.

1. What the other systems join by the time of a result, Flink joins by its minute: a window join, which keeps a window's
   rows until it ends and no longer.
2. A union makes the segments of an accident's zone: behind an array that becomes rows, Flink knows no event time.
3. Of the accidents of every half minute only those at a minute's end meet a toll; Flink is spared the others.
"""

from __future__ import annotations

from bench.flink.job import micros
from bench.lrb.query import MINUTES, PLACE, STOPPED, ZONE
from bench.lrb.traffic import FEET, SEGMENTS

_PLACE = ", ".join(f"`{name}`" for name in PLACE)
_SPOT = "`xway`, `dir`, `lane`, `pos`"
_WINDOW = ("window_start", "window_end")


def views(window: int) -> dict[str, str]:
    """By name, in the order in which they build on each other."""
    each = f"{_PLACE}, `vid`"
    return {
        "reports": f"SELECT event_time, `vid`, `speed`, `seg`, {_SPOT} FROM events WHERE `type` = 0",
        "cars": _windowed(
            each, "SUM(`speed`) AS speeds, COUNT(*) AS readings", _tumble("reports", window, "event_time")
        ),
        "minutes": _windowed(
            _PLACE, "COUNT(*) AS cars, SUM(speeds) AS speeds, SUM(readings) AS readings", _tumble("cars", window)
        ),
        "lately": _windowed(
            _PLACE,
            "(2 * SUM(speeds) + SUM(readings)) / (2 * SUM(readings)) AS speed",
            _hop("minutes", window, MINUTES * window),
        ),
        "standing": "SELECT * FROM reports WHERE `speed` = 0 AND `lane` BETWEEN 1 AND 3",
        "counted": _windowed(
            f"{_SPOT}, `vid`", "COUNT(*) AS reports", _hop("standing", window, 2 * window, "event_time")
        ),
        "stopped": f"SELECT * FROM counted WHERE reports >= {STOPPED}",
        "spots": _windowed(_SPOT, "COUNT(*) AS cars", _tumble("stopped", window)),
        "zones": " UNION ALL ".join(map(_zone, range(ZONE + 1))),
        "inside": f"SELECT * FROM zones WHERE `seg` BETWEEN 0 AND {SEGMENTS - 1}",
        "closed": _windowed(_PLACE, "COUNT(*) AS accidents", _tumble("inside", window)),
        "known": (
            f"SELECT m.window_start, m.window_end, {_of('m')}, m.cars, s.speed FROM {_rows('minutes', window, 'm')} "
            f"JOIN {_rows('lately', window, 's')} ON {_same('m', 's')}"
        ),
        "barred": f"SELECT * FROM TABLE({_tumble('closed', window)})",
    }


def query() -> str:
    """The result's columns are those of the other systems."""
    toll = (
        "CASE WHEN c.accidents IS NULL AND k.cars > 50 AND k.speed < 40 "
        "THEN 2 * (k.cars - 50) * (k.cars - 50) ELSE 0 END"
    )
    return (
        f"SELECT {micros('k.window_end')} - 1, {_of('k')}, k.cars, k.speed, {toll} "
        f"FROM known AS k LEFT JOIN barred AS c ON {_same('k', 'c')}"
    )


def _zone(ahead: int) -> str:
    """The segments from which accidents lie so far ahead."""
    at = f"`pos` / {FEET}"
    segment = f"CASE WHEN `dir` = 0 THEN {at} - {ahead} ELSE {at} + {ahead} END AS `seg`"
    return f"SELECT rowtime, `xway`, `dir`, {segment} FROM spots WHERE cars >= 2"


def _windowed(keys: str, aggregates: str, table: str) -> str:
    groups = f"window_start, window_end, window_time, {keys}"
    return f"SELECT window_time AS rowtime, {keys}, {aggregates} FROM TABLE({table}) GROUP BY {groups}"


def _tumble(table: str, seconds: int, time: str = "rowtime") -> str:
    return f"TUMBLE(TABLE {table}, DESCRIPTOR({time}), {_interval(seconds)})"


def _hop(table: str, slide: int, seconds: int, time: str = "rowtime") -> str:
    return f"HOP(TABLE {table}, DESCRIPTOR({time}), {_interval(slide)}, {_interval(seconds)})"


def _interval(seconds: int) -> str:
    return f"INTERVAL '{seconds}' SECOND(4)"


def _rows(table: str, window: int, name: str) -> str:
    """A view's rows with the minute of each."""
    return f"(SELECT * FROM TABLE({_tumble(table, window)})) AS {name}"


def _of(table: str) -> str:
    return ", ".join(f"{table}.`{name}`" for name in PLACE)


def _same(one: str, other: str) -> str:
    return " AND ".join(f"{one}.`{name}` = {other}.`{name}`" for name in (*_WINDOW, *PLACE))
