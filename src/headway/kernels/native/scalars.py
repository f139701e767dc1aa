"""What the operators of kernel source mean: instructions of LLVM's, by the types of their operands.

1. A value is an int64, a float64, a float32 or a truth. Integers wrap; where two types meet the result is a float64,
   unless one of them is a truth, which counts 0 or 1.
2. Floats compare as in IEEE 754: nothing is less than NaN, equal to it or greater, everything differs from it.
"""

from __future__ import annotations

import ast

from llvmlite import ir

from headway.kernels.native.operations import F32, F64, I1, I64

_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_BITS = {ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}
_SHIFTS = {ast.LShift: "shl", ast.RShift: "ashr"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def is_real(kind: ir.Type) -> bool:
    return kind in (F64, F32)


def joined(left: ir.Type, right: ir.Type) -> ir.Type:
    """The type of which both are."""
    if left == right:
        return left
    if I1 in (left, right):
        return right if left == I1 else left
    return F64


def cast(builder: ir.IRBuilder, value: ir.Value, kind: ir.Type) -> ir.Value:
    """The value as another type, however much of it is lost."""
    given = value.type
    if given == kind:
        return value
    if kind == I1:
        return truth(builder, value)
    if is_real(given):
        if not is_real(kind):
            return builder.fptosi(value, kind)
        return builder.fpext(value, kind) if kind == F64 else builder.fptrunc(value, kind)
    if is_real(kind):
        return builder.uitofp(value, kind) if given == I1 else builder.sitofp(value, kind)
    return builder.zext(value, kind)


def truth(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    if value.type == I1:
        return value
    zero = ir.Constant(value.type, 0)
    return builder.fcmp_unordered("!=", value, zero) if is_real(value.type) else builder.icmp_signed("!=", value, zero)


def binary(builder: ir.IRBuilder, operator: ast.operator, left: ir.Value, right: ir.Value) -> ir.Value:
    kind = joined(left.type, right.type)
    if type(operator) in _BITS:
        return getattr(builder, _BITS[type(operator)])(cast(builder, left, kind), cast(builder, right, kind))
    if kind == I1:
        kind = I64
    if isinstance(operator, ast.Div) and not is_real(kind):
        kind = F64
    left, right = cast(builder, left, kind), cast(builder, right, kind)
    if isinstance(operator, ast.Div):
        return builder.fdiv(left, right)
    if type(operator) in _ARITHMETIC:
        name = _ARITHMETIC[type(operator)]
        return getattr(builder, f"f{name}" if is_real(kind) else name)(left, right)
    if kind == I64 and type(operator) in _SHIFTS:
        return getattr(builder, _SHIFTS[type(operator)])(left, right)
    if kind == I64 and isinstance(operator, ast.FloorDiv):
        return _floor_div(builder, left, right)
    raise NotImplementedError(f"{type(operator).__name__} of {kind}")


def _floor_div(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
    """The divisor is positive."""
    quotient = builder.sdiv(left, right)
    below = builder.icmp_signed("<", builder.srem(left, right), ir.Constant(I64, 0))
    return builder.sub(quotient, builder.zext(below, I64))


def compare(builder: ir.IRBuilder, operator: ast.cmpop, left: ir.Value, right: ir.Value) -> ir.Value:
    name, kind = _COMPARISONS[type(operator)], joined(left.type, right.type)
    left, right = cast(builder, left, kind), cast(builder, right, kind)
    if not is_real(kind):
        # Of truths, the true one is the greater: signed, a single bit would be -1.
        return (builder.icmp_unsigned if kind == I1 else builder.icmp_signed)(name, left, right)
    return (builder.fcmp_unordered if name == "!=" else builder.fcmp_ordered)(name, left, right)


def negative(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.fneg(value) if is_real(value.type) else builder.neg(cast(builder, value, I64))


def least(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
    """Of integers."""
    return builder.select(builder.icmp_signed("<", left, right), left, right)


def greatest(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
    """Of integers."""
    return builder.select(builder.icmp_signed(">", left, right), left, right)


def absolute(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    if is_real(value.type):
        return intrinsic(builder, "fabs", value)
    return greatest(builder, value, builder.neg(value))


def intrinsic(builder: ir.IRBuilder, name: str, value: ir.Value) -> ir.Value:
    """A function of one float that LLVM knows."""
    return builder.call(builder.module.declare_intrinsic(f"llvm.{name}", [value.type]), [value])
