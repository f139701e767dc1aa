"""Functions of how often each value came: percentile, median, percentile_disc, mode.

The state is a list of values, each once, with their counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels import keys as plain_keys
from headway.kernels.aggregates.base import Columns, Function, Grouping, Ints
from headway.kernels.aggregates.lists import (
    concatenated,
    distinct,
    groups_of,
    list_type,
    lists_of,
    of_groups,
    singletons,
)
from headway.kernels.expressions.registry import RowError
from headway.kernels.ranks import ranks

Floats = npt.NDArray[np.float64]


class _Frequencies(Function):
    initial: tuple[Any, ...] = ([],)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        entry = pa.struct([pa.field("value", self.arguments[0]), pa.field("count", pa.int64())])
        return (list_type(entry),)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        counts = args[1].cast(pa.int64()) if len(args) > 1 else pa.array(np.ones(rows, np.int64))
        valid = pc.and_(args[0].is_valid(), pc.fill_null(pc.greater(counts, 0), False))
        if len(args) > 1 and pc.any(pc.and_(args[0].is_valid(), pc.less(counts, 0))).as_py():
            raise RowError("[NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION] the frequency of percentile must not be negative")
        entries = pa.StructArray.from_arrays([args[0], counts], fields=list(self.states[0].value_type))
        return [singletons(entries, valid.to_numpy(zero_copy_only=False))]

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        lists = concatenated(columns[0], grouping)
        values, counts = lists.values.flatten()
        groups = groups_of(lists)
        plain = list(plain_keys.flatten(values))
        rows, totals = distinct(groups, plain, counts)
        order = np.argsort(rows)
        rows, totals = rows[order], totals[order]
        normal = plain_keys.unflatten(values.type, iter(plain)).take(pa.array(rows))
        entries = pa.StructArray.from_arrays([normal, pa.array(totals)], fields=list(self.states[0].value_type))
        return [of_groups(entries, groups[rows], len(lists))]


class Percentile(_Frequencies):
    """percentile interpolates between two values, percentile_disc takes the one that reaches the share."""

    def finish(self, columns: Columns) -> pa.Array:
        lists = columns[0]
        groups = groups_of(lists)
        values, counts = lists.flatten().flatten()
        rank = ranks(values)
        order = np.lexsort((~rank if self.options["reverse"] else rank, groups))
        numbers = values.cast(pa.float64(), safe=False).to_numpy()[order]
        upto = np.cumsum(counts.to_numpy()[order])
        ends = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=len(lists)))])
        before = np.concatenate([[0], upto])[ends]
        pick = self._discrete if self.options["discrete"] else self._continuous
        found = [pick(numbers, upto, before[:-1], np.diff(before), share) for share in self.options["percentages"]]
        return shares(found, np.diff(before) > 0, self.result)

    def _continuous(self, numbers: Floats, upto: Ints, before: Ints, sizes: Ints, share: float) -> Floats:
        position = (np.maximum(sizes, 1) - 1) * share
        low, high = np.floor(position), np.ceil(position)
        lower = _at(numbers, upto, before + low.astype(np.int64) + 1)
        higher = _at(numbers, upto, before + high.astype(np.int64) + 1)
        with np.errstate(all="ignore"):
            between = lower + (position - low) * (higher - lower)
        same = (low == high) | (lower == higher) | (np.isnan(lower) & np.isnan(higher))
        return np.where(same, lower, between)

    def _discrete(self, numbers: Floats, upto: Ints, before: Ints, sizes: Ints, share: float) -> Floats:
        reached = np.ceil(sizes * share).astype(np.int64)
        return _at(numbers, upto, before + np.maximum(reached, 1))


class Mode(_Frequencies):
    """mode: the most frequent value; of several, the least or the greatest if the call says so."""

    def finish(self, columns: Columns) -> pa.Array:
        lists = columns[0]
        groups = groups_of(lists)
        values, counts = lists.flatten().flatten()
        least = self.options["least"]
        rank = ranks(values) if least is not None else np.zeros(len(values), np.int64)
        order = np.lexsort((~rank if least else rank, counts.to_numpy(), groups))
        sizes = np.bincount(groups, minlength=len(lists))
        last = np.cumsum(sizes) - 1
        picked = np.where(sizes > 0, order[np.maximum(last, 0)] if len(order) else 0, 0)
        return values.take(pa.array(picked, mask=sizes == 0))


def shares(found: Sequence[npt.NDArray[Any]], present: npt.NDArray[np.bool_], result: pa.DataType) -> pa.Array:
    """Percentiles of every group, `found` per percentage: a list per group if `result` is one."""
    if not pa.types.is_list(result):
        return pa.array(found[0], mask=~present)
    flat = pa.array(np.stack(found, axis=1).reshape(-1))
    return lists_of(np.arange(len(present) + 1) * len(found), flat, ~present)


def _at(numbers: Floats, upto: Ints, place: Ints) -> Floats:
    """The number that has the place, counted over all groups."""
    if not len(numbers):
        return np.zeros(len(place))
    return numbers[np.minimum(np.searchsorted(upto, place), len(numbers) - 1)]
