"""Checkpoints on disk: one manifest per committed epoch, written when everything it names is there.

<location>/headway/plan.json          what the states mean: compared when a query starts again
<location>/headway/beginning.json     where a new query begins in sources that had to be asked
<location>/headway/epochs/<n>.json    the manifest: its presence is the commit
<location>/headway/state/<n>/…        operators' states, or what was added to them, written by nodes; a file is
                                      there for as long as a manifest names it
<location>/headway/sink/<n>.bin       what the sink asked to keep
"""

from __future__ import annotations

import base64
import json
import pickle
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from pyarrow import fs

from headway.dataflow.printing import describe as describe_relation
from headway.dataflow.stages import InlineStage, KeyedStage, MergeStage, PlanStage, Stage
from headway.errors import InvalidOption
from headway.kernels.api import partial_schema
from headway.node.snapshots import file_system

KEPT_EPOCHS = 2


@dataclass
class Manifest:
    """A committed epoch: files and values of operators by stage, what sinks gave when they prepared."""

    epoch: int
    files: dict[int, list[str]] = field(default_factory=dict)
    values: dict[int, list[Any]] = field(default_factory=dict)
    receipts: list[Any] = field(default_factory=list)

    def to_json(self) -> str:
        receipts = base64.b64encode(pickle.dumps(self.receipts)).decode()
        return json.dumps({"epoch": self.epoch, "files": self.files, "values": self.values, "receipts": receipts})

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        found = json.loads(text)
        return cls(
            found["epoch"],
            {int(stage): names for stage, names in found["files"].items()},
            {int(stage): values for stage, values in found["values"].items()},
            pickle.loads(base64.b64decode(found["receipts"])),
        )


class CheckpointStore:
    """The checkpoint of one query."""

    def __init__(self, location: str) -> None:
        self.root = str(PurePosixPath(location) / "headway") if "://" not in location else f"{location}/headway"
        self._fs, self._path = file_system(self.root)
        self._named: dict[int, frozenset[str]] = {}
        for folder in ("epochs", "sink", "state"):
            self._fs.create_dir(f"{self._path}/{folder}", recursive=True)

    def check_plan(self, stages: tuple[Stage, ...]) -> None:
        """Remember what the states mean, or compare with what was remembered."""
        described = describe(stages)
        before = self._read("plan.json")
        if before is None:
            self._write("plan.json", json.dumps(described, indent=1).encode())
        elif json.loads(before) != described:
            raise InvalidOption(_difference(json.loads(before), described, self.root))

    def latest(self) -> Manifest | None:
        """The last committed epoch."""
        epochs = self._epochs()
        found = self._read(f"epochs/{epochs[-1]}.json") if epochs else None
        return None if found is None else Manifest.from_json(found.decode())

    def beginning(self) -> dict[int, list[Any]] | None:
        """Where the query begins, by stage; None if it was not found out yet."""
        found = self._read("beginning.json")
        return None if found is None else {int(stage): values for stage, values in json.loads(found).items()}

    def begin(self, values: dict[int, list[Any]]) -> None:
        """Keep where the query begins, so that it does so there also if it ends before its first epoch."""
        self._write("beginning.json", json.dumps(values).encode())

    def commit(self, manifest: Manifest, kept: Any) -> None:
        """Make an epoch the one to go on from."""
        if kept is not None:
            self._write(f"sink/{manifest.epoch}.bin", pickle.dumps(kept))
        self._write(f"epochs/{manifest.epoch}.json", manifest.to_json().encode())
        self._forget(manifest.epoch - KEPT_EPOCHS)

    def kept(self, epoch: int) -> list[Any]:
        """What the sink asked to keep, in the epochs up to `epoch`."""
        names = sorted(int(name[:-4]) for name in self._names("sink") if name.endswith(".bin"))
        read = (self._read(f"sink/{n}.bin") for n in names if n <= epoch)
        return [pickle.loads(found) for found in read if found is not None]

    def drop_after(self, epoch: int) -> None:
        """Remove what an epoch that never committed has left."""
        for name in self._names("sink"):
            if int(name.split(".")[0]) > epoch:
                self._fs.delete_file(f"{self._path}/sink/{name}")

    def _forget(self, before: int) -> None:
        """Remove manifests from before this epoch, and states that no other names."""
        epochs = self._epochs()
        old = [epoch for epoch in epochs if epoch < before]
        needed = {name for epoch in epochs if epoch >= before for name in self._named_by(epoch)}
        folders = {PurePosixPath(name).parent.name for name in needed}
        for name in {name for epoch in old for name in self._named_by(epoch)} - needed:
            if PurePosixPath(name).parent.name in folders:
                self._fs.delete_file(f"{self._path}/{name}")
        for epoch in old:
            self._fs.delete_file(f"{self._path}/epochs/{epoch}.json")
            self._named.pop(epoch, None)
        for name in self._names("state"):
            if int(name) < before and name not in folders:
                self._fs.delete_dir(f"{self._path}/state/{name}")

    def _named_by(self, epoch: int) -> frozenset[str]:
        """The files of states that an epoch's manifest names."""
        if epoch not in self._named:
            found = self._read(f"epochs/{epoch}.json")
            files = Manifest.from_json(found.decode()).files if found is not None else {}
            self._named[epoch] = frozenset(name for names in files.values() for name in names)
        return self._named[epoch]

    def _epochs(self) -> list[int]:
        return sorted(int(name[:-5]) for name in self._names("epochs") if name.endswith(".json"))

    def _names(self, folder: str) -> list[str]:
        infos = self._fs.get_file_info(fs.FileSelector(f"{self._path}/{folder}", allow_not_found=True))
        return [info.base_name for info in infos]

    def _read(self, name: str) -> bytes | None:
        path = f"{self._path}/{name}"
        if self._fs.get_file_info(path).type == fs.FileType.NotFound:
            return None
        with self._fs.open_input_stream(path) as stream:
            data: bytes = stream.read()
            return data

    def _write(self, name: str, data: bytes) -> None:
        """Write whole or not at all."""
        path = f"{self._path}/{name}"
        with self._fs.open_output_stream(f"{path}.tmp") as stream:
            stream.write(data)
        self._fs.move(f"{path}.tmp", path)


def describe(stages: tuple[Stage, ...]) -> list[dict[str, str]]:
    """What a checkpoint's positions and states mean."""
    described = []
    for stage in stages:
        if isinstance(stage, InlineStage | PlanStage):
            source = stage.source
            schema = ", ".join(f"{f.name} {f.type.simpleString()}" for f in source.whole or source.schema)
            described.append({"stage": str(stage.id), "source": source.format, "schema": schema})
        elif isinstance(stage, MergeStage):
            columns = ", ".join(f"{f.name} {f.type}" for f in partial_schema(stage.aggregate))
            functions = ", ".join(agg.function for agg in stage.aggregate.aggs)
            described.append({"stage": str(stage.id), "aggregation": functions, "state": columns})
        elif isinstance(stage, KeyedStage):
            described.append({"stage": str(stage.id), "operator": describe_relation(stage.relation)})
    return described


def _difference(before: list[dict[str, str]], now: list[dict[str, str]], root: str) -> str:
    pairs = [(old, new) for old, new in zip(before, now, strict=False) if old != new]
    old, new = pairs[0] if pairs else (before, now)
    return (
        f"the query changed since the checkpoint in {root} was written: it had {old}, now it has {new}; "
        "give the changed query another checkpointLocation, or delete that one to begin anew"
    )
