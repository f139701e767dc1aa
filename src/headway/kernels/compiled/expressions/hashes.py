"""Compiled xxHash64 of values of fixed width; a null leaves the hash as it is."""

from __future__ import annotations

from headway.dataflow.expr import Call
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.values import AnyValue, Value, storage

_HASHES = {
    "i64": "hash_long({0}, {1})",
    "f64": "hash_long(bits_f64(normal({0})), {1})",
    "f32": "hash_int(bits_f32(normal({0})), {1})",
    "bit": "hash_int(i64({0}), {1})",
}


@compiles("XxHash64")
def _xxhash64(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    code = emitter.parameters.integer(call.option("seed"))
    for arg in call.args:
        kind = storage(arg.type)
        value = emitter.scalar(arg, scope)
        hashed = _HASHES.get(kind, "hash_int({0}, {1})").format(value.code, code)
        code = emitter.let(hashed if value.null == "False" else f"{code} if {value.null} else {hashed}")
    return Value(code)
