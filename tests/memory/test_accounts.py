"""Who may read: caps, the budget, and equal parts of it."""

from __future__ import annotations

from headway.memory import Ledger


def nothing() -> None:
    """Called when one that was refused may read."""


def test_a_query_may_read_up_to_its_cap() -> None:
    account = Ledger(budget=100, cap=10).open()
    account.add(9)
    assert account.may_read(nothing)
    account.add(1)
    assert not account.may_read(nothing)


def test_whoever_was_refused_is_told_when_it_may_once() -> None:
    account, told = Ledger(budget=100, cap=10).open(), []
    account.add(30)
    assert not account.may_read(lambda: told.append("may"))
    account.add(-15)
    assert told == []
    account.add(-10)
    account.add(-1)
    assert told == ["may"]


def test_beyond_the_budget_one_that_never_drains_holds_back_itself_alone() -> None:
    ledger = Ledger(budget=100, cap=1000)
    stuck, free, idle = ledger.open(), ledger.open(), ledger.open()
    stuck.add(99)
    free.add(10)
    assert ledger.total == 109
    assert not stuck.may_read(nothing)
    assert free.may_read(nothing)
    assert idle.may_read(nothing)
    free.add(40)
    assert not free.may_read(nothing)


def test_the_end_of_a_query_makes_room_and_what_it_returns_later_counts_no_more() -> None:
    ledger, told = Ledger(budget=100, cap=1000), []
    gone, stays = ledger.open(), ledger.open()
    gone.add(60)
    stays.add(60)
    assert not stays.may_read(lambda: told.append("may"))
    ledger.close(gone)
    assert told == ["may"]
    gone.add(-60)
    assert (ledger.total, gone.held) == (60, 0)


def test_a_query_that_ended_is_not_told() -> None:
    ledger = Ledger(budget=100, cap=10)
    gone, told = ledger.open(), []
    gone.add(20)
    assert not gone.may_read(lambda: told.append("may"))
    ledger.close(gone)
    assert told == []


def test_accounts_may_have_caps_of_their_own() -> None:
    account = Ledger(budget=100, cap=10).open(cap=50)
    account.add(49)
    assert account.may_read(nothing)


def test_a_block_counts_whole_however_few_rows_it_holds() -> None:
    account = Ledger(budget=100, cap=10).open()
    account.add(1)
    account.blocks = 10
    assert not account.may_read(nothing)
