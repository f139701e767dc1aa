"""The compiled tier: chains of fixed-width steps fused into one function of machine code, built in the background."""

from __future__ import annotations

from headway.kernels.api import Chain, ChainKernel
from headway.kernels.compiled.background import Compiler, Ticket
from headway.kernels.compiled.kernel import build
from headway.kernels.compiled.shape import shape_of
from headway.kernels.compiled.values import NotCompilable

__all__ = ["Compiler", "Ticket", "compile_now", "why_not"]


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
