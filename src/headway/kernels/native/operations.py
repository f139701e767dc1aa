"""What kernels ask of the processor: memory by address, and its own arithmetic, each a few instructions of LLVM's.

1. In a kernel every integral, date or timestamp value is an int64; narrower types keep to their range.
2. Memory is read and written by address and element index; nothing is checked, the generator vouches for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

I64, I1 = ir.IntType(64), ir.IntType(1)
F64, F32 = ir.DoubleType(), ir.FloatType()


@dataclass(frozen=True)
class Operation:
    """Its types, and what writes it; `result` is None where there is none."""

    result: ir.Type | None
    arguments: tuple[ir.Type, ...]
    write: Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]


def _load(memory: ir.Type, result: ir.Type, extend: str | None = None) -> Operation:
    """Reads element `index` of an array at `address`, widened to the type kernels compute with."""

    def write(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        pointer = builder.inttoptr(args[0], memory.as_pointer())
        found = builder.load(builder.gep(pointer, [args[1]]))
        return getattr(builder, extend)(found, result) if extend else found

    return Operation(result, (I64, I64), write)


def _store(memory: ir.Type, value: ir.Type) -> Operation:
    """Writes element `index` of an array at `address`."""

    def write(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        pointer = builder.inttoptr(args[0], memory.as_pointer())
        item = args[2] if memory == value else builder.trunc(args[2], memory)
        return builder.store(item, builder.gep(pointer, [args[1]]))

    return Operation(None, (I64, I64, value), write)


def _prefetch(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
    """Asks for the memory at an address, which need not be there: it will be read and written soon."""
    pointer, flag = builder.inttoptr(args[0], ir.IntType(8).as_pointer()), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, flag, flag, flag])
    read, near, data = (ir.Constant(flag, value) for value in (0, 3, 1))
    return builder.call(
        builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind), [pointer, read, near, data]
    )


def _overflow(name: str) -> Operation:
    """Whether a 64-bit operation leaves the range: the processor's own flag."""
    return Operation(I1, (I64, I64), lambda builder, args: builder.extract_value(getattr(builder, name)(*args), 1))


def _plain(name: str, of: ir.Type) -> Operation:
    """An operation as the processor does it; Python's rules for signs would cost a branch."""
    return Operation(of, (of, of), lambda builder, args: getattr(builder, name)(*args))


def _bits_f32(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
    return builder.sext(builder.bitcast(args[0], ir.IntType(32)), I64)


def _to_int64(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
    """Truncation towards zero by LLVM's saturating conversion: NaN gives 0, as in Java."""
    return builder.call(builder.module.declare_intrinsic("llvm.fptosi.sat", (I64, F64), _FROM_F64), args)


_FROM_F64 = ir.FunctionType(I64, [F64])

OPERATIONS = {
    "load_u8": _load(ir.IntType(8), I64, "zext"),
    "load_i8": _load(ir.IntType(8), I64, "sext"),
    "load_i16": _load(ir.IntType(16), I64, "sext"),
    "load_i32": _load(ir.IntType(32), I64, "sext"),
    "load_i64": _load(I64, I64),
    "load_f32": _load(F32, F32),
    "load_f64": _load(F64, F64),
    "store_i8": _store(ir.IntType(8), I64),
    "store_i16": _store(ir.IntType(16), I64),
    "store_i32": _store(ir.IntType(32), I64),
    "store_i64": _store(I64, I64),
    "store_f32": _store(F32, F32),
    "store_f64": _store(F64, F64),
    "prefetch": Operation(None, (I64,), _prefetch),
    "add_overflows": _overflow("sadd_with_overflow"),
    "sub_overflows": _overflow("ssub_with_overflow"),
    "mul_overflows": _overflow("smul_with_overflow"),
    "sdiv": _plain("sdiv", I64),
    "srem": _plain("srem", I64),
    "unsigned_shift": _plain("lshr", I64),
    # The remainder of doubles, with the sign of the dividend.
    "fmod": _plain("frem", F64),
    # 0 <= value < limit, in one unsigned comparison.
    "below": Operation(I1, (I64, I64), lambda builder, args: builder.icmp_unsigned("<", *args)),
    "bits_f64": Operation(I64, (F64,), lambda builder, args: builder.bitcast(args[0], I64)),
    "bits_f32": Operation(I64, (F32,), _bits_f32),
    "to_int64": Operation(I64, (F64,), _to_int64),
}
