"""Which operator runs next. Pure: no clock, no socket, no thread."""

from headway.errors import InvalidOption
from headway.scheduling.api import Head, Policy
from headway.scheduling.fifo import Fifo

POLICIES = {"fifo": Fifo}


def make_policy(name: str) -> Policy:
    """The policy called `name`."""
    if name not in POLICIES:
        raise InvalidOption(f"there is no scheduling policy {name!r}; there are {', '.join(sorted(POLICIES))}")
    return POLICIES[name]()


__all__ = ["POLICIES", "Fifo", "Head", "Policy", "make_policy"]
