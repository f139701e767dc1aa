"""The quick way to a row's group: by the dense index, where the window is that of the row before.

1. A row is written twice: quickly, and in full. The quick way takes a row if its time is in the window that the dense
   index was last asked for, and its key has a place there that has a group: then the row of the static table that it
   meets, the way of its window and the group are known without a look at any of them. In full, registers do not last
   for what all this needs, and a row takes half as long again.
2. What comes before the search for the group is written once, for both. A chain in which something else follows after
   the search has begun (a filter, say) has no quick way; nor one in which something is null or has several windows.
3. A row that must meet one of a static table has a quick way only if the dense index is by that row's place: that rows
   with its key have a group says then that it meets one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from headway.kernels.compiled.emitter import Attempt, Emitter
from headway.kernels.compiled.values import Value


@dataclass
class Quick:
    """What is known of the row that is written; `near` is a variable: how many places of the dense index are known, of
    the window of the row before."""

    near: str
    lines: list[str]
    cut: tuple[int, int] | None = None
    """After how many lines the search begins, and how deep they are."""
    windows: list[tuple[Value, str, str]] = field(default_factory=list)
    """Time, and the beginning and length of the window that it is compared with."""
    tables: dict[str, tuple[Value, str, str]] = field(default_factory=dict)
    """Of the number of a row of a static table: the key it is found by, the lowest one, and how many there are by
    position."""
    place: tuple[Value, str] | None = None
    """The key by which the dense index is, and the lowest one."""
    way: str = "i64(0)"
    """The first place of the window's way."""
    update: Callable[[str], list[str]] | None = None
    """Writes what follows when the group is found; gives the names it needs."""
    possible: bool = True

    def begins(self, emitter: Emitter) -> None:
        """The search begins here."""
        self.possible = self.possible and emitter.lines is self.lines
        if self.cut is None:
            self.cut = len(self.lines), emitter.depth

    def refuse_after(self) -> None:
        """Something is written that the quick way must not leave out."""
        self.possible = self.possible and self.cut is None


def write_row(body: Attempt, quick: Quick, emitter: Emitter) -> None:
    """Put a row that was written in full here, with the quick way around it if there is one."""
    if not quick.possible or quick.cut is None or quick.place is None or quick.update is None or _has_nulls(quick):
        body.keep()
        return
    (lines, depth), before = quick.cut, len(emitter.lines)
    emitter.extend(body.lines[:lines])
    with emitter.at(depth):
        group, place = emitter.name("g"), emitter.let(f"{quick.place[0].code} - {quick.place[1]}")
        conditions = [f"below({time.code} - {start}, {length})" for time, start, length in quick.windows]
        emitter.line(f"{group} = i64(-1)")
        known = " and ".join([*conditions, f"below({place}, {quick.near})"])
        emitter.line(f"if {known}: {group} = load_i32(dense, {quick.way} + {place})")
        emitter.line(f"if seldom({group} < 0):")
        emitter.extend(body.lines[lines:], 1)
        with emitter.block("else:"):
            needed = quick.update(group)
    needed += [quick.place[0].code, *(time.code for time, _, _ in quick.windows)]
    if len(quick.windows) > 1 or not all(_is_named(name, body.lines[:lines]) for name in needed):
        del emitter.lines[before:]
        body.keep()
        return
    emitter.raises |= body.raises


def _has_nulls(quick: Quick) -> bool:
    """Whether what the search begins with may be null."""
    assert quick.place is not None
    return any(value.null != "False" for value in (quick.place[0], *(time for time, _, _ in quick.windows)))


def _is_named(name: str, lines: list[str]) -> bool:
    """Whether a value is a constant or has been computed in these lines."""
    return re.fullmatch(r"[nr]\d+|True|False", name) is not None or any(
        line.lstrip().startswith(f"{name} = ") for line in lines
    )
