"""Results of tool calls that have finished, so that none is lost when the run that waits for it is.

A runtime drops the results of parallel calls whose sibling was cancelled; without this, a repair would tell
the model that a call which really happened did not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.ledger.database import LedgerDatabase, insert_new
from agent.ledger.tables import RESULTS

OK: Final = "ok"

CAP: Final = 1_000_000
"""Characters of a result's text that are kept, from its beginning."""


@dataclass(frozen=True, slots=True)
class Result:
    """The stored result of one call; `length` is that of the whole text in characters."""

    text: str
    outcome: str
    length: int
    at: datetime

    @property
    def truncated(self) -> bool:
        """Whether the text is only the beginning."""
        return len(self.text) < self.length


class Results:
    """Results by (tenant, thread, tool call id)."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database

    async def put(
        self, tenant: str, *, thread: str, call_id: str, text: str, outcome: str, now: datetime
    ) -> bool:
        """Store the result of a call; the first success stays. Whether it was stored (`insert`).

        Args:
            tenant: Whose call.
            thread: Its thread.
            call_id: The tool call's id.
            text: What the model reads, in any characters; kept up to `CAP`.
            outcome: `ok` or a code, as in `usage.ToolUse`.
            now: The moment, aware.
        """
        entry = Result(text, outcome, len(text), now)
        return await self._database.write(
            lambda connection: insert(connection, entry, tenant=tenant, thread=thread, call_id=call_id)
        )

    async def get(self, tenant: str, *, thread: str, call_id: str) -> Result | None:
        """The result of a call, or `None` when it has not finished or is another tenant's."""
        table = RESULTS.c
        query = sa.select(table.text, table.outcome, table.length, table.at).where(
            table.tenant == tenant, table.thread == thread, table.call_id == call_id
        )
        row = await self._database.read(lambda connection: connection.execute(query).one_or_none())
        return None if row is None else Result(json.loads(row.text), row.outcome, row.length, row.at)


def insert(connection: sa.Connection, result: Result, *, tenant: str, thread: str, call_id: str) -> bool:
    """Store a result within a writing transaction; whether it was stored.

    The first result of a call stays, unless it says that the call was not executed or failed and this one
    that it succeeded, as when a proposal is carried out later.
    """
    values = {
        "outcome": result.outcome,
        "text": json.dumps(result.text[:CAP]),
        "length": result.length,
        "at": result.at,
    }
    place = {"tenant": tenant, "thread": thread, "call_id": call_id}
    if insert_new(connection, RESULTS, {**place, **values}):
        return True
    if result.outcome != OK:
        return False
    same = [RESULTS.c[name] == value for name, value in place.items()]
    replaced = sa.update(RESULTS).where(*same, RESULTS.c.outcome != OK).values(**values)
    return connection.execute(replaced).rowcount == 1
