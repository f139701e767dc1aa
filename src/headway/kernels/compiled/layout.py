"""The header of a kernel call: one array of int64 through which Python and generated code talk."""

from __future__ import annotations

# What a call works on, and what it gives back.
ROWS = 0  # rows in the batch
FROM = 1  # first row to process; after FULL, the first that was not
TIME = 2  # highest event time seen, NO_TIME before any
OUT = 3  # rows written to the output columns
ORIGIN = 4  # address of int32: the input row of every output row
SELECTION = 5  # address of BLOCK int32: scratch

# The group table; see groups.py.
GROUPS = 6
LIMIT = 7  # groups that may be held before the table must grow
CELLS = 8  # address of int64: a row of key and state cells per group
TABLE = 9  # address of int32: open addressing, group numbers
MASK = 10  # places of TABLE less one
DIRTY = 11  # TABLE must be built anew before use
KEY_LOW = 12  # lowest key of the dense index
KEY_RANGE = 13  # keys of the dense index, 0: it is off
DENSE = 14  # address of int32: WAYS times KEY_RANGE group numbers, -1 where unknown
WAY_STARTS = 15  # address of int64: the window that each way of DENSE is for
HASHES = 16  # address of PART int64: scratch

FIXED = 17  # then 3 per input column: data, validity, bit offset; then 2 per output leaf: data, validity

BLOCK = 2048  # rows that a kernel takes at a time, so that columns stay in the first-level cache between its passes
PART = 512  # rows whose groups are asked for ahead: with more, the first would have left the cache again
FAR = 8192  # groups: more than that are not in the second-level cache
DENSE_KEYS = 1 << 16  # keys that the dense index may cover: 4 MB for all its ways
WAYS = 16  # windows that the dense index knows at a time, a power of two
NO_TIME = -(1 << 63)

DONE = 0  # what a kernel returns: below 0 the error codes of emitter.py are not
FULL = -1


def column_slot(index: int) -> int:
    """Where the header has input column number `index`: data address, validity address, offset of its first bit."""
    return FIXED + 3 * index


def output_slot(columns: int, leaf: int) -> int:
    """Where the header has output leaf number `leaf` of a chain with `columns` input columns, fields of structs too."""
    return FIXED + 3 * columns + 2 * leaf
