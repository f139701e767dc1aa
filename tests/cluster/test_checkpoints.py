"""Checkpoints on disk."""

from pathlib import Path

import pytest
from pyspark.sql import types as T

from headway.cluster.checkpoints import KEPT_EPOCHS, CheckpointStore, Manifest
from headway.dataflow.graph import Source
from headway.dataflow.stages import cut
from headway.dataflow.types import Field
from headway.errors import InvalidOption


def source(name: str) -> Source:
    return Source((Field(name, T.LongType()),), "rate", ())


def manifest(epoch: int) -> Manifest:
    return Manifest(epoch, {1: [f"state/{epoch}/1-0.arrow"]}, {0: [[[0, {"next": epoch}]]]}, [("a", b"b")])


def test_the_last_committed_epoch_is_found_again(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path))
    assert store.latest() is None
    for epoch in range(12):
        store.commit(
            Manifest(epoch, {1: [f"state/{epoch}/1-0.arrow"]}, {0: [[[0, {"next": epoch}]]]}, [("a", b"b")]), None
        )
    again = CheckpointStore(str(tmp_path)).latest()
    assert again == manifest(11)


def test_old_epochs_are_forgotten_and_what_sinks_keep_is_not(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path))
    for epoch in range(6):
        (tmp_path / "headway" / "state" / str(epoch)).mkdir(parents=True, exist_ok=True)
        store.commit(Manifest(epoch), f"kept {epoch}")
    assert len(list((tmp_path / "headway" / "epochs").iterdir())) == KEPT_EPOCHS + 1
    assert len(list((tmp_path / "headway" / "state").iterdir())) == KEPT_EPOCHS + 1
    assert store.kept(3) == [f"kept {epoch}" for epoch in range(4)]
    store.drop_after(4)
    assert store.kept(99) == [f"kept {epoch}" for epoch in range(5)]


def test_another_schema_is_refused_by_name(tmp_path: Path) -> None:
    before, now = (cut(source(name), frozenset({source(name)}), "append") for name in ("old", "new"))
    CheckpointStore(str(tmp_path)).check_plan(before)
    CheckpointStore(str(tmp_path)).check_plan(before)
    with pytest.raises(InvalidOption, match=r"old bigint.*new bigint"):
        CheckpointStore(str(tmp_path)).check_plan(now)
