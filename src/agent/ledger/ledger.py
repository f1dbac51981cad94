"""The ledger: what agents used, what they may still use, who decided what. One database, by its URL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from agent.ledger.approvals import Approvals
from agent.ledger.audit import Audit, record
from agent.ledger.budgets import Budgets, Reservation, close
from agent.ledger.chain import Event
from agent.ledger.database import LedgerDatabase
from agent.ledger.results import Result, Results
from agent.ledger.results import insert as keep
from agent.ledger.spend import Spend
from agent.ledger.turn import Turn
from agent.ledger.usage import ModelUse, ToolUse, Usage, insert


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

    async def spent(self, reservation: Reservation, *, actual: Spend, use: ModelUse, now: datetime) -> None:
        """Settle a model call and record it, in one transaction (`Budgets.settle`, `Usage.model`).

        Raises:
            LedgerRefused: There is no such reservation.
        """

        def body(connection: sa.Connection) -> None:
            close(connection, reservation, actual=actual, state="settled", now=now)
            insert(connection, reservation.turn, use, at=now)

        await self._database.write(body)

    async def ended(
        self,
        turn: Turn,
        use: ToolUse,
        *,
        result: Result | None = None,
        events: Sequence[Event] = (),
        now: datetime,
    ) -> None:
        """Record a tool call, what it returned and what the audit has to know of it, in one transaction.

        Args:
            turn: Whose call.
            use: What was called and how it ended.
            result: What it returned, if it was executed; the first result of a call stays.
            events: For the tenant's audit chain.
            now: The moment, aware.
        """

        def body(connection: sa.Connection) -> None:
            if result is not None:
                keep(connection, result, tenant=turn.tenant, thread=turn.thread, call_id=use.call_id)
            insert(connection, turn, use, at=now)
            for event in events:
                record(connection, turn.tenant, event, now=now)

        await self._database.write(body)

    async def open(self) -> None:
        """Bring the database to the newest revision now.

        Raises:
            DatabaseRefused: The URL is not supported, or a newer version of the program wrote the database.
        """
        await self._database.open()

    async def dispose(self) -> None:
        """Close this loop's connections; a later use opens new ones."""
        await self._database.dispose()
