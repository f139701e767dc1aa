"""What an operator needs of the deployment it belongs to, and what it puts in a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from headway.memory import Account, Memory
from headway.node.message import Barrier
from headway.observe.metrics import QueryMetrics
from headway.scheduling import Pace
from headway.threads import Threads

if TYPE_CHECKING:
    from headway.node.dispatcher import Dispatcher
    from headway.node.operators.base import Operator


@dataclass
class State:
    """What an operator puts in a checkpoint: rows, and a JSON value. `adds`: the rows come to those of the checkpoint
    before, they do not replace them; then the table may still have to be made, by the thread that writes it."""

    table: pa.Table | Callable[[], pa.Table] | None = None
    value: Any = None
    adds: bool = False

    def rows(self) -> pa.Table | None:
        """The table, made now if it has to be."""
        return self.table() if callable(self.table) else self.table


class Host(Protocol):
    """What an operator needs of the deployment it belongs to."""

    metrics: QueryMetrics
    latency: float | None
    dispatcher: Dispatcher
    threads: Threads
    account: Account
    memory: Memory
    rows_per_block: int | None
    pace: Pace
    nested: float
    """Seconds that operators took, in this run, inside of the one that runs."""

    def now(self) -> float: ...

    def arrival(self) -> int: ...

    def burst(self) -> float:
        """For how long an operator takes messages before the loop looks around."""

    def sources(self) -> int:
        """How many sources the node polls, of all queries."""

    def notify(self, operator: Operator) -> None:
        """From any thread: run the operator's `schedule` soon."""

    def at(self, when: float, operator: Operator) -> None:
        """Run the operator's `wake` at `when`."""

    def passed(self, operator: Operator, barrier: Barrier, state: State) -> None:
        """The operator is through the barrier with this state."""
