"""Takes groups out of a table of cells, dealt to the owners of their keys, in one pass of machine code.

At a window's end every query lets its groups go at once, and the few rows of each are dealt faster than Arrow or numpy
begin to: what counts is how much code runs that is not in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from headway.kernels.hashing import BUCKETS, SEED
from headway.kernels.xxhash import hash_int, hash_long

_LEFT = -1
_SIGNATURE = "Tuple((int64[:, ::1], int64[::1]))(int64[:, ::1], int64, boolean[::1], int64[:, ::1], int64, int64)"
"""Given, so that it is compiled when it is imported, and not while rows wait."""


@numba.njit(_SIGNATURE, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def deal(
    cells: npt.NDArray[np.int64], groups: int, ended: npt.NDArray[np.bool_], keys: Any, null_cell: int, owners: int
) -> Any:
    """Remove the groups that have ended; give their cells column by column, owner by owner, and where each begins.

    A row of `keys` is the place of a key's cell and how many bytes it is hashed as. Bit i of the cell `null_cell` says
    that key i is null; -1: none ever is. The groups that stay move up.
    """
    owner_of = np.empty(groups, np.int64)
    bounds = np.zeros(owners + 1, np.int64)
    for group in range(groups):
        owner_of[group] = _LEFT
        if ended[group]:
            code = np.uint64(SEED)
            for key in range(len(keys)):
                if null_cell < 0 or (cells[group, null_cell] >> key) & 1 == 0:
                    word = np.uint64(cells[group, keys[key, 0]])
                    code = hash_long(word, code) if keys[key, 1] == 8 else hash_int(word & np.uint64(0xFFFFFFFF), code)
            owner = np.int64(code % np.uint64(BUCKETS)) % owners if len(keys) else 0
            owner_of[group] = owner
            bounds[owner + 1] += 1
    for owner in range(owners):
        bounds[owner + 1] += bounds[owner]
    taken = np.empty((cells.shape[1], bounds[owners]), np.int64)
    free, kept = bounds.copy(), 0
    for group in range(groups):
        owner = owner_of[group]
        if owner == _LEFT:
            cells[kept] = cells[group]
            kept += 1
        else:
            taken[:, free[owner]] = cells[group]
            free[owner] += 1
    return taken, bounds
