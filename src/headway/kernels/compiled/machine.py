"""What numba has no name for: memory by address, and the processor's own arithmetic, as intrinsics.

1. In a kernel every integral, date or timestamp value is an int64; narrower types keep to their range.
2. Memory is read and written by address and element index; nothing is checked, the generator vouches for it.
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _loader(memory: ir.Type, value: types.Type, extend: str | None) -> Callable[[int, int], Any]:
    """Reads element `index` of an array at `address`, widened to the type kernels compute with."""

    @intrinsic
    def load(typingctx: Any, address: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], memory.as_pointer())
            found = builder.load(builder.gep(pointer, [args[1]]))
            return getattr(builder, extend)(found, context.get_value_type(value)) if extend else found

        return value(types.int64, types.int64), codegen

    return load  # type: ignore[no-any-return]


def _storer(memory: ir.Type, value: types.Type, truncate: bool) -> Callable[[int, int, Any], None]:
    """Writes element `index` of an array at `address`."""

    @intrinsic
    def store(typingctx: Any, address: Any, index: Any, item: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], memory.as_pointer())
            item = builder.trunc(args[2], memory) if truncate else args[2]
            builder.store(item, builder.gep(pointer, [args[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, value), codegen

    return store  # type: ignore[no-any-return]


load_u8 = _loader(ir.IntType(8), types.int64, "zext")
load_i8 = _loader(ir.IntType(8), types.int64, "sext")
load_i16 = _loader(ir.IntType(16), types.int64, "sext")
load_i32 = _loader(ir.IntType(32), types.int64, "sext")
load_i64 = _loader(ir.IntType(64), types.int64, None)
load_f32 = _loader(ir.FloatType(), types.float32, None)
load_f64 = _loader(ir.DoubleType(), types.float64, None)
store_i8 = _storer(ir.IntType(8), types.int64, True)
store_i16 = _storer(ir.IntType(16), types.int64, True)
store_i32 = _storer(ir.IntType(32), types.int64, True)
store_i64 = _storer(ir.IntType(64), types.int64, False)
store_f32 = _storer(ir.FloatType(), types.float32, False)
store_f64 = _storer(ir.DoubleType(), types.float64, False)


def _overflow(operation: str) -> Callable[[int, int], bool]:
    """Whether a 64-bit operation leaves the range: the processor's own flag."""

    @intrinsic
    def overflows(typingctx: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.extract_value(getattr(builder, operation)(args[0], args[1]), 1)

        return types.boolean(types.int64, types.int64), codegen

    return overflows  # type: ignore[no-any-return]


add_overflows = _overflow("sadd_with_overflow")
sub_overflows = _overflow("ssub_with_overflow")
mul_overflows = _overflow("smul_with_overflow")


def _integer(operation: str) -> Callable[[int, int], int]:
    """A 64-bit operation as the processor does it; Python's rules for signs would cost a branch."""

    @intrinsic
    def compute(typingctx: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, operation)(args[0], args[1])

        return types.int64(types.int64, types.int64), codegen

    return compute  # type: ignore[no-any-return]


sdiv = _integer("sdiv")
srem = _integer("srem")
unsigned_shift = _integer("lshr")


@intrinsic
def fmod(typingctx: Any, left: Any, right: Any) -> Any:
    """The remainder of doubles, with the sign of the dividend."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.frem(args[0], args[1])

    return types.float64(types.float64, types.float64), codegen


@intrinsic
def below(typingctx: Any, value: Any, limit: Any) -> Any:
    """0 <= value < limit, in one unsigned comparison."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.icmp_unsigned("<", args[0], args[1])

    return types.boolean(types.int64, types.int64), codegen


def _bits(source: types.Type, memory: ir.Type, target: types.Type) -> Callable[[Any], Any]:
    @intrinsic
    def bits(typingctx: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], memory)

        return target(source), codegen

    return bits  # type: ignore[no-any-return]


bits_f64 = _bits(types.float64, ir.IntType(64), types.int64)


@intrinsic
def bits_f32(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sext(builder.bitcast(args[0], ir.IntType(32)), ir.IntType(64))

    return types.int64(types.float32), codegen


@intrinsic
def to_int64(typingctx: Any, value: Any) -> Any:
    """Truncation towards zero by LLVM's saturating conversion: NaN gives 0, as in Java."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [ir.DoubleType()])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fptosi.sat.i64.f64")
        return builder.call(function, args)

    return types.int64(types.float64), codegen
