"""Which kernel merges the partials of an aggregate."""

from __future__ import annotations

from headway.dataflow.graph import Aggregate
from headway.kernels.api import MergeKernel
from headway.kernels.cell_merge import CellMerge, fits
from headway.kernels.merge import Merge
from headway.kernels.sessions import SessionMerge


def merge_kernel(aggregate: Aggregate) -> MergeKernel:
    """Machine code where it can, else Arrow."""
    if aggregate.session:
        return SessionMerge(aggregate)
    return CellMerge(aggregate) if fits(aggregate) else Merge(aggregate)
