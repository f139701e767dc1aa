"""A case: a plan, the rows of its streams in steps, and how it is run; as JSON it can be kept.

What is expected lies between two batch answers of Spark: that of the rows which must be kept, and that of all rows
and of those which end the streams. Where nothing is late and nothing waits for an end, both are one.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from plan_language import Plan

# Two minutes before clocks go forward in New York.
START = dt.datetime(2024, 3, 10, 6, 58)
END = 1_000_000_000
"""When the last rows of a stream are, in milliseconds."""
Row = tuple[Any, ...]
Cells = list[Any]
"""A row as JSON has it: its decimal is a text, its time counts milliseconds from the start."""


class Step(NamedTuple):
    """Rows that come at once to one partition; after which all that has come is worked on, or not."""

    stream: int
    partition: int
    wait: bool
    rows: list[Cells]


class Case(NamedTuple):
    plan: Plan
    steps: list[Step]
    static: list[Row]
    streams: int
    partitions: int
    output: str
    late: bool
    """Whether rows come too late; such a plan gives more rows for more rows, never others."""
    ansi: bool
    options: dict[str, str]
    restart: int | None = None
    """After which step the query is stopped, and started again on another number of nodes."""

    def to_json(self) -> str:
        return json.dumps(self._replace(steps=[step._asdict() for step in self.steps])._asdict(), indent=1)  # type: ignore[list-item]

    def size(self) -> int:
        return len(self.to_json())


def from_json(text: str) -> Case:
    case = Case(**json.loads(text))
    return case._replace(steps=[Step(**step) for step in case.steps])  # type: ignore[arg-type]


def kept_cases() -> dict[str, Case]:
    """The cases of this folder, by name."""
    return {path.stem: from_json(path.read_text()) for path in sorted(folder().glob("*.json"))}


def folder() -> Path:
    return Path(__file__).parent / "cases"


def row_of(cells: Cells) -> Row:
    *values, m, s, b, at = cells
    moment = None if at is None else START + dt.timedelta(milliseconds=at)
    return (*values, None if m is None else Decimal(m), s, b, moment)


def last_rows(case: Case) -> Iterator[tuple[int, int, Row]]:
    """A row for the end of every partition of every stream, with values of its own."""
    for stream in range(case.streams):
        for partition in range(case.partitions):
            number = stream * case.partitions + partition + 1
            cells = [-number, -number, -number, -float(number), f"-{number}.00", f"end {number}", True, END]
            yield stream, partition, row_of(cells)


def disorder(steps: list[Step]) -> int:
    """By how many milliseconds a row may come after one that is later in event time, at most."""
    behind = [0]
    for at, step in enumerate(steps):
        before = _highest_before(steps, at)
        behind += [before - cells[-1] for cells in step.rows if before is not None and cells[-1] is not None]
    return max(behind)


def must_keep(steps: list[Step], delay: int) -> list[Step]:
    """The steps without the rows that Spark may drop at a watermark of this delay, whatever its micro-batches are."""
    kept = []
    for at, step in enumerate(steps):
        before = _highest_before(steps, at)
        late = [before is not None and cells[-1] is not None and cells[-1] <= before - delay for cells in step.rows]
        kept.append(step._replace(rows=[cells for cells, is_late in zip(step.rows, late, strict=True) if not is_late]))
    return kept


def _highest_before(steps: list[Step], at: int) -> int | None:
    """The highest time that may have been seen before the rows of a step.

    Between two waits, streams and partitions do not wait for each other.
    """
    waits = [i for i, step in enumerate(steps) if step.wait]
    until = next((i for i in waits if i >= at), len(steps))
    place = steps[at][:2]
    seen = steps[:at] + [step for step in steps[at + 1 : until + 1] if step[:2] != place]
    return max((cells[-1] for step in seen for cells in step.rows if cells[-1] is not None), default=None)
