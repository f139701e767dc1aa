"""Blocks and chunks: recycled, asked for ahead, within the budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.memory import ChunkPool, Part
from headway.memory.chunks import LARGEST, SMALLEST, block_size

MIB = 1 << 20


def fill(pool: ChunkPool) -> int:
    """Do what the thread of a node does; gives how many chunks it made."""
    kinds = list(pool.requests)
    pool.requests.clear()
    for kind in kinds:
        pool.add(kind, object())
    return len(kinds)


def taken(pool: ChunkPool, size: int, count: int) -> list[Part]:
    blocks = [pool.take(size) for _ in range(count)]
    return [block for block in blocks if block is not None]


def test_the_first_block_asks_for_two_chunks_and_is_not_there_yet() -> None:
    pool = ChunkPool(64 * MIB)
    assert pool.take(MIB) is None
    assert pool.requests == [MIB, MIB]
    assert pool.take(MIB) is None
    assert fill(pool) == 2
    assert (pool.mapped, pool.missed) == (8 * MIB, 2)


def test_whoever_takes_from_the_last_chunk_asks_for_the_next_once() -> None:
    pool = ChunkPool(64 * MIB)
    pool.take(MIB)
    fill(pool)
    assert len(taken(pool, MIB, 4)) == 4
    assert pool.requests == []
    assert len(taken(pool, MIB, 2)) == 2
    assert pool.requests == [MIB]
    assert fill(pool) == 1
    assert len(taken(pool, MIB, 6)) == 6
    assert pool.missed == 1


def test_the_block_freed_last_goes_out_first_and_nothing_grows() -> None:
    pool = ChunkPool(64 * MIB)
    pool.take(MIB)
    fill(pool)
    seen = set()
    for _ in range(1000):
        first, second = taken(pool, MIB, 2)
        seen |= {(id(first.chunk), first.offset), (id(second.chunk), second.offset)}
        pool.give(second)
        pool.give(first)
    assert len(seen) == 2
    assert (pool.mapped, pool.used, pool.taken, pool.missed) == (8 * MIB, 0, 2000, 1)
    assert pool.requests == []


def test_blocks_of_a_chunk_lie_side_by_side() -> None:
    pool = ChunkPool(64 * MIB)
    pool.take(MIB)
    fill(pool)
    chunks: dict[int, list[int]] = {}
    for block in taken(pool, MIB, 8):
        chunks.setdefault(id(block.chunk), []).append(block.offset)
    assert list(chunks.values()) == [[0, MIB, 2 * MIB, 3 * MIB]] * 2


def test_what_is_larger_than_any_block_is_nothing_for_a_pool() -> None:
    pool = ChunkPool(1 << 40)
    assert pool.take(LARGEST + 1) is None
    assert pool.requests == []
    assert pool.missed == 1


def test_at_the_budget_there_is_no_more() -> None:
    pool = ChunkPool(10 * MIB)
    pool.take(MIB)
    assert fill(pool) == 2
    blocks = taken(pool, MIB, 20)
    assert len(blocks) == 8
    assert pool.requests == []
    assert pool.mapped == 8 * MIB
    pool.give(blocks[0])
    assert pool.take(MIB) is not None


def test_chunks_that_nobody_uses_make_room_for_other_sizes() -> None:
    pool = ChunkPool(10 * MIB)
    pool.take(MIB)
    fill(pool)
    block = pool.take(MIB)
    assert pool.take(2 * MIB) is None
    assert pool.requests == []  # one chunk is in use, and the other leaves too little
    assert block is not None
    pool.give(block)
    pool.take(2 * MIB)
    assert fill(pool) == 1
    assert pool.mapped == 8 * MIB
    assert pool.take(2 * MIB) is not None


def test_a_chunk_that_could_not_be_made_is_asked_for_again() -> None:
    pool = ChunkPool(64 * MIB)
    pool.take(MIB)
    for kind in list(pool.requests):
        pool.requests.remove(kind)
        pool.add(kind, None)
    assert pool.mapped == 0
    pool.take(MIB)
    assert pool.requests


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40 * MIB)), max_size=80), st.integers(1, 60))
def test_never_more_than_the_budget_and_no_block_twice(steps: list[tuple[bool, int]], budget: int) -> None:
    pool, out = ChunkPool(budget * MIB), []
    for give, number in steps:
        if give and out:
            pool.give(out.pop(number % len(out)))
        elif not give:
            block = pool.take(number)
            if block is not None:
                assert block.chunk.block_size >= number
                out.append(block)
            fill(pool)
        places = {(id(block.chunk), block.offset) for block in out}
        assert len(places) == len(out)
        assert pool.used == sum(block.chunk.block_size for block in out) <= pool.mapped <= pool.budget


@given(st.integers(1, LARGEST))
def test_sizes_are_powers_of_two_and_chunks_hold_whole_blocks(size: int) -> None:
    kind = block_size(size)
    assert kind >= SMALLEST
    assert size <= kind < max(2 * size, SMALLEST + 1)
    assert kind & (kind - 1) == 0
    assert ChunkPool(0).chunk_size(kind) % kind == 0


def test_chunks_have_as_many_blocks_as_asked_for() -> None:
    pool = ChunkPool(64 * MIB, blocks_per_chunk=8)
    pool.take(MIB)
    fill(pool)
    assert pool.mapped == 16 * MIB
