"""Central moments of one variable and of pairs: variances, skewness, kurtosis, covariances, correlation, regression.

1. The state of one variable: the count n, the mean, and the sums m2, m3, m4 of the powers of what values differ from
   it, as many as the function needs. The state of pairs (x, y): n, both means, the sum ck of the products of their
   differences, and both m2.
2. States are merged all at once: the new mean first, from then on each state is moved to it. The mean is counted from
   that of the group's first state, so that equal values give differences of exactly zero, as in Spark, which treats
   a variance of exactly zero apart; other results differ from Spark's in their last digits.
3. An infinite value has no difference from a mean: all moments but n are NaN then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headway.dataflow.graph import AggCall
from headway.kernels.aggregates.base import COLLECT, Columns, Function, Grouping, cast, valid_rows

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Result = tuple[Floats, Mask]
"""Results, and where they are null."""

_ORDERS = {"skewness": 3, "kurtosis": 4}


class _Moments(Function):
    def __init__(self, call: AggCall, width: int) -> None:
        super().__init__(call)
        self.reductions = (COLLECT,) * width
        self.initial = (0.0,) * width

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (pa.float64(),) * len(self.reductions)

    def finish(self, columns: Columns) -> pa.Array:
        with np.errstate(all="ignore"):
            values, null = _RESULTS[self.call.function](*map(_numbers, columns))
            if not self.options.get("null_on_zero", True):
                # The legacy setting: where no variance can be told there is NaN.
                values, null = np.where(null, np.nan, values), _numbers(columns[0]) == 0
        return pa.array(values, mask=null)


class Moments(_Moments):
    """Functions of one variable."""

    def __init__(self, call: AggCall) -> None:
        super().__init__(call, 1 + _ORDERS.get(call.function, 2))

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        n, (x,) = _present(args)
        return _columns([n, x] + [_nothing(x)] * (len(self.reductions) - 2))

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        n, mean, *sums = map(_numbers, columns)
        with np.errstate(all="ignore"):
            total = grouping.totals(n)
            middle = _mean(n, mean, total, grouping)
            away = _away(n, mean, middle, grouping)
            moved = _moved(n, away, sums)
        return _columns([total, middle] + [grouping.totals(values) for values in moved])


class PairMoments(_Moments):
    """Functions of pairs; one in which a value is null does not count."""

    def __init__(self, call: AggCall) -> None:
        super().__init__(call, 6)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        n, (x, y) = _present(args)
        return _columns([n, x, y, _nothing(x) + _nothing(y), _nothing(x), _nothing(y)])

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        n, x, y, ck, x2, y2 = map(_numbers, columns)
        with np.errstate(all="ignore"):
            total = grouping.totals(n)
            mean_x, mean_y = _mean(n, x, total, grouping), _mean(n, y, total, grouping)
            dx, dy = _away(n, x, mean_x, grouping), _away(n, y, mean_y, grouping)
            moved = [ck + n * dx * dy, x2 + n * dx * dx, y2 + n * dy * dy]
        return _columns([total, mean_x, mean_y] + [grouping.totals(values) for values in moved])


def _present(args: Sequence[pa.Array]) -> tuple[Floats, list[Floats]]:
    """1 for every row that counts, else 0, and its values, 0 in the others."""
    valid = valid_rows(*args)
    values = [np.where(valid, cast(arg, pa.float64()).to_numpy(zero_copy_only=False), 0.0) for arg in args]
    return valid.astype(np.float64), values


def _nothing(x: Floats) -> Floats:
    """What a value differs from itself."""
    with np.errstate(invalid="ignore"):
        return x - x


def _mean(n: Floats, means: Floats, total: Floats, grouping: Grouping) -> Floats:
    counts = np.flatnonzero(n)[::-1]
    pivot = np.zeros(grouping.count)
    pivot[grouping.ids[counts]] = means[counts]
    distance = grouping.totals(n * _away(n, means, pivot, grouping))
    return pivot + np.divide(distance, total, out=np.zeros_like(total), where=total > 0)


def _away(n: Floats, means: Floats, middle: Floats, grouping: Grouping) -> Floats:
    """How far each state's mean is from the `middle` of its group; empty states are nowhere."""
    return np.where(n > 0, means - middle[grouping.ids], 0.0)


def _moved(n: Floats, away: Floats, sums: list[Floats]) -> list[Floats]:
    """The sums of powers about a point that the mean is `away` from."""
    m2, m3, m4 = [*sums, *[np.zeros_like(n)] * 3][:3]
    square = away * away
    moved = [
        m2 + n * square,
        m3 + 3 * away * m2 + n * square * away,
        m4 + 4 * away * m3 + 6 * square * m2 + n * square * square,
    ]
    return moved[: len(sums)]


def _numbers(column: pa.Array) -> Floats:
    numbers: Floats = column.to_numpy()
    return numbers


def _columns(arrays: list[Floats]) -> Columns:
    return [pa.array(array) for array in arrays]


def _slope(n: Floats, y: Floats, x: Floats, ck: Floats, y2: Floats, x2: Floats) -> Result:
    return ck / x2, (n == 0) | (x2 == 0)


def _intercept(n: Floats, y: Floats, x: Floats, ck: Floats, y2: Floats, x2: Floats) -> Result:
    return y - ck / x2 * x, (n == 0) | (x2 == 0)


def _r2(n: Floats, y: Floats, x: Floats, ck: Floats, y2: Floats, x2: Floats) -> Result:
    return np.where(y2 == 0, 1.0, ck * ck / y2 / x2), (n == 0) | (x2 == 0)


_RESULTS: dict[str, Callable[..., Result]] = {
    "stddev_pop": lambda n, mean, m2: (np.sqrt(m2 / n), n == 0),
    "stddev_samp": lambda n, mean, m2: (np.sqrt(m2 / (n - 1)), n <= 1),
    "var_pop": lambda n, mean, m2: (m2 / n, n == 0),
    "var_samp": lambda n, mean, m2: (m2 / (n - 1), n <= 1),
    "sum_of_squares": lambda n, mean, m2: (m2, n == 0),
    "skewness": lambda n, mean, m2, m3: (np.sqrt(n) * m3 / np.sqrt(m2 * m2 * m2), (n == 0) | (m2 == 0)),
    "kurtosis": lambda n, mean, m2, m3, m4: (n * m4 / (m2 * m2) - 3, (n == 0) | (m2 == 0)),
    "covar_pop": lambda n, x, y, ck, x2, y2: (ck / n, n == 0),
    "covar_samp": lambda n, x, y, ck, x2, y2: (ck / (n - 1), n <= 1),
    "corr": lambda n, x, y, ck, x2, y2: (ck / np.sqrt(x2 * y2), (n <= 1) | (x2 == 0) | (y2 == 0)),
    "regr_sxy": lambda n, y, x, ck, y2, x2: (ck, n == 0),
    "regr_slope": _slope,
    "regr_intercept": _intercept,
    "regr_r2": _r2,
}
SINGLE = frozenset({"stddev_pop", "stddev_samp", "var_pop", "var_samp", "sum_of_squares", *_ORDERS})
PAIRS = frozenset(_RESULTS) - SINGLE
