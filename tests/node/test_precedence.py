"""How nice a node is to the other processes of its machine."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from headway.errors import InvalidOption
from headway.node.precedence import BEHIND, niceness, precedence, step_back


@pytest.mark.parametrize("value", ["high", "", "-21", "20", "1.5", "--3"])
def test_what_is_no_niceness_is_refused(value: str) -> None:
    with pytest.raises(InvalidOption, match=r"headway\.node\.nice is '.*'; use a whole number from -20 to 19"):
        niceness({"headway.node.nice": value})


def test_the_name_counts_in_any_case() -> None:
    assert niceness({"HEADWAY.NODE.NICE": 5}) == 5


def test_it_ends_with_the_node() -> None:
    """In a thread, whose niceness is its own: to be less nice again may be refused."""
    seen: list[int] = []

    def work() -> None:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        with precedence(own):
            seen.append(os.getpriority(os.PRIO_PROCESS, 0) - own)
        with precedence(min(19, own + 3)):
            seen.append(os.getpriority(os.PRIO_PROCESS, 0) - own)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0, 3]


def test_a_refusal_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: int) -> None:
        raise PermissionError

    own = os.getpriority(os.PRIO_PROCESS, 0)
    monkeypatch.setattr(os, "setpriority", refuse)
    with precedence(-20):
        assert os.getpriority(os.PRIO_PROCESS, 0) == own


def test_work_that_nobody_waits_for_steps_back() -> None:
    """The thread that does it alone."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    with ThreadPoolExecutor(1, initializer=step_back) as pool:
        assert pool.submit(os.getpriority, os.PRIO_PROCESS, 0).result() == max(own, BEHIND)
    assert os.getpriority(os.PRIO_PROCESS, 0) == own
