"""Table 1 and Fig. 4, the worked example: five operators, one worker, five decisions against eight.

A feeds B, B feeds C and D, both feed E. A row costs 0.5 ms everywhere; a batch has at most four rows. The table has C
before D, and says that C's output cost is the lower one. With the selectivities that it prints, 0.25 and 0.3, it is the
higher one by the paper's own equation: so the two change places here, unless they are given each other's selectivity.
The number of decisions is the table's either way. "Enough" are four waiting rows for a threshold of four.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.scheduling import Converter, Enjima, MinLatency, Policy, Profile, ReplyContext
from headway.scheduling.contexts import EARLIEST
from headway.scheduling.thresholds import Range

COST = 0.0005
BATCH = 4
ROWS = 18
"""What the table's schedules take."""
SELECTIVITY = {"A": 1.0, "B": 1.0, "C": 0.25, "D": 0.3, "E": 1.0}
EXCHANGED = SELECTIVITY | {"C": 0.3, "D": 0.25}
PENDING = {"A": 4, "B": 2, "C": 4, "D": 4, "E": 2}
DOWNSTREAM = {"A": "B", "B": "CD", "C": "E", "D": "E", "E": ""}


@dataclass(eq=False)
class Operator:
    """One of the five: `left` is what it owes of fractions of rows."""

    name: str
    selectivity: float
    profile: Profile = field(default_factory=Profile)
    converters: dict[str, Converter] = field(default_factory=dict)
    left: float = 0.0


def enjima() -> Policy:
    """The event threshold stays at 4, the idle threshold at 5 ms, for all operators, as in the paper."""
    return Enjima(events=Range(4, 4, 0), idle=Range(0.005, 0.005, 0), least_rows=BATCH, everywhere=True)


def schedule(policy: Policy, selectivity: dict[str, float]) -> list[str]:
    """The operators in the order in which they run, until 18 rows have been taken."""
    operators = _operators(policy, selectivity)
    queue, now, order = policy.queue(), 0.0, []
    for operator in operators.values():
        queue.push(operator, EARLIEST, 0, now)
    while sum(operator.profile.flow.taken for operator in operators.values()) < ROWS:
        chosen = queue.pop(now)
        if chosen is None:
            now = queue.wakes(now)  # type: ignore[attr-defined]
            continue
        order.append(chosen.name)
        now += COST * _run(chosen, operators)
        for operator in operators.values():
            if operator.profile.flow.pending:
                queue.push(operator, EARLIEST, 0, now)
        queue.done(chosen, now)
    return order


def _operators(policy: Policy, selectivity: dict[str, float]) -> dict[str, Operator]:
    """In their first state: all have just run, and know what is downstream."""
    operators = {name: Operator(name, share) for name, share in selectivity.items()}
    for name, operator in reversed(operators.items()):
        flow = operator.profile.flow
        flow.stage, flow.cost, flow.selectivity, flow.pending, flow.last = name, COST, selectivity[name], 0, 0.0
        flow.came(PENDING[name])
        for below in DOWNSTREAM[name]:
            converter = operator.converters[below] = Converter("query")
            policy.process_reply(converter, below, _reply(policy, operators[below]))
        _reply(policy, operator)
    return operators


def _reply(policy: Policy, operator: Operator) -> ReplyContext:
    return policy.prepare_reply(operator.profile, list(operator.converters.values()), 0)


def _run(operator: Operator, operators: dict[str, Operator]) -> int:
    """Take a batch; gives its rows."""
    flow = operator.profile.flow
    rows = min(flow.pending, BATCH)
    flow.took(rows)
    operator.left += rows * operator.selectivity
    given = int(operator.left)
    operator.left -= given
    flow.gave(given)
    for below in DOWNSTREAM[operator.name]:
        operators[below].profile.flow.came(given)
    return rows


def table() -> dict[str, list[str]]:
    """The two columns of the table."""
    return {"enjima": schedule(enjima(), SELECTIVITY), "ml": schedule(MinLatency(), SELECTIVITY)}
