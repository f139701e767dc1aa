"""Machine code of kernels: made of their source, and loaded to be called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from headway.kernels.native.translate import translate

Function = Callable[[int, int, int], int]
"""A kernel: given the addresses of header, integers and reals. The interpreter is free while it runs."""
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_OPTIMIZATION = 3


def assembled(source: str, prefix: str) -> bytes:
    """The object code of all functions of `source`, their names behind `prefix`."""
    machine = _machine()
    module = llvm.parse_assembly(translate(source, prefix))
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=_OPTIMIZATION)
    options.loop_vectorization = options.slp_vectorization = True
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))


def loaded(code: bytes, prefix: str, names: tuple[str, ...]) -> dict[str, Function]:
    """Functions of object code, by name. They stay as long as the process."""
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return {name: _SIGNATURE(engine.get_function_address(prefix + name)) for name in names}


@cache
def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=_OPTIMIZATION,
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _engine() -> Any:
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
