"""Scenario files: TOML whose tables and keys are the fields of the dataclasses in `jobs` and `scenario`.

1. Lengths of time are numbers of seconds or intervals as users write them ("800 ms").
2. A key that does not exist, is missing or has a value of the wrong kind raises with its path and what would do.
3. Values can be replaced by path before they are read: "cluster.workers", "jobs.ba.count",
   "jobs.ba.stages.parse.cost.row".
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from headway.errors import InvalidOption
from headway.intervals import duration
from headway.simulate.jobs import Arrivals, Bursts, Cluster, Cost, Job, Spread, StageSpec, Window, invalid, is_number
from headway.simulate.scenario import Scenario

Reader = Callable[[str, Any], Any]


def load_scenario(path: str | Path, changes: Mapping[str, str] | None = None) -> Scenario:
    """The scenario of a file, with other values for some of its keys."""
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise InvalidOption(f"cannot read the scenario {path}: {error.strerror}; name a file that is there") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidOption(f"{path} is not TOML: {error}; mend it there") from None
    for key, value in (changes or {}).items():
        _change(table, key, value)
    table.setdefault("name", path.stem)
    try:
        return parse(table)
    except InvalidOption as error:
        raise InvalidOption(f"{path}: {error}") from None


def parse(table: Mapping[str, Any]) -> Scenario:
    """The scenario that a parsed file says."""
    scenario: Scenario = _make(Scenario, "", table)
    return scenario


def _change(table: Any, key: str, text: str) -> None:
    *path, last = key.split(".")
    for step in path:
        table = _step(table, step, key)
    if not isinstance(table, dict):
        raise invalid(key, "there is no such table; name one that the file has")
    try:
        table[last] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        table[last] = text


def _step(table: Any, step: str, key: str) -> Any:
    if isinstance(table, list):
        found = next((entry for entry in table if isinstance(entry, dict) and entry.get("name") == step), None)
    else:
        found = table.setdefault(step, {}) if isinstance(table, dict) else None
    if found is None:
        raise invalid(key, f"there is no {step!r}; name one that the file has")
    return found


def _make(kind: Any, where: str, table: Any) -> Any:
    if not isinstance(table, dict):
        raise invalid(where, f"{table!r} is no table; write one with {', '.join(_READERS[kind])}")
    readers = _READERS[kind]
    prefix = f"{where}." if where else ""
    for key in table:
        if key not in readers:
            raise invalid(f"{prefix}{key}", f"there is no such key; there are {', '.join(readers)}")
    for field in fields(kind):
        if field.default is MISSING and field.default_factory is MISSING and field.name not in table:
            raise invalid(f"{prefix}{field.name}", "it is missing; add it")
    return kind(**{key: readers[key](f"{prefix}{key}", value) for key, value in table.items()})


def _table(kind: Any) -> Reader:
    return lambda where, value: _make(kind, where, value)


def _tables(kind: Any) -> Reader:
    def read(where: str, value: Any) -> Any:
        if not isinstance(value, list):
            raise invalid(where, f"it is no list of tables; write [[{where}]]")
        names = [entry.get("name", i) if isinstance(entry, dict) else i for i, entry in enumerate(value)]
        return tuple(_make(kind, f"{where}.{name}", entry) for name, entry in zip(names, value, strict=True))

    return read


def _time(where: str, value: Any) -> float:
    try:
        return duration(value)
    except InvalidOption as error:
        raise invalid(where, str(error)) from None


def _number(where: str, value: Any) -> Any:
    if not is_number(value):
        raise invalid(where, f"{value!r} is no number; use one")
    return value


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise invalid(where, f"{value!r} is no text; put it in quotes")
    return value


def _flag(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise invalid(where, f"{value!r} will not do; use true or false")
    return value


def _phase(where: str, value: Any) -> Any:
    return value if value in ("even", "random") else _time(where, value)


def _spread(where: str, value: Any) -> Any:
    return _make(Spread, where, value) if isinstance(value, dict) else Spread(_time(where, value))


def _window(where: str, value: Any) -> Any:
    return _make(Window, where, value) if isinstance(value, dict) else Window(_time(where, value))


def _list(read: Reader) -> Reader:
    def of(where: str, value: Any) -> Any:
        if not isinstance(value, list):
            raise invalid(where, f"{value!r} is no list; write [ … ]")
        return tuple(read(where, entry) for entry in value)

    return of


def _settings(where: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise invalid(where, f"{value!r} is no table; write [{where}]")
    return {key: str(entry).lower() if isinstance(entry, bool) else str(entry) for key, entry in value.items()}


_READERS: dict[Any, dict[str, Reader]] = {
    Spread: {"mean": _time, "scv": _number},
    Bursts: {"every": _time, "length": _time, "factor": _number},
    Arrivals: {
        "rate": _number, "rows": _number, "process": _text, "phase": _phase, "pareto": _number, "skew": _number,
        "bursts": _table(Bursts), "delay": _spread,
    },
    Cost: {"message": _time, "row": _time, "trigger": _time, "scv": _number},
    Window: {"size": _time, "slide": _time, "delay": _time, "first": _time},
    StageSpec: {
        "name": _text, "kind": _text, "parallelism": _number, "cost": _table(Cost), "inputs": _list(_text),
        "edge": _text, "window": _window, "arrivals": _table(Arrivals), "selectivity": _number, "groups": _number,
        "nodes": _list(_number),
    },
    Job: {
        "name": _text, "stages": _tables(StageSpec), "latency": _time, "group": _text, "count": _number,
        "start": _time, "end": _time, "event_time": _flag,
    },
    Cluster: {
        "nodes": _number, "workers": _number, "exchange": _time, "exchange_row": _time, "channel": _number,
        "overhead": _time, "switch": _time,
    },
    Scenario: {
        "name": _text, "jobs": _tables(Job), "cluster": _table(Cluster), "seconds": _time, "warm_up": _time,
        "seed": _number, "drain": _flag, "x": _number, "settings": _settings,
    },
}  # fmt: skip
