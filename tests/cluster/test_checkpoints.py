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


def test_files_stay_while_a_manifest_names_them(tmp_path: Path) -> None:
    """A state in parts, and one that is written whole: of that, old files go from folders that stay."""
    store = CheckpointStore(str(tmp_path))
    state = tmp_path / "headway" / "state"
    for epoch in range(6):
        (state / str(epoch)).mkdir()
        for name in ("1-0", "2-0"):
            (state / str(epoch) / f"{name}.arrow").touch()
        parts = [f"state/{n}/1-0.arrow" for n in range(0 if epoch < 4 else 4, epoch + 1)]
        store = CheckpointStore(str(tmp_path)) if epoch == 3 else store
        store.commit(Manifest(epoch, {1: parts, 2: [f"state/{epoch}/2-0.arrow"]}), None)
    left = sorted(str(file.relative_to(state)) for file in state.rglob("*.arrow"))
    assert left == [*(f"{n}/1-0.arrow" for n in range(3)), *(f"{n}/{m}-0.arrow" for n in (3, 4, 5) for m in (1, 2))]
    store.commit(Manifest(6, {1: ["state/4/1-0.arrow"]}), None)
    assert sorted(folder.name for folder in state.iterdir()) == ["4", "5"]


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
