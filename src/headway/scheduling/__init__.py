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
from headway.scheduling.enjima import Enjima
from headway.scheduling.fcfs import Fcfs
from headway.scheduling.fifo import Fifo
from headway.scheduling.flow import Flow, Lag
from headway.scheduling.highest_rate import HighestRate
from headway.scheduling.llf import Llf
from headway.scheduling.min_cost import MinCost
from headway.scheduling.min_latency import MinLatency
from headway.scheduling.orleans import Orleans
from headway.scheduling.pace import Pace
from headway.scheduling.progress import ProgressMap, Windows
from headway.scheduling.queue import GRAIN, PATIENCE
from headway.scheduling.round_robin import RoundRobin
from headway.scheduling.sjf import Sjf
from headway.scheduling.slack import Slack
from headway.scheduling.state_queue import PERIOD
from headway.scheduling.tokens import Tokens

_KINDS: tuple[type[Policy], ...] = (
    *(Llf, Edf, Sjf, Fifo, Orleans, Tokens, Arrival),
    *(Enjima, Fcfs, MinLatency, MinCost, RoundRobin, HighestRate, Slack),
)
POLICIES = {kind.name: kind for kind in _KINDS}
DEFAULT = "llf"
_PREFIX = "headway.scheduling."
_SETTINGS = ("semantics", "topology", "costError", "grain", "patience", "period", "threads")


def make_policy(chosen: str | Policy, conf: Mapping[str, Any] | None = None) -> Policy:
    """The policy of a name, with the settings of `conf`; one that is a policy already is used as it is."""
    if isinstance(chosen, Policy):
        return chosen
    kind = POLICIES.get(chosen) if isinstance(chosen, str) else None
    if kind is None:
        raise InvalidOption(f"there is no scheduling policy {chosen!r}; there are {', '.join(sorted(POLICIES))}")
    settings = _settings(conf or {})
    if kind is Enjima:
        return Enjima(_length(settings, "period", PERIOD))
    return _with_settings(kind, settings) if issubclass(kind, Deadlines) else kind()


def thread_per_operator(conf: Mapping[str, Any]) -> bool:
    """Whether operators have threads of their own, which the operating system schedules: for experiments."""
    chosen = str(_settings(conf).get(_PREFIX + "threads", "one")).lower()
    if chosen not in ("one", "operators"):
        raise InvalidOption(f"{_PREFIX}threads is {chosen!r}; use one or operators")
    return chosen == "operators"


def _settings(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Those of scheduling, by their names in lower case: case does not count, as in Spark's."""
    own = {name.lower(): value for name, value in conf.items() if name.lower().startswith(_PREFIX)}
    unknown = own.keys() - {(_PREFIX + name).lower() for name in _SETTINGS}
    if unknown:
        names = ", ".join(_PREFIX + name for name in _SETTINGS)
        raise InvalidOption(f"there is no setting {min(unknown)!r}; there are {names}")
    return own


def _with_settings(kind: type[Deadlines], conf: Mapping[str, Any]) -> Deadlines:
    knowledge = Knowledge(_flag(conf, "semantics"), _flag(conf, "topology"), _length(conf, "costError", 0.0))
    return kind(knowledge, _length(conf, "grain", GRAIN), _length(conf, "patience", PATIENCE))


def _flag(conf: Mapping[str, Any], name: str) -> bool:
    value = conf.get(_PREFIX + name, True)
    if str(value).lower() not in ("true", "false"):
        raise InvalidOption(f"{_PREFIX}{name} is {value!r}; use true or false")
    return str(value).lower() == "true"


def _length(conf: Mapping[str, Any], name: str, default: float) -> float:
    value = conf.get((_PREFIX + name).lower(), default)
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
    "Enjima",
    "Fcfs",
    "Fifo",
    "Flow",
    "HighestRate",
    "Knowledge",
    "Lag",
    "Llf",
    "MinCost",
    "MinLatency",
    "Orleans",
    "Pace",
    "Policy",
    "PriorityContext",
    "Profile",
    "ProgressMap",
    "Queue",
    "ReplyContext",
    "RoundRobin",
    "Sjf",
    "Slack",
    "Tokens",
    "Windows",
    "make_policy",
    "thread_per_operator",
]
