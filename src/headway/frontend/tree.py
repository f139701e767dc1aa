"""Catalyst's plans and expressions as data: the tree behind `toJSON()`.

Catalyst writes a tree as a flat list, parents first; fields that are children hold their position among the children,
and expressions inside a plan node are such lists again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tree:
    """A node: the simple name of its class, its fields as JSON, its children."""

    name: str
    fields: dict[str, Any]
    children: tuple[Tree, ...]

    def child(self, field: str) -> Tree:
        """The child that `field` points to."""
        ordinal: int = self.fields[field]
        return self.children[ordinal]

    def walk(self) -> Iterator[Tree]:
        """This node and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def parse(flat: list[dict[str, Any]]) -> Tree:
    """The tree of one flat list.

    >>> flat = [{"class": "a.b.Not", "num-children": 1, "child": 0}, {"class": "a.b.X", "num-children": 0}]
    >>> parse(flat).child("child").name
    'X'
    """
    tree, end = _parse(flat, 0)
    if end != len(flat):
        raise ValueError(f"{len(flat) - end} nodes of the plan belong to no parent")
    return tree


def _parse(flat: list[dict[str, Any]], at: int) -> tuple[Tree, int]:
    node = flat[at]
    children = []
    after = at + 1
    for _ in range(node["num-children"]):
        child, after = _parse(flat, after)
        children.append(child)
    return Tree(node["class"].rsplit(".", 1)[-1].rstrip("$"), node, tuple(children)), after
