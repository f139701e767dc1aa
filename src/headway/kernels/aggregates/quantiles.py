"""approx_percentile, from a summary of each group whose size does not grow with the group.

1. A summary is a sorted list of values; each has bounds for how many are less (`least`) and how many are not greater
   (`most`), and how often the value itself came for sure (`weight`). As long as all values are kept the bounds meet and
   answers are exact, as Spark's are while it compresses nothing.
2. Where summaries are merged their bounds add up. Of a list that grew long, values are dropped as long as the bounds of
   neighbours stay within twice the error that the accuracy allows: then no answer is off by more than that error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headway.dataflow.graph import AggCall
from headway.kernels.aggregates.base import Columns, Function, Grouping, Ints
from headway.kernels.aggregates.frequencies import shares
from headway.kernels.aggregates.lists import groups_of, list_type, lists_of, of_groups
from headway.kernels.floats import ordered

Floats = npt.NDArray[np.float64]
_SUMMARY = list_type(
    pa.struct([("value", pa.float64()), ("least", pa.int64()), ("most", pa.int64()), ("weight", pa.int64())])
)
_LONG = 4
"""A list is shortened when it has so many times the accuracy; it then has at most one time that."""


@dataclass(frozen=True)
class _Entries:
    """The values of many summaries, one summary after the other, and which group each belongs to."""

    groups: Ints
    values: Floats
    least: Ints
    most: Ints
    weight: Ints

    @classmethod
    def read(cls, lists: pa.Array, groups: Ints) -> _Entries:
        value, *numbers = (column.to_numpy() for column in lists.flatten().flatten())
        return cls(groups, value, *numbers)

    def write(self, count: int) -> pa.Array:
        columns = [self.values, self.least, self.most, self.weight]
        arrays = [pa.array(column) for column in columns]
        return of_groups(pa.StructArray.from_arrays(arrays, fields=list(_SUMMARY.value_type)), self.groups, count)

    def take(self, at: Ints | npt.NDArray[np.bool_]) -> _Entries:
        return _Entries(self.groups[at], self.values[at], self.least[at], self.most[at], self.weight[at])


class ApproxPercentile(Function):
    """Rows are held as numbers, merged ones as summaries."""

    initial = ([],)

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.accuracy: int = self.options["accuracy"]

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (_SUMMARY,)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        kind = args[0].type
        if pa.types.is_timestamp(kind):
            return [args[0].view(pa.int64()).cast(pa.float64(), safe=False)]
        if pa.types.is_date32(kind):
            return [args[0].view(pa.int32()).cast(pa.float64())]
        return [args[0].cast(pa.float64(), safe=False)]

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        if columns[0].type == pa.float64():
            merged = _counted(columns[0], grouping)
        elif grouping.count == len(columns[0]):
            return [columns[0].take(pa.array(grouping.rows))]
        else:
            lists = columns[0].take(pa.array(grouping.rows))
            merged = _merged(_Entries.read(lists, groups_of(lists)), grouping.ids[grouping.rows])
        return [_shortened(merged, grouping.count, self.accuracy).write(grouping.count)]

    def finish(self, columns: Columns) -> pa.Array:
        lists = columns[0]
        sizes = lists.value_lengths().to_numpy()
        entries = _Entries.read(lists, groups_of(lists))
        found = [_share(entries, sizes, share, 1 / self.accuracy) for share in self.options["percentages"]]
        element = self.result.value_type if pa.types.is_list(self.result) else self.result
        whole = shares(found, sizes > 0, pa.list_(pa.float64()) if pa.types.is_list(self.result) else pa.float64())
        if not pa.types.is_list(self.result):
            return _as(whole, element)
        return lists_of(whole.offsets.to_numpy(), _as(whole.values, element), sizes == 0)


def _counted(values: pa.Array, grouping: Grouping) -> _Entries:
    """Summaries of plain numbers: every value once."""
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    numbers, groups = values.drop_null().to_numpy(), grouping.ids[valid]
    rank = ordered(pa.array(numbers)).to_numpy()
    order = np.lexsort((rank, groups))
    rank, groups = rank[order], groups[order]
    starts = np.flatnonzero(_changes(groups, rank))
    ends = np.append(starts[1:], len(rank))
    before = np.searchsorted(groups, groups[starts])
    return _Entries(groups[starts], numbers[order][starts], starts - before, ends - before, ends - starts)


def _merged(entries: _Entries, group_of_list: Ints) -> _Entries:
    """One summary per group; `group_of_list` has the group of each of the summaries."""
    first = _changes(entries.groups)
    sure = entries.least + entries.weight
    rises = entries.least - np.where(first, 0, np.roll(sure, 1))
    last = np.roll(first, -1)
    below = entries.most - entries.weight
    gaps = np.where(last, 0, np.roll(below, -1) - entries.most)
    groups = group_of_list[entries.groups]
    rank = ordered(pa.array(entries.values)).to_numpy()
    order = np.lexsort((rank, groups))
    groups, rank, weight = groups[order], rank[order], entries.weight[order]
    starts = np.flatnonzero(_changes(groups, rank))
    per_value = [np.add.reduceat(column[order], starts) for column in (rises, entries.weight, gaps)]
    rises, weight, gaps = per_value
    bases = np.bincount(group_of_list[entries.groups[first]], below[first], int(group_of_list.max(initial=0)) + 1)
    groups = groups[starts]
    least = _running(rises + weight, groups) - weight
    most = _running(weight + gaps, groups) - gaps + bases.astype(np.int64)[groups]
    return _Entries(groups, entries.values[order][starts], least, most, weight)


def _running(steps: Ints, groups: Ints) -> Ints:
    """The sum of all steps of a group up to each of them, it included."""
    total = np.cumsum(steps)
    first = np.searchsorted(groups, groups)
    running: Ints = total - total[first] + steps[first]
    return running


def _changes(*keys: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Where one of the keys is another than before, the first row included."""
    changes = np.ones(len(keys[0]), np.bool_)
    changes[1:] = False
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return changes


