"""How an operator's output is dealt to the operators of one downstream stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from headway.kernels.hashing import deal, owners_of
from headway.node.message import Message
from headway.node.ports import Port


class Share(NamedTuple):
    """Which part of a stage's state an operator holds: by the first `keys` columns, the buckets of one of `owners`."""

    keys: int
    owner: int
    owners: int

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of `batch` that belong to it."""
        if self.owners == 1 or not self.keys:
            return batch
        owners = owners_of(batch, range(self.keys), self.owners)
        return batch.take(pa.array(np.flatnonzero(owners == self.owner)))


class Output(Protocol):
    """The edge to one downstream stage."""

    ports: Sequence[Port]

    def rows(self, message: Message) -> None:
        """Deal a message with rows."""


class Forward:
    """Everything to the one operator of the same node."""

    def __init__(self, port: Port) -> None:
        self.ports: Sequence[Port] = (port,)

    def rows(self, message: Message) -> None:
        self.ports[0].send(message)


class Spread:
    """By source partition."""

    def __init__(self, ports: Sequence[Port]) -> None:
        self.ports = ports

    def rows(self, message: Message) -> None:
        self.ports[message.partition % len(self.ports)].send(message)


class ByKey:
    """Every row to the owner of its key's bucket."""

    def __init__(self, ports: Sequence[Port], keys: Sequence[int]) -> None:
        self.ports = ports
        self._keys = keys

    def rows(self, message: Message) -> None:
        batch = message.batch
        assert isinstance(batch, pa.RecordBatch)
        if len(self.ports) == 1:
            self.ports[0].send(message)
            return
        for port, part in zip(self.ports, deal(batch, self._keys, len(self.ports)), strict=True):
            if part.num_rows:
                port.send(message._replace(batch=part, size=message.size * part.num_rows // batch.num_rows))
