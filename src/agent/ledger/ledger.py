"""The ledger: what agents used, what they may still use, who decided what. One database, by its URL."""

from __future__ import annotations

from agent.ledger.approvals import Approvals
from agent.ledger.audit import Audit
from agent.ledger.budgets import Budgets
from agent.ledger.database import LedgerDatabase
from agent.ledger.results import Results
from agent.ledger.usage import Usage


class Ledger:
    """All of the ledger over one database; opened and migrated by the first use.

    `budgets` reserves and settles, `usage` records calls and sums them up, `audit` keeps the hash chains,
    `approvals` asks and decides, `results` keeps what tools returned.

    Args:
        url: The database; by default the one that the environment names when it is first used
            (`database.ledger_url`).
    """

    def __init__(self, url: str | None = None) -> None:
        self._database = LedgerDatabase(url)
        self.budgets = Budgets(self._database)
        self.usage = Usage(self._database)
        self.audit = Audit(self._database)
        self.approvals = Approvals(self._database)
        self.results = Results(self._database)

    async def open(self) -> None:
        """Bring the database to the newest revision now.

        Raises:
            DatabaseRefused: The URL is not supported, or a newer version of the program wrote the database.
        """
        await self._database.open()

    async def dispose(self) -> None:
        """Close this loop's connections; a later use opens new ones."""
        await self._database.dispose()
