"""Reading options of sources: types, durations, and errors that name the option and what it may be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from pyspark.sql import SparkSession

from headway.dataflow.graph import Source
from headway.errors import InvalidOption, UnsupportedPlan

POLL_INTERVAL = "headway.pollinterval"

_DURATION = re.compile(r"\s*(-?\d+)\s*([a-z]*)\s*", re.IGNORECASE)
_UNIT_MS = {
    "us": 1e-3,
    "ms": 1.0,
    "s": 1e3,
    "m": 60e3,
    "min": 60e3,
    "h": 3600e3,
    "d": 86400e3,
}


def integer(source: Source, name: str, default: int, least: int = 1) -> int:
    """A whole number of at least `least`."""
    text = source.option(name)
    if text is None:
        return default
    try:
        value = int(text.strip())
    except ValueError:
        value = least - 1
    if value < least:
        raise InvalidOption(f"option {name} of source {source.format} is {text!r}: give a whole number >= {least}")
    return value


def boolean(source: Source, name: str, default: bool) -> bool:
    """`true` or `false`, in any case."""
    text = source.option(name)
    if text is None:
        return default
    if text.strip().lower() not in ("true", "false"):
        raise InvalidOption(f"option {name} of source {source.format} is {text!r}: give true or false")
    return text.strip().lower() == "true"


def choice(source: Source, name: str, default: str, among: Iterable[str]) -> str:
    """One of the words `among` (which are in upper case), written in any case."""
    text = source.option(name, default) or default
    if text.upper() not in (allowed := list(among)):
        raise InvalidOption(
            f"option {name} of source {source.format} is {text!r}: give one of {', '.join(sorted(allowed))}"
        )
    return text.upper()


def milliseconds(source: Source, name: str, default: str, bare_unit: str = "ms") -> int:
    """A duration as Spark's own settings write it: `500ms`, `5s`, `2m`, `7d`; a bare number counts `bare_unit`."""
    text = source.option(name, default) or default
    found = _DURATION.fullmatch(text)
    unit = (found[2].lower() or bare_unit) if found else ""
    if found is None or unit not in _UNIT_MS or int(found[1]) < 0:
        raise InvalidOption(
            f"option {name} of source {source.format} is {text!r}: give a number and one of {', '.join(_UNIT_MS)}"
        )
    return int(int(found[1]) * _UNIT_MS[unit])


def poll_interval(source: Source, default: float) -> float:
    """Seconds between looks for new data: the option headway.pollInterval (seconds), or `default`."""
    text = source.option(POLL_INTERVAL)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise InvalidOption(f"option headway.pollInterval is {text!r}: give a number of seconds above 0")
    return value


def refuse_unknown(source: Source, known: Iterable[str], unsupported: Iterable[str] = ()) -> None:
    """Raise for the first option that is not in `known`: one of Spark's falls back, any other is a mistake."""
    lower = {name.lower(): name for name in known}
    foreign = {name.lower() for name in unsupported}
    for name, _ in source.options:
        if name.lower() in lower or name == POLL_INTERVAL:
            continue
        # Names with a dot are settings of Hadoop file systems (fs.s3a.access.key), which only Spark's readers take.
        if name.lower() in foreign or "." in name:
            raise UnsupportedPlan(f"option {name} of source {source.format}")
        near = difflib.get_close_matches(name.lower(), lower, n=1)
        hint = f"; did you mean {lower[near[0]]}?" if near else f"; it has {', '.join(sorted(lower.values()))}"
        raise InvalidOption(f"source {source.format} has no option {name}{hint}")


def session_setting(name: str, default: str) -> str:
    """A setting of the active Spark session; sources are opened in the driver, where there is one."""
    session = SparkSession.getActiveSession()
    return default if session is None else session.conf.get(name, default) or default


def session_time_zone(source: Source) -> str:
    """The zone in which times without one are meant: the option timeZone, or the session's."""
    return source.option("timezone") or session_setting("spark.sql.session.timeZone", "UTC")
