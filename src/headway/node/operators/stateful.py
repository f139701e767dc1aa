"""What operators share that hold the state of key buckets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from headway.node.operators.base import Operator
from headway.node.operators.host import Host, State
from headway.node.outputs import Share
from headway.node.ports import ChannelKey
from headway.observe.metrics import StateMetrics


class _Kernel(Protocol):
    def snapshot(self) -> pa.Table: ...

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

    @property
    def counts(self) -> StateMetrics:
        """What is told of the state, in this interval."""
        return self.host.metrics.state(str(self.stage), self._name)

    def snapshot(self) -> State:
        return State(self._kernel.snapshot(), self.inputs.current.value)

    def restore(self, states: Sequence[State]) -> None:
        # What any operator has ended must not begin again: the highest of what they had reached holds for all.
        reached = [state.value for state in states if state.value is not None]
        if reached:
            self.inputs.restore(max(reached))
        for state in states:
            for batch in [] if state.table is None else state.table.to_batches():
                mine = self._share.of(batch)
                if mine.num_rows:
                    self._kernel.restore(pa.Table.from_batches([mine]))
