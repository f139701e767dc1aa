"""Mapped blocks under Arrow columns: no copy, back when the last reader is gone, no page faults once warm."""

from __future__ import annotations

import gc
import resource
import threading

import numpy as np
import pyarrow as pa
import pytest

from headway.mapped import map_memory
from headway.memory import HEAP, Account, Area, Ledger, Memory
from headway.node.memory import NodeMemory, QueryMemory

MIB = 1 << 20
ROWS = 65_536
_COUNTING = np.arange(8 * MIB)


@pytest.fixture
def account() -> Account:
    return Ledger(256 * MIB, 256 * MIB).open()


@pytest.fixture
def blocks(account: Account) -> NodeMemory:
    """Some that have been used once: the thread has mapped what was asked for."""
    blocks = NodeMemory(256 * MIB)
    blocks.area(MIB, account)
    while blocks.pool.mapped < 8 * MIB:
        threading.Event().wait(0.001)
        blocks.tidy()
    return blocks


def column(area: Area, count: int) -> pa.Array:
    values, buffer = area.column(np.int64, count)
    values[:] = _COUNTING[:count]
    return pa.Array.from_buffers(pa.int64(), count, [None, buffer])


@pytest.mark.parametrize("mapped", [True, False])
def test_columns_are_aligned_and_read_without_a_copy(blocks: NodeMemory, account: Account, mapped: bool) -> None:
    memory: Memory = QueryMemory(blocks, account) if mapped else HEAP
    area = memory.area(MIB)
    first, second = column(area, 1001), column(area, 500)
    assert first.to_pylist() == list(range(1001))
    assert second.to_pylist() == list(range(500))
    addresses = [array.buffers()[1].address for array in (first, second)]
    assert [address % 64 for address in addresses] == [0, 0]
    assert addresses[1] - addresses[0] == 1008 * 8
    assert np.shares_memory(first.to_numpy(), np.frombuffer(first.buffers()[1], np.int64))


def test_a_block_is_back_when_the_last_reader_is_gone(blocks: NodeMemory, account: Account) -> None:
    array = column(blocks.area(MIB, account), 1000)
    batch = pa.record_batch([array], names=["a"])
    part = batch.slice(10, 5)
    view = part.column(0).to_numpy()
    del array, batch
    blocks.tidy()
    assert (account.blocks, blocks.pool.used) == (MIB, MIB)
    del part
    blocks.tidy()
    assert account.blocks == MIB
    assert view.tolist() == [10, 11, 12, 13, 14]
    del view
    blocks.tidy()
    assert (account.blocks, blocks.pool.used) == (0, 0)


def test_who_was_refused_for_its_blocks_reads_when_they_are_back(blocks: NodeMemory) -> None:
    account = Ledger(256 * MIB, 256 * MIB).open(cap=2 * MIB)
    held, read = [column(blocks.area(MIB, account), 1000) for _ in range(2)], []
    assert not account.may_read(lambda: read.append("again"))
    held.pop()
    blocks.tidy()
    assert read == ["again"]
    assert account.may_read(lambda: read.append("never"))


def test_another_thread_may_be_the_last_reader(blocks: NodeMemory, account: Account) -> None:
    held = [column(blocks.area(MIB, account), 1000)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    blocks.tidy()
    assert blocks.pool.used == 0


def test_a_row_wider_than_any_block_comes_from_the_heap(blocks: NodeMemory, account: Account) -> None:
    array = column(blocks.area(64 * MIB, account), 8 * MIB)
    assert array[-1].as_py() == 8 * MIB - 1
    assert account.blocks == 0


def test_memory_is_mapped_with_its_pages() -> None:
    mapped = map_memory(16 * MIB)
    assert mapped is not None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    mapped.array[::4096] = 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 100
    assert mapped.address % 64 == 0


def faults(memory: Memory, batches: int) -> int:
    """Minor page faults of so many batches of a megabyte, each dropped when the next but one is there."""
    held = [column(memory.area(MIB), ROWS) for _ in range(2)]
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for number in range(batches):
        held[number % 2] = column(memory.area(MIB), ROWS)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_memory_that_is_warm_faults_no_pages_and_does_not_grow(blocks: NodeMemory, account: Account) -> None:
    memory = QueryMemory(blocks, account)
    faults(memory, 10)
    mapped, missed = blocks.pool.mapped, blocks.pool.missed
    batches = 500
    assert faults(memory, batches) < batches  # a batch has 128 pages
    assert (blocks.pool.mapped, blocks.pool.missed) == (mapped, missed)
    assert blocks.pool.taken >= batches
