"""How many bytes of rows each query has in flight, and who may read more.

1. Rows count from when they are put into a channel until they are taken from it, by whatever memory they are in; so do
   rows under way to another process, and rows that a sink's thread has not written.
2. Only sources bring rows in, so only sources are held back: what is in the node can always move on and out.
3. A query may read while it has less in flight than its cap, counting all of a block that holds a few rows, and while
   all queries together have less than the budget.
4. Beyond the budget, a query may read while it has less than an equal part of it: one that never drains holds back
   itself alone.
"""

from __future__ import annotations

from collections.abc import Callable


class Account:
    """What one query has in flight in one node."""

    __slots__ = ("blocks", "cap", "closed", "held", "ledger")

    def __init__(self, ledger: Ledger, cap: int) -> None:
        self.ledger = ledger
        self.cap = cap
        self.held = 0
        self.blocks = 0
        """Bytes of the blocks that its rows are in; of a block in use, all count."""
        self.closed = False

    def add(self, size: int) -> None:
        """So many bytes more are in flight, or fewer."""
        if not self.closed:
            self.held += size
            self.ledger.changed(size)

    def may_read(self, retry: Callable[[], None]) -> bool:
        """Whether a source may bring in rows; if not, `retry` is called when it may."""
        ledger = self.ledger
        # As `ledger.may_read` has it, for the common case: it is asked several times a poll.
        if self.held < self.cap > self.blocks and ledger.total < ledger.budget:
            return True
        if ledger.may_read(self):
            return True
        ledger.refused(self, retry)
        return False


class Ledger:
    """The accounts of a node. `cap` is a query's where it has none of its own. Bytes."""

    def __init__(self, budget: int, cap: int) -> None:
        self.budget = budget
        self.cap = cap
        self.total = 0
        self._accounts: list[Account] = []
        self._refused: dict[Callable[[], None], Account] = {}

    def open(self, cap: int | None = None) -> Account:
        """A query begins."""
        account = Account(self, self.cap if cap is None else cap)
        self._accounts.append(account)
        return account

    def close(self, account: Account) -> None:
        """A query has ended, and its rows with it."""
        self._accounts.remove(account)
        self._refused = {retry: other for retry, other in self._refused.items() if other is not account}
        held, account.held, account.closed = account.held, 0, True
        self.changed(-held)

    def may_read(self, account: Account) -> bool:
        if max(account.held, account.blocks) >= account.cap:
            return False
        if self.total < self.budget:
            return True
        holding = sum(1 for other in self._accounts if other.held > 0 or other is account)
        return account.held * holding < self.budget

    def refused(self, account: Account, retry: Callable[[], None]) -> None:
        self._refused[retry] = account

    def changed(self, size: int) -> None:
        self.total += size
        if size < 0 and self._refused:
            self.retry()

    def retry(self) -> None:
        """Have those read that were refused and now may: rows were taken, or blocks have come back."""
        ready = [retry for retry, account in self._refused.items() if self.may_read(account)]
        for retry in ready:
            del self._refused[retry]
        for retry in ready:
            retry()
