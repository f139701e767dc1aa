"""Completes a plan's JSON with what Catalyst's `toJSON()` leaves out of expressions, by asking the JVM's plan.

1. A literal of type binary is written as the address of its array, a timestamp as local time (ambiguous when clocks
   go back), a date as text: `exact` gets the bytes, microseconds or days.
2. `evalContext` and `evalMode` are written as null: `evalMode` gets "ANSI", "LEGACY" or "TRY", and
   `allowPrecisionLoss` whether decimals may lose digits.
3. A literal of an array, struct or map is written as text: `exact` gets its values in lists, decimals as text; that of
   a Java object as well: `object` gets its fields, as JSON.
4. The options of JSON and CSV functions are written as null: `options` gets them.
5. The plan of a scalar subquery is of no use as JSON: `expression` gets the JVM's own.
6. The values of `InSet` are written as null: `hset` gets them as a list, each as `exact` would be, decimals as text.
7. The projections of an Expand are written as null where they were made of a list of Python's (`unpivot`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Flat = list[dict[str, Any]]
_INEXACT = frozenset({"binary", "date", "timestamp", "timestamp_ntz"})


def complete(plan: Any, flat: Flat) -> Flat:
    """Complete `flat`, the JSON of the JVM's logical plan `plan`, in place; give it back."""
    jvm = _nodes(plan, flat)
    for at, node in enumerate(flat):
        if node["class"].endswith(".Expand") and node["projections"] is None:
            node["projections"] = [[json.loads(e.toJSON()) for e in _each(row)] for row in _each(jvm(at).projections())]
        for field, value in node.items():
            if isinstance(value, list) and any(True for _ in _incomplete(value)):
                _complete_field(getattr(jvm(at), field)(), value)
    return flat


def complete_expression(expression: Any, flat: Flat) -> Flat:
    """Complete `flat`, the JSON of the JVM's `expression`, in place; give it back."""
    jvm = _nodes(expression, flat)
    for at, node in enumerate(flat):
        fill = _filler(node)
        if fill:
            fill(jvm(at), node)
    return flat


def _complete_field(value: Any, written: list[Any]) -> None:
    """`written` is one expression (a flat list), or a list of such, or of lists of them."""
    if written and isinstance(written[0], dict):
        inner = value.get() if value.getClass().getName() == "scala.Some" else value
        complete_expression(inner, written)
        return
    for at, item in enumerate(written):
        if any(True for _ in _incomplete(item)):
            _complete_field(value.apply(at), item)


def _incomplete(written: Any) -> Iterator[dict[str, Any]]:
    """The expression nodes in a field's value that need completion."""
    if not isinstance(written, list):
        return
    for item in written:
        if isinstance(item, dict) and "class" in item and _filler(item):
            yield item
        yield from _incomplete(item)


def _nodes(root: Any, flat: Flat) -> Callable[[int], Any]:
    """The JVM's node at a position of `flat`, fetched when asked for: most nodes never are."""
    above = _parents(flat)
    found: dict[int, Any] = {0: root}

    def node(at: int) -> Any:
        if at not in found:
            parent, ordinal = above[at]
            found[at] = node(parent).children().apply(ordinal)
        return found[at]

    return node


def _parents(flat: Flat) -> list[tuple[int, int]]:
    """For every position its parent's, and which of the parent's children it is."""
    above = [(-1, 0)]
    open_nodes = [[0, 0]]
    for at in range(1, len(flat)):
        while open_nodes[-1][1] == flat[open_nodes[-1][0]]["num-children"]:
            open_nodes.pop()
        parent, ordinal = open_nodes[-1]
        open_nodes[-1][1] += 1
        above.append((parent, ordinal))
        open_nodes.append([at, 0])
    return above


