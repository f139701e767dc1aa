"""When rows are over in event time: by a timestamp column, or by the end of a window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.keyed_rows import NEVER


def end_times(column: pa.Array, missing: int = NEVER) -> npt.NDArray[np.int64]:
    """The microsecond of a timestamp, or of a window's end; `missing` where there is none.

    >>> end_times(pa.array([5, None], pa.timestamp("us"))).tolist() == [5, NEVER]
    True
    """
    times = column.flatten()[1] if pa.types.is_struct(column.type) else column
    numbers: npt.NDArray[np.int64] = pc.fill_null(times.view(pa.int64()), missing).to_numpy()
    return numbers


def without_late(batch: pa.RecordBatch, time: int | None, watermark: int | None) -> tuple[pa.RecordBatch, int]:
    """The rows that `watermark` has not passed by their column `time`, and how many it has. None: nothing is late."""
    if time is None or watermark is None:
        return batch, 0
    on_time = end_times(batch.column(time)) > watermark
    late = batch.num_rows - int(np.count_nonzero(on_time))
    return (batch.filter(pa.array(on_time)), late) if late else (batch, 0)
