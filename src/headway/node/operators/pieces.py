"""How many rows a chain takes at a time, so that what it makes of them fits where it goes.

1. Rows of fixed width, and rows that come out as they went in, are bounded by what went in. A chain that makes text or
   lists may make a gigabyte of a batch of numbers: it takes so many rows that a few megabytes come out, as far as the
   rows before tell, and `PROBE` while none do.
2. What it does not take goes back to the front of its channel, and runs when there is room again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headway.dataflow.graph import Expand, Filter, Generate, Observe, Project, StaticJoin, Watermark
from headway.dataflow.types import arrow_type
from headway.kernels.api import Chain
from headway.memory import record_batch
from headway.node.message import Message
from headway.node.ports import Channel

if TYPE_CHECKING:
    from headway.node.operators.base import Operator

PIECE = 4 << 20
PROBE = 4
_MAKE = (Project, Expand, Generate, StaticJoin)
_PASS = (Filter, Watermark, Observe)
"""Steps for which it does not matter what else is in a batch: they make rows, or pass on what they get."""


def pieces_of(chain: Chain) -> Pieces | None:
    """None: the chain needs none."""
    makes = any(isinstance(step, _MAKE) for step in chain.steps)
    if chain.aggregate is not None or not makes or not all(isinstance(step, _MAKE + _PASS) for step in chain.steps):
        return None
    fixed = all(pa.types.is_primitive(arrow_type(column.type)) for column in chain.steps[-1].schema)
    return None if fixed else Pieces()


class Pieces:
    """See the module."""

    def __init__(self) -> None:
        self._width: float | None = None
        """Bytes that come out per row taken; None until some have."""

    def first(self, operator: Operator, channel: Channel, message: Message) -> Message:
        """As much of a message as it takes now."""
        most = PROBE if self._width is None else max(1, int(PIECE / max(self._width, 1.0)))
        assert message.batch is not None
        if message.batch.num_rows <= most:
            return message
        batch = record_batch(message.batch)
        operator.put_back(channel, _part(message, batch, batch.slice(most)))
        return _part(message, batch, batch.slice(0, most))

    def made(self, taken: int, given: pa.RecordBatch | None) -> None:
        """So many rows have been taken, and these came out."""
        size = 0 if given is None else given.nbytes
        if size or self._width is not None:
            self._width = size / taken


def _part(message: Message, whole: pa.RecordBatch, part: pa.RecordBatch) -> Message:
    return message._replace(batch=part, size=message.size * part.num_rows // whole.num_rows)
