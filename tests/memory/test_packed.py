"""Blocks that hold few rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headway.memory import HEAP, Block, Layout

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.float32())])


def filled(rows: int) -> Block:
    block = Layout(SCHEMA).block(HEAP)
    block.num_rows = rows
    block.columns[0][:rows] = range(rows)
    block.columns[1][:rows] = range(rows)
    return block


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 1000])
def test_few_rows_move_to_a_block_of_their_size(rows: int) -> None:
    block = filled(rows)
    packed = block.packed(HEAP)
    assert packed.layout.size <= max(2 * rows, 64) * 12
    assert packed.record_batch().equals(block.record_batch())
    assert filled(rows).packed(HEAP).layout.capacity == packed.layout.capacity


def test_many_stay_where_they_are() -> None:
    block = filled(Layout(SCHEMA).capacity // 4)
    assert block.packed(HEAP) is block


def test_layouts_are_made_once() -> None:
    layout = Layout(SCHEMA)
    assert layout.smaller(100) is layout.smaller(128)
    assert layout.smaller(129) is not layout.smaller(128)
