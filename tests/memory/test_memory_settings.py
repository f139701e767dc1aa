"""Settings of memory."""

from __future__ import annotations

from typing import Any

import pytest

from headway.errors import InvalidOption
from headway.memory import MemorySettings, memory_settings


def test_sizes_have_units_and_names_any_case() -> None:
    conf = {"Headway.Memory.Node": "2g", "headway.memory.query": 65536, "headway.compile": "first"}
    assert memory_settings(conf) == MemorySettings(2 << 30, 65536, True)
    assert memory_settings({"headway.memory.query": "64 MiB"}).query == 64 << 20


@pytest.mark.parametrize(
    ("conf", "says"),
    [
        ({"headway.memory.node": "much"}, "headway.memory.node is 'much'; write a size"),
        ({"headway.memory.query": "-5m"}, "headway.memory.query is '-5m'"),
        ({"headway.memory.query": 0}, "headway.memory.query is 0"),
        ({"headway.memory.mode": "disk"}, "headway.memory.mode is 'disk'; use blocks or queue"),
        ({"headway.memory.rowsPerBlock": "few"}, "headway.memory.rowsPerBlock is 'few'; use a whole number"),
        ({"headway.memory.nodes": "1g"}, r"no setting headway.memory.nodes; there are headway.memory.node"),
    ],
)
def test_what_will_not_do_is_refused(conf: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        memory_settings(conf)


def test_blocks_and_chunks_can_be_sized_for_experiments() -> None:
    found = memory_settings({"headway.memory.blocksPerChunk": "16", "headway.memory.rowsPerBlock": 4096})
    assert (found.blocks_per_chunk, found.rows_per_block) == (16, 4096)
