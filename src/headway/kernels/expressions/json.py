"""JSON text read into values, written from them, and looked into; every distinct text is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.sinks.formats.json import JsonRows
from headway.connectors.sinks.text_values import TextValues
from headway.connectors.sources.files.json_tokens import Malformed, Pairs, Scanner, Written, first_value
from headway.connectors.sources.files.json_values import NeedsText, Unfit, converter_of, written
from headway.connectors.sources.files.values import rules_of
from headway.dataflow.expr import Call
from headway.dataflow.graph import Source
from headway.kernels.expressions.json_columns import read_columns
from headway.kernels.expressions.registry import RowError, evaluates
from headway.kernels.lists import build

Args = Sequence[pa.Array]
Step = str | int | None
_BLANK = " \t\n\r"


def over_distinct(function: Callable[[str], Any], texts: pa.Array, kind: T.DataType) -> pa.Array:
    """`function` of every distinct text, null where the text is; its values are as `build` takes them."""
    encoded = texts.dictionary_encode()
    known = [function(text) for text in encoded.dictionary.to_pylist()]
    return build([*known, None], kind).take(encoded.indices.fill_null(len(known)))


class _Reader:
    """Reads texts as values of one type, as `from_json` does."""

    def __init__(self, call: Call) -> None:
        self._kind = call.type
        options = call.option("options")
        self._fails = dict(options).get("mode", "").upper() == "FAILFAST"
        names = call.type.names if isinstance(call.type, T.StructType) else []
        self._corrupt = names.index(call.option("corrupt")) if call.option("corrupt") in names else None
        self.rules = replace(rules_of(Source((), "json", options)), exact=False)
        self._convert = converter_of(self._parsed(), self.rules)

    def _parsed(self) -> T.DataType:
        """The type without the column for corrupt records."""
        if self._corrupt is None or not isinstance(self._kind, T.StructType):
            return self._kind
        return T.StructType([f for i, f in enumerate(self._kind.fields) if i != self._corrupt])

    def __call__(self, text: str) -> Any:
        if not text.strip(_BLANK):
            return None
        value, fits = self._read(text)
        if not fits and self._fails:
            raise RowError(f"[MALFORMED_RECORD_IN_PARSING] {text[:200]} does not fit; mode PERMISSIVE gives nulls")
        if value is None and isinstance(self._kind, T.StructType):
            value = [None] * (len(self._kind.fields) - (self._corrupt is not None))
        if self._corrupt is not None:
            value = [*value[: self._corrupt], None if fits else text, *value[self._corrupt :]]
        return value

    def _read(self, text: str) -> tuple[Any, bool]:
        """The value, or what could be read of it, and whether it fits."""
        try:
            try:
                return self._root(first_value(text)[0]), True
            except (Malformed, NeedsText):
                return self._root(Scanner(text).value()), True
        except Unfit as unfit:
            return unfit.rest, False
        except ValueError:
            return None, False

    def _root(self, token: Any) -> Any:
        value = token.value if isinstance(token, Written) else token
        alone = isinstance(self._kind, T.ArrayType) and isinstance(self._kind.elementType, T.StructType)
        return self._convert([token] if alone and isinstance(value, Pairs) else value)


@evaluates("JsonToStructs")
def _from_json(call: Call, args: Args) -> pa.Array:
    reader = _Reader(call)
    encoded = args[0].dictionary_encode()
    if call.option("corrupt") not in getattr(call.type, "names", ()):
        columns = read_columns(encoded.dictionary, call.type, reader.rules)
        if columns is not None:
            return columns.take(encoded.indices)
    return over_distinct(reader, args[0], call.type)


@evaluates("StructsToJson")
def _to_json(call: Call, args: Args) -> pa.Array:
    rows = JsonRows((), TextValues(call.option("time_zone")), call.option("ignore_nulls"))
    return pa.array(rows.values(args[0], call.args[0].type), pa.string())


def _scanned(text: str) -> Any:
    """The tokens of a text; None where it is no JSON."""
    try:
        return Scanner(text).value().value
    except (Malformed, RecursionError):
        return None


def _plain(token: Any) -> Any:
    return token.value if isinstance(token, Written) else token


@evaluates("GetJsonObject")
def _get_json_object(call: Call, args: Args) -> pa.Array:
    path = call.option("path")
    if path is None:
        return pa.nulls(len(args[0]), pa.string())
    return over_distinct(lambda text: _found(text, path), args[0], call.type)


def _found(text: str, path: Sequence[Step]) -> str | None:
    try:
        root = Scanner(text).value().value
    except (Malformed, RecursionError):
        return None
    matches = list(_walk(root, path))
    if None not in path:
        return next((_shown(match) for match in matches if match is not None or not path), None)
    if not matches:
        return None
    texts = [written(match) for match in matches]
    return texts[0] if len(texts) == 1 else f"[{','.join(texts)}]"


def _walk(value: Any, path: Sequence[Step]) -> Iterator[Any]:
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        if isinstance(value, Pairs):
            for name, token in value:
                if name == step and _plain(token) is not None:
                    yield from _walk(_plain(token), rest)
                    return
    elif isinstance(value, list) and not isinstance(value, Pairs):
        chosen = value if step is None else value[step : step + 1]
        for token in chosen:
            yield from _walk(_plain(token), rest)


def _shown(value: Any) -> str:
    """A string as it is, all else as JSON."""
    return str(value) if type(value) is str else written(value)


@evaluates("JsonLength")
def _length(call: Call, args: Args) -> pa.Array:
    def length(text: str) -> int | None:
        value = _scanned(text)
        return len(value) if isinstance(value, list) and not isinstance(value, Pairs) else None

    return over_distinct(length, args[0], call.type)


@evaluates("JsonKeys")
def _keys(call: Call, args: Args) -> pa.Array:
    def keys(text: str) -> list[str] | None:
        value = _scanned(text)
        return [name for name, _ in value] if isinstance(value, Pairs) else None

    return over_distinct(keys, args[0], call.type)


@evaluates("JsonTuple")
def _tuple(call: Call, args: Args) -> pa.Array:
    names = call.option("names")

    def values(text: str) -> list[tuple[str | None, ...]]:
        value = _scanned(text)
        known = {n: _plain(t) for n, t in reversed(value)} if isinstance(value, Pairs) else {}
        return [tuple(None if known.get(name) is None else _shown(known[name]) for name in names)]

    made = over_distinct(values, args[0], call.type)
    missing = build([[(None,) * len(names)]], call.type)
    rows = np.where(made.is_valid().to_numpy(zero_copy_only=False), np.arange(len(made)), len(made))
    return pa.concat_arrays([made, missing]).take(pa.array(rows))
