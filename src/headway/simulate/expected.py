"""The results that arrivals imply, whatever the schedule: the dataflow evaluated without a clock, a stage at a time.

A policy decides when results come, never which. That the simulation gave these and no others shows that it lost and
doubled nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from headway.simulate.arrivals import Integers
from headway.simulate.build import Built
from headway.simulate.engine import Measured
from headway.simulate.operators import NEVER, Operator, SourceOperator, WindowOperator

Key = tuple[int, int, int]
"""A result: its operator, event time and weight."""


@dataclass
class _Rows:
    """All that an operator gives: event times and weights, and how far it says that it is in the end."""

    event: Integers
    weight: Integers
    mark: int


def correct(job: Built, measured: Measured, number: int, drained: bool) -> bool:
    """Whether the results of the numbered job are those expected; undrained, whether they are among them."""
    found: Counter[Key] = Counter((key[4], key[2], key[3]) for key in measured.results[number])
    expected = expected_results(job)
    return found == expected if drained else found <= expected


def expected_results(job: Built) -> Counter[Key]:
    """How often each result comes."""
    given: dict[int, _Rows] = {}
    found: Counter[Key] = Counter()
    for operator in job.operators:
        rows = given[operator.number] = _given(operator, given)
        if not operator.edges:
            found.update(
                (operator.number, e, w) for e, w in zip(rows.event.tolist(), rows.weight.tolist(), strict=True)
            )
    return found


def _given(operator: Operator, given: dict[int, _Rows]) -> _Rows:
    if isinstance(operator, SourceOperator):
        stream = operator.stream
        return _Rows(stream.p, stream.rows, int(stream.p[-1]) if len(stream.p) else NEVER)
    taken = [_dealt(operator, i, given) for i in range(len(operator.inputs))]
    event = np.concatenate([rows.event for rows in taken])
    weight = np.concatenate([rows.weight for rows in taken])
    mark = min(rows.mark for rows in taken)
    return (
        _windowed(operator, event, weight, mark) if isinstance(operator, WindowOperator) else _Rows(event, weight, mark)
    )


def _dealt(operator: Operator, number: int, given: dict[int, _Rows]) -> _Rows:
    """What comes through the numbered input."""
    channel = operator.inputs[number]
    assert channel.sender is not None
    assert channel.edge is not None
    rows, count = given[channel.sender.number], len(channel.edge.channels)
    if count == 1:
        return rows
    weight = rows.weight // count + (channel.edge.channels.index(channel) < rows.weight % count)
    return _Rows(rows.event[weight > 0], weight[weight > 0], rows.mark)


def _windowed(operator: WindowOperator, event: Integers, weight: Integers, mark: int) -> _Rows:
    if mark == NEVER:
        return _Rows(event[:0], weight[:0], NEVER)
    first, slide, delay = operator.windows
    ends = first + ((event - first) // slide + 1) * slide
    ends = np.concatenate([ends + i * slide for i in range(operator.copies)])
    frontier = first + (mark - delay - first) // slide * slide
    ended, places = np.unique(ends, return_inverse=True)
    weights = np.zeros(len(ended), np.int64)
    np.add.at(weights, places, np.tile(weight, operator.copies))
    return _Rows(ended[ended <= frontier] - 1, weights[ended <= frontier], frontier)
