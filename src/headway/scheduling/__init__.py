"""Which operator runs next. Pure: no clock, no socket, no thread."""

from collections.abc import Mapping
from typing import Any

from headway.errors import InvalidOption
from headway.intervals import duration
from headway.scheduling.api import Policy, Queue
from headway.scheduling.arrival import Arrival
from headway.scheduling.contexts import Converter, PriorityContext, Profile, ReplyContext
from headway.scheduling.deadlines import Deadlines, Knowledge
from headway.scheduling.edf import Edf
from headway.scheduling.fifo import Fifo
from headway.scheduling.llf import Llf
from headway.scheduling.orleans import Orleans
from headway.scheduling.progress import ProgressMap, Windows
from headway.scheduling.queue import GRAIN, PATIENCE
from headway.scheduling.sjf import Sjf
from headway.scheduling.tokens import Tokens

_KINDS: tuple[type[Policy], ...] = (Llf, Edf, Sjf, Fifo, Orleans, Tokens, Arrival)
POLICIES = {kind.name: kind for kind in _KINDS}
DEFAULT = "llf"
_PREFIX = "headway.scheduling."
_SETTINGS = ("semantics", "topology", "costerror", "grain", "patience")


def make_policy(chosen: str | Policy, conf: Mapping[str, Any] | None = None) -> Policy:
    """The policy of a name, with the settings of `conf`; one that is a policy already is used as it is."""
    if isinstance(chosen, Policy):
        return chosen
    kind = POLICIES.get(chosen) if isinstance(chosen, str) else None
    if kind is None:
        raise InvalidOption(f"there is no scheduling policy {chosen!r}; there are {', '.join(sorted(POLICIES))}")
    if issubclass(kind, Deadlines):
        return _with_settings(kind, {name.lower(): value for name, value in (conf or {}).items()})
    return kind()


def _with_settings(kind: type[Deadlines], conf: Mapping[str, Any]) -> Deadlines:
    for name in conf:
        if name.startswith(_PREFIX) and name.removeprefix(_PREFIX) not in _SETTINGS:
            raise InvalidOption(f"there is no setting {name!r}; of {_PREFIX}* there are {', '.join(_SETTINGS)}")
    knowledge = Knowledge(_flag(conf, "semantics"), _flag(conf, "topology"), _length(conf, "costerror", 0.0))
    return kind(knowledge, _length(conf, "grain", GRAIN), _length(conf, "patience", PATIENCE))


def _flag(conf: Mapping[str, Any], name: str) -> bool:
    value = str(conf.get(_PREFIX + name, True)).lower()
    if value not in ("true", "false"):
        raise InvalidOption(f"{_PREFIX}{name} is {conf[_PREFIX + name]!r}; use true or false")
    return value == "true"


def _length(conf: Mapping[str, Any], name: str, default: float) -> float:
    value = conf.get(_PREFIX + name, default)
    try:
        length = duration(value)
    except InvalidOption as error:
        raise InvalidOption(f"{_PREFIX}{name}: {error}") from None
    if length < 0:
        raise InvalidOption(f"{_PREFIX}{name} is {value!r}; it may be zero, but not less")
    return length


__all__ = [
    "DEFAULT",
    "POLICIES",
    "Arrival",
    "Converter",
    "Deadlines",
    "Edf",
    "Fifo",
    "Knowledge",
    "Llf",
    "Orleans",
    "Policy",
    "PriorityContext",
    "Profile",
    "ProgressMap",
    "Queue",
    "ReplyContext",
    "Sjf",
    "Tokens",
    "Windows",
    "make_policy",
]
