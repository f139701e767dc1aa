"""Where a query's checkpoint is, and the id that lives in it.

1. The location is the option `checkpointLocation`, else the setting `spark.sql.streaming.checkpointLocation` and the
   query's name below it, else, for sinks that Spark allows it, a temporary directory that goes with the query.
2. The file `metadata` holds the id, as in Spark; `engine` in it says that Headway wrote it. The policy of several
   watermarks with which a query began is its own for good, as in Spark, and is there too.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from headway.errors import InvalidOption, UnsupportedPlan
from headway.node.snapshots import file_system
from headway.query import HEADWAY

MAY_BE_TEMPORARY = frozenset({"memory", "console", "noop", "foreach", "foreachbatch"})
_SETTING = "spark.sql.streaming.checkpointLocation"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint location: an absolute local path, or a URI of another file system."""

    location: str
    temporary: bool

    def discard(self) -> None:
        """Delete it if it goes with the query."""
        if self.temporary:
            shutil.rmtree(self.location, ignore_errors=True)


def find(spark: SparkSession, given: str | None, name: str | None, format: str) -> Checkpoint:
    """The checkpoint of a query that writes to `format`; `given` is the option."""
    root = spark.conf.get(_SETTING, None)
    if given:
        return Checkpoint(_normal(given), temporary=False)
    if root:
        return Checkpoint(f"{_normal(root).rstrip('/')}/{name or uuid.uuid4()}", temporary=False)
    if format.lower() in MAY_BE_TEMPORARY:
        return Checkpoint(tempfile.mkdtemp(prefix="headway-checkpoint-"), temporary=True)
    raise InvalidOption(
        f"sink {format} needs a checkpoint location: .option('checkpointLocation', 'a directory'), "
        f"or spark.conf.set({_SETTING!r}, 'a directory') for all queries"
    )


def _normal(location: str) -> str:
    """A local path absolute and without its scheme, anything else as it is."""
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    return location if "://" in location else str(Path(location).absolute())


def query_id(checkpoint: Checkpoint) -> str | None:
    """The id of the query that owns the checkpoint, None if nobody does yet."""
    known = _metadata(checkpoint)
    if known is not None and known.get("engine") != HEADWAY:
        raise UnsupportedPlan(f"checkpoint {checkpoint.location}", "Structured Streaming wrote it")
    return known["id"] if known else None


def watermarks(checkpoint: Checkpoint) -> str | None:
    """The policy of several watermarks of the query that owns the checkpoint, None if that is not known."""
    return (_metadata(checkpoint) or {}).get("watermarks")


def claim(checkpoint: Checkpoint, id: str, policy: str) -> None:
    """Write down that the query `id`, run by Headway with this policy of watermarks, owns the checkpoint."""
    try:
        files, path = file_system(checkpoint.location)
        files.create_dir(path, recursive=True)
        with files.open_output_stream(f"{path}/metadata.new") as file:
            file.write(json.dumps({"id": id, "engine": HEADWAY, "watermarks": policy}).encode())
        files.move(f"{path}/metadata.new", f"{path}/metadata")
    except (OSError, pa.ArrowException) as error:
        raise InvalidOption(
            f"checkpoint {checkpoint.location} cannot be written ({error}): give a directory that can"
        ) from error


def check_for_spark(checkpoint: Checkpoint) -> str | None:
    """The id in a checkpoint that Structured Streaming is to go on from, None if there is none yet."""
    known = _metadata(checkpoint)
    if known is not None and known.get("engine") == HEADWAY:
        raise InvalidOption(
            f"checkpoint {checkpoint.location} was written by Headway, and Structured Streaming, to which this query "
            "falls back, cannot go on from it: give the query a new checkpointLocation"
        )
    return known["id"] if known else None


def _metadata(checkpoint: Checkpoint) -> dict[str, str] | None:
    try:
        files, path = file_system(checkpoint.location)
        with files.open_input_stream(f"{path}/metadata") as file:
            found: dict[str, str] = json.loads(file.read())
            return found if found["id"] else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, OSError, pa.ArrowException) as error:
        raise InvalidOption(f"checkpoint {checkpoint.location} cannot be read: {error}") from error