def _shortened(entries: _Entries, count: int, accuracy: int) -> _Entries:
    sizes = np.bincount(entries.groups, minlength=count)
    if sizes.max(initial=0) <= _LONG * accuracy:
        return entries
    ends = np.cumsum(sizes)
    keep = np.ones(len(entries.values), np.bool_)
    for group in np.flatnonzero(sizes > _LONG * accuracy):
        span = slice(int(ends[group] - sizes[group]), int(ends[group]))
        keep[span] = _kept(entries.least[span], entries.most[span], entries.weight[span], accuracy)
    return entries.take(keep)


def _kept(least: Ints, most: Ints, weight: Ints, accuracy: int) -> npt.NDArray[np.bool_]:
    """Which values of one long summary stay: each the farthest from the one before that the error allows."""
    allowed = 2 * most[-1] / accuracy
    farthest = np.searchsorted(most - weight, least + weight + allowed, side="right") - 1
    jumps = np.maximum(farthest, np.arange(len(least)) + 1).tolist()
    keep = np.zeros(len(least), np.bool_)
    at, last = 0, len(least) - 1
    while at < last:
        keep[at] = True
        at = jumps[at]
    keep[last] = True
    return keep


def _share(entries: _Entries, sizes: Ints, share: float, error: float) -> Floats:
    """The value at `share` of every group; anything in a group without values."""
    if not len(entries.values):
        return np.zeros(len(sizes))
    ends = np.cumsum(sizes)
    starts = ends - sizes
    if share <= error:
        return _values(entries, np.minimum(starts, len(entries.values) - 1))
    if share >= 1 - error:
        return _values(entries, np.maximum(ends - 1, 0))
    totals = np.where(sizes > 0, entries.most[np.maximum(ends - 1, 0)], 0)
    base = np.cumsum(totals) - totals
    sure = np.roll(entries.least + entries.weight, 1)
    between = (sure + entries.most - entries.weight) / 2
    between[_changes(entries.groups)] = 0
    place = base + np.ceil(share * totals)
    return _values(entries, np.maximum(np.searchsorted(between + base[entries.groups], place) - 1, 0))


def _values(entries: _Entries, at: Ints) -> Floats:
    found: Floats = entries.values[at]
    return found


def _as(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return numbers.cast(pa.int64(), safe=False).view(kind)
    if pa.types.is_date32(kind):
        return numbers.cast(pa.int32(), safe=False).view(kind)
    return numbers.cast(kind, safe=False)
