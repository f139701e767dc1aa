"""A node's loop goes back to a core of its own, and gives up one that others want too."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable

import pytest

from headway.node import home
from headway.node.home import CROWDED, LOOK_EVERY, Home

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores on Linux"
)


def in_thread(work: Callable[[], None]) -> None:
    """A thread's cores are its own."""
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def test_neighbours_have_different_cores() -> None:
    assert Home(0).core != Home(1).core


def test_who_is_elsewhere_goes_home_and_is_not_pinned() -> None:
    def work() -> None:
        allowed = os.sched_getaffinity(0)
        own = Home(1)
        assert own.core is not None
        os.sched_setaffinity(0, allowed - {own.core})
        os.sched_setaffinity(0, allowed)
        own.go()
        # The system may move it again, though nothing but this test makes it.
        assert own.core in (ctypes.PyDLL(None).sched_getcpu(), _home_again(own))
        assert os.sched_getaffinity(0) == allowed

    in_thread(work)


def _home_again(own: Home) -> int:
    own.go()
    return int(ctypes.PyDLL(None).sched_getcpu())


def test_a_core_that_was_taken_away_is_no_home() -> None:
    def work() -> None:
        own, missing = Home(0), max(os.sched_getaffinity(0)) + 1000
        own.core = missing
        own.go()
        assert own.core is None

    in_thread(work)


@pytest.mark.parametrize(("part", "kept"), [(CROWDED * 0.9, True), (CROWDED * 1.1, False)])
def test_a_crowded_home_is_given_up(part: float, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    had = [5.0]
    monkeypatch.setattr(home, "waited", lambda: had[0])
    own = Home(0)
    own.look(100.0)
    had[0] += LOOK_EVERY * part
    own.look(100.0 + LOOK_EVERY)
    assert (own.core is not None) == kept


def test_a_short_crowd_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    had = [0.0]
    monkeypatch.setattr(home, "waited", lambda: had[0])
    own = Home(0)
    own.look(0.0)
    had[0] = 1.0
    own.look(1.0)
    assert own.core is not None
    own.look(LOOK_EVERY)
    assert own.core is not None


def test_waiting_is_told_by_the_system() -> None:
    assert home.waited() >= 0.0
