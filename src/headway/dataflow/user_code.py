"""Relations that run functions of the user's: Python, pandas and Arrow UDFs, mapInPandas and mapInArrow."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import types as T

from headway.dataflow.expr import Expr
from headway.dataflow.graph import Relation, Unary


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


def runs_user_code(relation: Relation) -> bool:
    """Whether a step of a chain calls a function of the user's."""
    return isinstance(relation, UserCode)
