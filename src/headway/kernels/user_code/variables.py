"""The state variables of a StatefulProcessor: PySpark's own handle and variables over state in this process.

1. A value is kept as Spark's JVM would keep it: what does not fit its schema is null.
2. A variable with a time to live forgets a value so long after it was written; a list and a map do so value by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import ListState, MapState, ValueState
from pyspark.sql.streaming.stateful_processor_api_client import _normalize_state_value

from headway.kernels.user_code.groups import Group, GroupedCode
from headway.kernels.user_code.pickled import converter

Row = tuple[Any, ...]
Stored = tuple[Row, int | None]
"""A value, and when it is forgotten, in milliseconds."""


class Codec:
    """Between a user's tuples and what is kept."""

    def __init__(self, schema: T.StructType) -> None:
        self.schema = schema
        self._fields = [converter(field.dataType) for field in schema.fields]

    def encode(self, value: Row) -> Row:
        internal = self.schema.toInternal(tuple(map(_normalize_state_value, value)))
        return tuple(convert(item) for convert, item in zip(self._fields, internal, strict=True))

    def decode(self, stored: Row) -> Row:
        return tuple(self.schema.fromInternal(stored))


class Variable:
    """A variable of the processor, for the key that is being called for. `ttl` is in milliseconds."""

    def __init__(self, kernel: GroupedCode, name: str, schema: T.StructType, ttl: int | None) -> None:
        self._kernel = kernel
        self._name = name
        self._codec = Codec(schema)
        self._ttl = ttl

    @property
    def _group(self) -> Group:
        if self._kernel.current is None:
            raise PySparkRuntimeError(f"state {self._name} is the state of a key: use it where a key is given")
        return self._kernel.current

    def _alive(self, stored: Stored) -> bool:
        return stored[1] is None or stored[1] > self._kernel.now_ms

    def _stored(self, value: Row) -> Stored:
        return self._codec.encode(value), None if self._ttl is None else self._kernel.now_ms + self._ttl

    def clear(self) -> None:
        self._group.state.pop(self._name, None)

    def tidied(self, held: Any) -> Any:
        """What is left of a group's value when what is over its time has gone; None if nothing is."""
        raise NotImplementedError


class ValueVariable(Variable, ValueState):  # type: ignore[misc]
    """A ValueState."""

    def _found(self) -> Stored | None:
        stored: Stored | None = self._group.state.get(self._name)
        return stored if stored is not None and self._alive(stored) else None

    def exists(self) -> bool:
        return self._found() is not None

    def get(self) -> Row | None:
        stored = self._found()
        return None if stored is None else self._codec.decode(stored[0])

    def update(self, newValue: Row) -> None:
        self._group.state[self._name] = self._stored(newValue)

    def tidied(self, held: Stored) -> Stored | None:
        return held if self._alive(held) else None


class ListVariable(Variable, ListState):  # type: ignore[misc]
    """A ListState."""

    def _found(self) -> list[Stored]:
        return [stored for stored in self._group.state.get(self._name, ()) if self._alive(stored)]

    def exists(self) -> bool:
        return bool(self._found())

    def get(self) -> Iterator[Row]:
        return iter([self._codec.decode(value) for value, _ in self._found()])

    def put(self, newState: list[Row]) -> None:
        self._group.state[self._name] = [self._stored(value) for value in newState]

    def appendValue(self, newState: Row) -> None:
        self.appendList([newState])

    def appendList(self, newState: list[Row]) -> None:
        self._group.state.setdefault(self._name, []).extend(map(self._stored, newState))

    def tidied(self, held: list[Stored]) -> list[Stored] | None:
        return [stored for stored in held if self._alive(stored)] or None


class MapVariable(Variable, MapState):  # type: ignore[misc]
    """A MapState."""

    def __init__(
        self, kernel: GroupedCode, name: str, key_schema: T.StructType, schema: T.StructType, ttl: int | None
    ) -> None:
        super().__init__(kernel, name, schema, ttl)
        self._keys = Codec(key_schema)

    def _found(self) -> dict[Row, Stored]:
        held: dict[Row, Stored] = self._group.state.get(self._name, {})
        return {key: stored for key, stored in held.items() if self._alive(stored)}

    def exists(self) -> bool:
        return bool(self._found())

    def getValue(self, key: Row) -> Row | None:
        stored = self._group.state.get(self._name, {}).get(self._keys.encode(key))
        return None if stored is None or not self._alive(stored) else self._codec.decode(stored[0])

    def containsKey(self, key: Row) -> bool:
        return self.getValue(key) is not None

    def updateValue(self, key: Row, value: Row) -> None:
        self._group.state.setdefault(self._name, {})[self._keys.encode(key)] = self._stored(value)

    def iterator(self) -> Iterator[tuple[Row, Row]]:
        found = self._found().items()
        return iter([(self._keys.decode(key), self._codec.decode(value)) for key, (value, _) in found])

    def keys(self) -> Iterator[Row]:
        return iter([key for key, _ in self.iterator()])

    def values(self) -> Iterator[Row]:
        return iter([value for _, value in self.iterator()])

    def removeKey(self, key: Row) -> None:
        self._group.state.get(self._name, {}).pop(self._keys.encode(key), None)

    def tidied(self, held: dict[Row, Stored]) -> dict[Row, Stored] | None:
        return {key: stored for key, stored in held.items() if self._alive(stored)} or None
