"""The query in Flink's SQL, view by view as in `bench.lrb.query`."""

from __future__ import annotations

from bench.flink.job import micros
from bench.lrb.query import MINUTES, PLACE, STOPPED, ZONE
from bench.lrb.traffic import FEET, SEGMENTS

_PLACE = ", ".join(f"`{name}`" for name in PLACE)
_SPOT = "`xway`, `dir`, `lane`, `pos`"


def views(window: int) -> dict[str, str]:
    """By name, in the order in which they build on each other."""
    half = window // 2
    return {
        "reports": f"SELECT event_time, `vid`, `speed`, `seg`, {_SPOT} FROM events WHERE `type` = 0",
        "cars": _windowed(
            f"{_PLACE}, `vid`", "SUM(`speed`) AS speeds, COUNT(*) AS readings", _tumble("reports", "event_time", window)
        ),
        "minutes": _windowed(
            _PLACE,
            "COUNT(*) AS cars, SUM(speeds) AS speeds, SUM(readings) AS readings",
            _tumble("cars", "rowtime", window),
        ),
        "speeds": _windowed(
            _PLACE,
            "(2 * SUM(speeds) + SUM(readings)) / (2 * SUM(readings)) AS speed",
            _hop("minutes", "rowtime", window, MINUTES * window),
        ),
        "standing": "SELECT * FROM reports WHERE `speed` = 0 AND `lane` BETWEEN 1 AND 3",
        "counted": _windowed(
            f"{_SPOT}, `vid`", "COUNT(*) AS reports", _hop("standing", "event_time", half, 2 * window)
        ),
        "stopped": f"SELECT * FROM counted WHERE reports >= {STOPPED}",
        "spots": _windowed(_SPOT, "COUNT(*) AS cars", _tumble("stopped", "rowtime", half)),
        "zones": (
            f"SELECT rowtime, `xway`, `dir`, CASE WHEN `dir` = 0 THEN `pos` / {FEET} - k ELSE `pos` / {FEET} + k END "
            f"AS `seg` FROM spots CROSS JOIN UNNEST(ARRAY{list(range(ZONE + 1))}) AS steps (k) WHERE cars >= 2"
        ),
        "inside": f"SELECT * FROM zones WHERE `seg` BETWEEN 0 AND {SEGMENTS - 1}",
        "closed": _windowed(_PLACE, "COUNT(*) AS accidents", _tumble("inside", "rowtime", half)),
        "known": f"SELECT m.*, s.speed FROM minutes AS m JOIN speeds AS s ON {_same('m', 's')}",
    }


def query() -> str:
    """The result's columns are those of the other systems; a minute's last moment is a millisecond before its end."""
    places = ", ".join(f"k.`{name}`" for name in PLACE)
    toll = (
        "CASE WHEN c.accidents IS NULL AND k.cars > 50 AND k.speed < 40 "
        "THEN 2 * (k.cars - 50) * (k.cars - 50) ELSE 0 END"
    )
    return (
        f"SELECT {micros('k.rowtime')} + 999999, {places}, k.cars, k.speed, {toll} "
        f"FROM known AS k LEFT JOIN closed AS c ON {_same('k', 'c')}"
    )


def _windowed(keys: str, aggregates: str, table: str) -> str:
    groups = f"window_start, window_end, window_time, {keys}"
    return f"SELECT window_time AS rowtime, {keys}, {aggregates} FROM TABLE({table}) GROUP BY {groups}"


def _tumble(table: str, time: str, seconds: int) -> str:
    return f"TUMBLE(TABLE {table}, DESCRIPTOR({time}), INTERVAL '{seconds}' SECOND(4))"


def _hop(table: str, time: str, slide: int, seconds: int) -> str:
    return f"HOP(TABLE {table}, DESCRIPTOR({time}), INTERVAL '{slide}' SECOND(4), INTERVAL '{seconds}' SECOND(4))"


def _same(one: str, other: str) -> str:
    return " AND ".join(f"{one}.`{name}` = {other}.`{name}`" for name in ("rowtime", *PLACE))
