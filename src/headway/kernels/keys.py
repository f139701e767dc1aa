"""Keys as plain columns whose equality in Arrow is Spark's equality of keys, and back.

1. A float is held as the bits of its normal form: negative zero is zero, every NaN is the same NaN.
2. A struct is held as its fields, after a column that says whether the struct is there at all; the event-time key has
   no such column, since Spark gives no window to a row without a time.
3. An array is held as bytes: the plain columns of its elements, row by row.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.floats import BITS, normal_bits
from headway.kernels.lists import list_array, lists_of

# The last format that does not depend on which values are the same object.
_FORMAT = 2


def flatten(array: pa.Array, optional: bool = True) -> Iterator[pa.Array]:
    """The plain columns of one key; `optional` says whether a struct may be null."""
    if array.type in BITS:
        yield normal_bits(array)
    elif pa.types.is_struct(array.type):
        if optional:
            yield array.is_valid()
        for child in array.flatten():
            yield from flatten(child)
    elif pa.types.is_list(array.type):
        yield _packed(array)
    else:
        yield array


def unflatten(kind: pa.DataType, plain: Iterator[pa.Array], optional: bool = True) -> pa.Array:
    """The key of type `kind` again, taking as many of the columns `plain` as it was flattened to."""
    if kind in BITS:
        return next(plain).view(kind)
    if pa.types.is_list(kind):
        return _unpacked(kind, next(plain))
    if not pa.types.is_struct(kind):
        return next(plain)
    valid = next(plain) if optional else None
    children = [unflatten(kind.field(i).type, plain) for i in range(kind.num_fields)]
    mask = pc.invert(valid) if valid is not None and valid.false_count else None
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)


def _packed(array: pa.Array) -> pa.Array:
    """Every array as bytes, equal for equal arrays."""
    found = lists_of(array)
    columns = [_numbers(plain).to_pylist() for plain in flatten(found.values)]
    bounds = zip(found.starts.tolist(), (found.starts + found.lengths).tolist(), found.valid.tolist(), strict=True)
    rows = [marshal.dumps([c[a:b] for c in columns], _FORMAT) if there else None for a, b, there in bounds]
    return pa.array(rows, pa.binary())


def _unpacked(kind: pa.DataType, packed: pa.Array) -> pa.Array:
    rows = [None if raw is None else marshal.loads(raw) for raw in packed.to_pylist()]
    kinds = [plain.type for plain in flatten(pa.nulls(0, kind.value_type))]
    plain = [
        pa.array([value for row in rows if row is not None for value in row[i]], _numbers(pa.nulls(0, k)).type).view(k)
        for i, k in enumerate(kinds)
    ]
    lengths = np.array([0 if row is None else len(row[0]) for row in rows], np.int64)
    return list_array(
        unflatten(kind.value_type, iter(plain)), lengths, packed.is_valid().to_numpy(zero_copy_only=False)
    )


def _numbers(plain: pa.Array) -> pa.Array:
    """The column as one whose Python values `marshal` knows."""
    if pa.types.is_date32(plain.type):
        return plain.view(pa.int32())
    if pa.types.is_timestamp(plain.type) or pa.types.is_duration(plain.type):
        return plain.view(pa.int64())
    return plain.view(pa.binary(16)) if pa.types.is_decimal(plain.type) else plain


def width(kind: pa.DataType, optional: bool = True) -> int:
    """How many plain columns a key of type `kind` has."""
    if not pa.types.is_struct(kind):
        return 1
    return int(optional) + sum(width(kind.field(i).type) for i in range(kind.num_fields))


def flatten_all(arrays: Sequence[pa.Array]) -> list[pa.Array]:
    """The plain columns of several keys."""
    return [plain for array in arrays for plain in flatten(array)]


def equal_rows(
    left: Sequence[pa.Array], at: npt.NDArray[np.int64], right: Sequence[pa.Array], there: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Where the rows `at` of the plain columns `left` equal the rows `there` of `right`; nulls are equal."""
    equal = np.ones(len(at), np.bool_)
    for mine, theirs in zip(left, right, strict=True):
        equal &= _same(mine.take(pa.array(at)), theirs.take(pa.array(there)))
    return equal


def _same(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    if pa.types.is_null(left.type):  # a column of nothing but null, which Arrow does not compare
        return np.ones(len(left), np.bool_)
    same = pc.equal(left, right)
    if same.null_count:
        same = pc.if_else(same.is_valid(), same, pc.and_(left.is_null(), right.is_null()))
    equal: npt.NDArray[np.bool_] = same.to_numpy(zero_copy_only=False)
    return equal
