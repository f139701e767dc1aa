"""Which kernel runs each relation that keeps state by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headway.dataflow.graph import Deduplicate, DeduplicateWithin, Keyed, Limit, StreamJoin
from headway.dataflow.user_code import GroupsWithState, TransformWithState
from headway.kernels.api import KeyedKernel
from headway.kernels.deduplicate import Deduplication
from headway.kernels.limit import FirstRows
from headway.kernels.stream_join import StreamJoining
from headway.kernels.user_code.group_state import GroupsKernel
from headway.kernels.user_code.processor import ProcessorKernel

_KERNELS: dict[type[Keyed], Callable[[Any], KeyedKernel]] = {
    Deduplicate: Deduplication,
    DeduplicateWithin: Deduplication,
    StreamJoin: StreamJoining,
    Limit: FirstRows,
    GroupsWithState: GroupsKernel,
    TransformWithState: ProcessorKernel,
}


def keyed_kernel(relation: Keyed) -> KeyedKernel:
    """A kernel of `relation`, without state."""
    return _KERNELS[type(relation)](relation)
