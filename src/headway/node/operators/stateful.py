"""What operators share that hold the state of key buckets.

A checkpoint has all of a state, or what was added to the one before, where the kernel can tell: to write all of a large
state every few seconds would take the time of rows. It has all again when what was added is much more than what is
held, and when the parts have become many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from headway.kernels.api import Changes
from headway.node.operators.base import Operator
from headway.node.operators.host import Host, State
from headway.node.outputs import Share
from headway.node.ports import ChannelKey
from headway.observe.metrics import StateMetrics

MOST_PARTS = 128
"""Files that a state is in at most."""
_MOST_ADDED = 2
"""Times the memory that the state takes, of what was added since all of it was written."""


class _Kernel(Protocol):
    def snapshot(self) -> pa.Table: ...

    def changes(self) -> Changes | None: ...

    @property
    def bytes(self) -> int: ...

    def restore(self, state: pa.Table) -> None: ...


KernelT = TypeVar("KernelT", bound=_Kernel)


class StatefulOperator(Operator, Generic[KernelT]):
    """Its state is its kernel's; of a state that is restored it takes the rows of its own buckets.

    `name` is what Spark calls such an operator.
    """

    def __init__(
        self, host: Host, stage: int, channels: Iterable[ChannelKey], kernel: KernelT, name: str, share: Share
    ) -> None:
        super().__init__(host, stage, channels)
        self._kernel = kernel
        self._name = name
        self._share = share
        self._parts, self._added = 0, 0
        """In how many parts the state is written, and the bytes of those that came to the first."""

    @property
    def counts(self) -> StateMetrics:
        """What is told of the state, in this interval."""
        return self.host.metrics.state(str(self.stage), self._name)

    def snapshot(self) -> State:
        changes = self._kernel.changes() if self._parts < MOST_PARTS else None
        if changes is not None and self._added + changes.bytes <= _MOST_ADDED * self._kernel.bytes:
            self._parts += 1
            self._added += changes.bytes
            return State(changes.table, self.inputs.current.value, adds=True)
        self._parts, self._added = 1, 0
        return State(self._kernel.snapshot(), self.inputs.current.value)

    def restore(self, states: Sequence[State]) -> None:
        # What any operator has ended must not begin again: the highest of what they had reached holds for all.
        reached = [state.value for state in states if state.value is not None]
        if reached:
            self.inputs.restore(max(reached))
        self._parts = MOST_PARTS  # other operators may have written what is here now
        for state in states:
            table = state.rows()
            for batch in [] if table is None else table.to_batches():
                mine = self._share.of(batch)
                if mine.num_rows:
                    self._kernel.restore(pa.Table.from_batches([mine]))
