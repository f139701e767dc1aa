"""First come, first served: in the order in which messages came to operators, a run each."""

from __future__ import annotations

from headway.scheduling.arrival import Arrival


class Fcfs(Arrival):
    """Arrival order, by the name that Enjima's comparisons have for it."""

    name = "fcfs"
