"""The compiled tier: chains of fixed-width steps fused into one numba function, built in the background."""

from __future__ import annotations

from headway.kernels.api import Chain, ChainKernel
from headway.kernels.compiled import store
from headway.kernels.compiled.kernel import CompiledChain
from headway.kernels.compiled.shape import Shape, shape_of
from headway.kernels.compiled.values import NotCompilable


def why_not(chain: Chain) -> str | None:
    """Why `chain` cannot be compiled, None if it can."""
    try:
        shape_of(chain)
    except NotCompilable as reason:
        return str(reason)
    return None


def compile_now(chain: Chain) -> ChainKernel:
    """The kernel of `chain`, compiled in this process unless it is in the cache."""
    return build(shape_of(chain))


def build(shape: Shape) -> ChainKernel:
    """The kernel of a shape, its functions loaded."""
    module = store.load(store.module_path(shape.key, shape.source))
    return CompiledChain(shape, {"with_nulls": module.with_nulls, "without_nulls": module.without_nulls})
