"""The operations of kernels as functions that numba knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from headway.kernels.native.operations import F32, F64, I1, I64, OPERATIONS

_TYPES = {I64: types.int64, I1: types.boolean, F64: types.float64, F32: types.float32}


def _known_to_numba(name: str) -> Callable[..., Any]:
    operation = OPERATIONS[name]
    result = types.void if operation.result is None else _TYPES[operation.result]
    signature = result(*(_TYPES[kind] for kind in operation.arguments))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        written = operation.write(builder, args)
        return context.get_dummy_value() if operation.result is None else written

    def one(typingctx: Any, first: Any) -> Any:
        return signature, codegen

    def two(typingctx: Any, first: Any, second: Any) -> Any:
        return signature, codegen

    def three(typingctx: Any, first: Any, second: Any, third: Any) -> Any:
        return signature, codegen

    # Intrinsics are cached by name.
    chosen = (one, two, three)[len(operation.arguments) - 1]
    chosen.__name__ = chosen.__qualname__ = name
    return intrinsic(chosen)  # type: ignore[no-any-return]


load_u8 = _known_to_numba("load_u8")
load_i8 = _known_to_numba("load_i8")
load_i16 = _known_to_numba("load_i16")
load_i32 = _known_to_numba("load_i32")
load_i64 = _known_to_numba("load_i64")
load_f32 = _known_to_numba("load_f32")
load_f64 = _known_to_numba("load_f64")
store_i8 = _known_to_numba("store_i8")
store_i32 = _known_to_numba("store_i32")
store_i64 = _known_to_numba("store_i64")
add_overflows = _known_to_numba("add_overflows")
sdiv = _known_to_numba("sdiv")
srem = _known_to_numba("srem")
unsigned_shift = _known_to_numba("unsigned_shift")
below = _known_to_numba("below")
bits_f64 = _known_to_numba("bits_f64")
bits_f32 = _known_to_numba("bits_f32")
to_int64 = _known_to_numba("to_int64")
prefetch = _known_to_numba("prefetch")
