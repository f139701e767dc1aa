"""The grid of cells, and a place's cell in plain Python, for programs that have no Spark."""

from __future__ import annotations

from math import floor

WEST, NORTH = -74.913585, 41.474937
"""The centre of the cell in the corner."""
EAST_STEP, SOUTH_STEP = 0.002993, 0.002245778
CELLS = 600


def cell(longitude: float, latitude: float) -> int:
    """The number of a place's cell, row by row from the north-west; 0 outside of the grid."""
    east = floor((longitude - WEST) / EAST_STEP + 0.5)
    south = floor((NORTH - latitude) / SOUTH_STEP + 0.5)
    return south * CELLS + east + 1 if 0 <= east < CELLS and 0 <= south < CELLS else 0
