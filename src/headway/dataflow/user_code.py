"""Relations that run functions of the user's: Python, pandas and Arrow UDFs, mapInPandas and mapInArrow, and those that
keep state by key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pyspark.sql import types as T

from headway.dataflow.expr import Expr
from headway.dataflow.graph import Keyed, Relation, StaticTable, Unary
from headway.dataflow.types import Schema


@dataclass(frozen=True)
class UserFunction:
    """A function as PySpark pickled it; where one is applied to the result of another, `commands` are all of them.

    `keywords` has a name for every argument that is passed by it, None for the others. `broadcasts` are the pickled
    values of the broadcast variables it uses, by id. `identity` is not None iff the function is not deterministic: two
    uses of it are then two.
    """

    name: str
    commands: tuple[bytes, ...] = field(repr=False)
    args: tuple[Expr, ...]
    keywords: tuple[str | None, ...]
    type: T.DataType
    broadcasts: tuple[tuple[int, bytes], ...] = field(default=(), repr=False)
    identity: int | None = None


@dataclass(frozen=True)
class UserCode(Unary):
    """Base of relations whose rows a function of the user's makes.

    `eval_type` is PySpark's, which says how the function is called; `settings` are the session's that PySpark's worker
    obeys.
    """

    eval_type: int
    settings: tuple[tuple[str, str], ...] = field(repr=False)


@dataclass(frozen=True)
class EvalPython(UserCode):
    """The input's columns, then the result of every function."""

    functions: tuple[UserFunction, ...]


@dataclass(frozen=True)
class MapBatches(UserCode):
    """What the function makes of batches of rows, as many rows as it likes."""

    function: UserFunction


@dataclass(frozen=True)
class StatefulCode(Keyed):
    """Rows by key go to a function of the user's that keeps state for the key.

    `values` are the columns that the function sees. `time` is the event-time column, None iff no row is late: where
    the function does not go by event time. `time_mode` is "none", "processing" or "event".
    """

    eval_type: int
    settings: tuple[tuple[str, str], ...] = field(repr=False)
    function: UserFunction
    values: tuple[int, ...]
    time: int | None
    time_mode: str


@dataclass(frozen=True)
class GroupsWithState(StatefulCode):
    """applyInPandasWithState: one value of `state_type` per key, and a time at which the key is called for again."""

    operator: ClassVar[str] = "applyInPandasWithState"
    state_type: T.StructType
    watermarked: bool


@dataclass(frozen=True)
class TransformWithState(StatefulCode):
    """transformWithState and transformWithStateInPandas: a StatefulProcessor.

    `schemas` has, as JSON, every schema that the processor writes as a DDL string. `initial` has the key columns, then
    the rows of the initial state.
    """

    operator: ClassVar[str] = "transformWithStateInPySparkExec"
    schemas: tuple[tuple[str, str], ...]
    initial: StaticTable | None = None
    initial_schema: Schema = ()


def runs_user_code(relation: Relation) -> bool:
    """Whether a relation calls a function of the user's."""
    return isinstance(relation, UserCode | StatefulCode)