def _filler(node: dict[str, Any]) -> Callable[[Any, dict[str, Any]], None] | None:
    if "evalContext" in node and "evalMode" not in node:
        return _fill_context
    if "evalMode" in node and node["evalMode"] is None:
        return _fill_mode
    if node["class"].endswith(".Literal") and node["value"] is not None:
        return _literal_filler(node["dataType"])
    if "options" in node and node["options"] is None:
        return _fill_options
    if node["class"].endswith(".ScalarSubquery") and "expression" not in node:
        return _fill_subquery
    if node["class"].endswith(".InSet") and not node["hset"]:
        return _fill_set
    return None


def _fill_context(expression: Any, node: dict[str, Any]) -> None:
    context = expression.evalContext()
    node["evalMode"] = context.evalMode().toString()
    node["allowPrecisionLoss"] = context.allowDecimalPrecisionLoss()


def _fill_mode(expression: Any, node: dict[str, Any]) -> None:
    node["evalMode"] = expression.evalMode().toString()


def _literal_filler(data_type: Any) -> Callable[[Any, dict[str, Any]], None] | None:
    if isinstance(data_type, dict) and data_type["type"] != "udt":
        return _fill_nested
    if data_type == "object":
        return _fill_object
    return _fill_literal if data_type in _INEXACT else None


def _fill_literal(expression: Any, node: dict[str, Any]) -> None:
    node["exact"] = expression.value()


def _fill_nested(expression: Any, node: dict[str, Any]) -> None:
    node["exact"] = catalyst_value(expression.value(), expression.dataType(), node["dataType"])


def catalyst_value(value: Any, kind: Any, written: Any) -> Any:
    """A value of Catalyst's, whose type is `kind` in the JVM and `written` in JSON."""
    if value is None or not isinstance(written, dict):
        return value if value is None or isinstance(value, bool | int | float | bytes) else value.toString()
    if written["type"] == "array":
        return _items(value, kind.elementType(), written["elementType"])
    if written["type"] == "map":
        keys = _items(value.keyArray(), kind.keyType(), written["keyType"])
        return list(zip(keys, _items(value.valueArray(), kind.valueType(), written["valueType"]), strict=True))
    fields = written["fields"]
    kinds = [kind.apply(i).dataType() for i in range(len(fields))]
    return [catalyst_value(value.get(i, k), k, f["type"]) for i, (k, f) in enumerate(zip(kinds, fields, strict=True))]


def _items(array: Any, kind: Any, written: Any) -> list[Any]:
    places = range(array.numElements())
    return [None if array.isNullAt(i) else catalyst_value(array.get(i, kind), kind, written) for i in places]


def _fill_object(expression: Any, node: dict[str, Any]) -> None:
    """Objects that the optimizer made of a function and its constants: case classes."""
    value = expression.value()
    if hasattr(value, "productArity"):
        fields = [_field(value.productElement(i)) for i in range(value.productArity())]
        node["object"] = [value.getClass().getSimpleName(), fields]


def _field(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | bytes | str):
        return value
    name = value.getClass().getName()
    if name.startswith("scala.collection") and hasattr(value, "iterator"):
        return _pairs(value)
    if name in ("scala.Some", "scala.None$"):
        return _field(value.get()) if value.isDefined() else None
    return value.toString()


def _pairs(found: Any) -> dict[str, str]:
    """A map of Scala's."""
    return {pair._1(): pair._2() for pair in _each(found)}


def _each(found: Any) -> Iterator[Any]:
    """The items of a collection of Scala's."""
    items = found.iterator()
    while items.hasNext():
        yield items.next()


def _fill_options(expression: Any, node: dict[str, Any]) -> None:
    node["options"] = _pairs(expression.options())


def _fill_subquery(expression: Any, node: dict[str, Any]) -> None:
    node["expression"] = expression


def _fill_set(expression: Any, node: dict[str, Any]) -> None:
    node["hset"] = []
    for value in _each(expression.hset()):
        plain = value is None or isinstance(value, bool | int | float | bytes)
        node["hset"].append(value if plain else value.toString())
