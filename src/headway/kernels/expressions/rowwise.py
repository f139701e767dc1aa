"""For functions that Arrow has no kernel for: Python over a batch's distinct rows, and constants among arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call, Literal


def constant(call: Call, index: int) -> Any:
    """The value of an argument if it is a literal, else None."""
    argument = call.args[index]
    return argument.value if isinstance(argument, Literal) else None


def is_constant(call: Call, *indexes: int) -> bool:
    """Whether these arguments are literals and none is null."""
    return all(constant(call, index) is not None for index in indexes)


def per_row(function: Callable[..., Any], arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    """`function` of every row's values; null where one of them is."""
    if len(arrays) == 1:
        return per_distinct(function, arrays[0], kind)
    known: dict[tuple[Any, ...], Any] = {}
    rows = []
    for row in zip(*(array.to_pylist() for array in arrays), strict=True):
        if row not in known:
            known[row] = None if None in row else function(*row)
        rows.append(known[row])
    return pa.array(rows, kind)


def per_distinct(function: Callable[[Any], Any], array: pa.Array, kind: pa.DataType) -> pa.Array:
    """`function` of one column, called once for every distinct value."""
    encoded = array.dictionary_encode()
    results = pa.array([function(value) for value in encoded.dictionary.to_pylist()], kind)
    if not len(results):
        return pa.nulls(len(array), kind)
    return results.take(encoded.indices)


def all_ascii(array: pa.Array) -> bool:
    """Whether a string column has one byte per character."""
    lengths, sizes = pc.sum(pc.utf8_length(array)), pc.sum(pc.binary_length(array))
    return bool(lengths.as_py() == sizes.as_py())
