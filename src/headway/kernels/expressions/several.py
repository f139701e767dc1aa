"""Several expressions over one batch, of which equal parts are computed once.

1. Only the largest parts that come more than once are shared, each as one more column of the batch; what these parts
   have in common is computed once in turn.
2. What is inside a lambda, or around one, is left alone: there a part has other rows.
3. A part may fail on rows that its expression does not look at. Then every expression is evaluated by itself, which
   knows what to look at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from headway.dataflow.expr import Call, Column, Expr, Variable, walk
from headway.kernels.expressions.registry import RowError, evaluate

Part = tuple[Expr, str]
"""An expression and how it is written: equal constants, such as 0.0 and -0.0, may be written differently."""


class Sharing:
    """Expressions over batches of `width` columns in which some parts are read from columns that are added."""

    def __init__(self, parts: Iterable[Part], width: int) -> None:
        self._parts = set(parts)
        self._width = width
        self._places: dict[Part, Column] = {}
        self._values: Several | None = None
        """Of the parts; made when all are known."""

    def rewritten(self, expr: Expr) -> Expr:
        """`expr` over a batch that `widened` gives when all expressions have been rewritten."""
        if not isinstance(expr, Call) or _has_variables(expr):
            return expr
        part = (expr, str(expr))
        if part in self._parts:
            return self._places.setdefault(part, Column(expr.type, self._width + len(self._places)))
        return Call(expr.type, expr.function, tuple(self.rewritten(arg) for arg in expr.args), expr.options)

    def widened(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """`batch` with the columns added that rewritten expressions read."""
        if not self._places:
            return batch
        if self._values is None:
            self._values = Several([expr for expr, _ in self._places], self._width)
        columns = [*batch.columns, *self._values(batch)]
        return pa.RecordBatch.from_arrays(columns, [str(at) for at in range(len(columns))])


class Several:
    """The values of `exprs`, in their order, for batches of `width` columns."""

    def __init__(self, exprs: Sequence[Expr], width: int) -> None:
        counts = Counter(part for expr in exprs for part in parts_of(expr))
        self._exprs = tuple(exprs)
        self._sharing = Sharing((part for part, count in counts.items() if count > 1), width)
        self._rewritten = tuple(map(self._sharing.rewritten, exprs))

    def __call__(self, batch: pa.RecordBatch) -> list[pa.Array]:
        try:
            wide = self._sharing.widened(batch)
            return [evaluate(expr, wide) for expr in self._rewritten]
        except RowError:
            return [evaluate(expr, batch) for expr in self._exprs]


def parts_of(expr: Expr) -> Iterator[Part]:
    """All calls in `expr` that may be shared."""
    if isinstance(expr, Call) and not _has_variables(expr):
        yield expr, str(expr)
        for arg in expr.args:
            yield from parts_of(arg)


def _has_variables(expr: Expr) -> bool:
    return any(isinstance(part, Variable) for part in walk(expr))
