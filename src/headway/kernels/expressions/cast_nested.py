"""Casts of arrays, maps and structs: part by part, or to text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Literal
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.vectors import only, valid
from headway.kernels.lists import Lists, entries, list_array, lists_of, map_array

CastAll = Callable[[Call, Sequence[pa.Array]], pa.Array]


def cast_nested(call: Call, source: pa.Array, cast: CastAll) -> pa.Array:
    """`source` cast as `call` says; `cast` casts its parts."""

    def part(values: pa.Array, given: T.DataType, wanted: T.DataType) -> pa.Array:
        return cast(replace(call, type=wanted, args=(Literal(given, None),)), [values])

    given, wanted = call.args[0].type, call.type
    if isinstance(given, T.ArrayType):
        found = lists_of(source)
        if isinstance(wanted, T.ArrayType):
            return list_array(part(found.values, given.elementType, wanted.elementType), found.lengths, found.valid)
        return _bracketed(found, part(found.values, given.elementType, wanted), "[", "]")
    if isinstance(given, T.MapType):
        found, keys, values = entries(source)
        if isinstance(wanted, T.MapType):
            new = part(keys, given.keyType, wanted.keyType), part(values, given.valueType, wanted.valueType)
            return map_array(*new, found.lengths, found.valid)
        pair = pc.binary_join_element_wise(
            part(keys, given.keyType, wanted), _shown(part(values, given.valueType, wanted)), " -> "
        )
        return _bracketed(found, pair, "{", "}")
    assert isinstance(given, T.StructType)
    kinds = [f.dataType for f in wanted.fields] if isinstance(wanted, T.StructType) else [wanted] * len(given.fields)
    pairs = enumerate(zip(given.fields, kinds, strict=True))
    parts = [part(pc.struct_field(source, [i]), f.dataType, kind) for i, (f, kind) in pairs]
    if isinstance(wanted, T.StructType):
        return pa.StructArray.from_arrays(parts, fields=list(arrow_type(wanted)), mask=source.is_null())
    inside = pc.binary_join_element_wise(*map(_shown, parts), ", ") if len(parts) > 1 else _shown(parts[0])
    return only(pc.binary_join_element_wise("{", inside, "}", ""), valid(source))


def _shown(texts: pa.Array) -> pa.Array:
    return pc.fill_null(texts, "null")


def _bracketed(found: Lists, texts: pa.Array, opening: str, closing: str) -> pa.Array:
    joined = pc.binary_join(list_array(_shown(texts), found.lengths, found.valid), ", ")
    return pc.binary_join_element_wise(opening, joined, closing, "")
