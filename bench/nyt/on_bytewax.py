"""The query for Bytewax: what costs little is asked first, as in the other systems' forms of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bench.libraries.steps import EPOCH, Keyed, Row, Steps
from bench.nyt.cells import cell


def steps(told: dict[str, Any]) -> Steps:
    wanted = told["vendor"]

    def keep(rows: list[Row]) -> list[Keyed]:
        return [
            (str(pickup), (EPOCH + timedelta(0, 0, at), miles))
            for at, vendor, miles, from_x, from_y, to_x, to_y in rows
            if vendor == wanted and miles > 1 and (pickup := cell(from_x, from_y)) and cell(to_x, to_y)
        ]

    return Steps(keep, lambda: (0, 0.0), _fold, lambda sums: (sums[0], sums[1] / sums[0]))


def _fold(sums: tuple[int, float], value: tuple[Any, ...]) -> tuple[int, float]:
    return sums[0] + 1, sums[1] + value[1]
