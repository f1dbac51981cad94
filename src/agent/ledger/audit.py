"""The audit chains in the database: append under a lock, read, verify."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.ledger.chain import (
    GENESIS,
    START,
    Broken,
    Entry,
    Event,
    Head,
    Intact,
    extend,
    finish,
    follow,
    timestamp,
)
from agent.ledger.database import LedgerDatabase, insert_new
from agent.ledger.identity import stored
from agent.ledger.tables import AUDIT, AUDIT_HEADS

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries to read; each field that is given must match.

    `action` is a whole code, or its beginning with a dot at the end (`tool.`). `since` is included, `until`
    is not; `after` is the number of the last entry that is already known.
    """

    action: str | None = None
    actor: str | None = None
    assistant: str | None = None
    thread: str | None = None
    turn: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: int = 0
    limit: int = 200


class Audit:
    """Every tenant's chain; what one says of another tenant's is nothing."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database

    async def append(self, tenant: str, event: Event, *, now: datetime) -> Entry:
        """Add an entry to the tenant's chain.

        Raises:
            LedgerRefused: The event holds text (`chain.extend`).
        """
        return await self._database.write(lambda connection: record(connection, tenant, event, now=now))

    async def read(self, tenant: str, wanted: AuditFilter | None = None) -> list[Entry]:
        """The tenant's entries that match, oldest first."""
        async with self._database.reading() as connection:
            query = _matching(tenant, wanted or AuditFilter())
            return await _entries(connection, query)

    async def head(self, tenant: str) -> Head:
        """The last entry's number and hash, to be remembered elsewhere; number 0 for an empty chain."""
        async with self._database.reading() as connection:
            return await _head(connection, tenant)

    async def verify(self, tenant: str, *, remembered: Head | None = None) -> Intact | Broken:
        """Whether the tenant's chain is whole and unchanged.

        Args:
            tenant: Whose chain.
            remembered: A head that was read earlier. Without it, only a cut that also missed the stored
                head is found.
        """
        async with self._database.reading() as connection:
            # First the head: entries that are appended meanwhile come after it and are checked all the same.
            heads = [await _head(connection, tenant), *([remembered] if remembered else [])]
            position: Head | Broken = START
            async for batch in _batches(connection, tenant):
                position = follow(position, batch, tenant=tenant, heads=heads)
                if isinstance(position, Broken):
                    return position
        return finish(position, heads=heads)


def record(connection: sa.Connection, tenant: str, event: Event, *, now: datetime) -> Entry:
    """Add an entry to the tenant's chain within a writing transaction, together with what it tells of.

    The chain's next entry waits for that transaction's end.

    Raises:
        LedgerRefused: The event holds text (`chain.extend`).
    """
    owner = stored(tenant)
    insert_new(connection, AUDIT_HEADS, {"tenant": owner, "seq": 0, "hash": GENESIS})
    row = connection.execute(
        sa.select(AUDIT_HEADS.c.seq, AUDIT_HEADS.c.hash)
        .where(AUDIT_HEADS.c.tenant == owner)
        .with_for_update()
    )
    entry = extend(Head(*row.one()), event, tenant=tenant, now=now)
    connection.execute(sa.insert(AUDIT).values(**asdict(entry)))
    connection.execute(
        sa.update(AUDIT_HEADS).where(AUDIT_HEADS.c.tenant == owner).values(seq=entry.seq, hash=entry.hash)
    )
    return entry


def _matching(tenant: str, wanted: AuditFilter) -> sa.Select[Any]:
    """The conditions of a filter; the columns are chosen when the dialect is known (`_entries`)."""
    table = AUDIT.c
    conditions = [table.tenant == stored(tenant), table.seq > wanted.after]
    if wanted.action is not None:
        prefix = wanted.action.endswith(".")
        conditions.append(
            table.action.startswith(wanted.action, autoescape=True)
            if prefix
            else table.action == wanted.action
        )
    for name in ("actor", "assistant", "thread", "turn"):
        value = getattr(wanted, name)
        if value is not None:
            conditions.append(table[name] == stored(value))
    if wanted.since is not None:
        conditions.append(table.at >= timestamp(wanted.since))
    if wanted.until is not None:
        conditions.append(table.at < timestamp(wanted.until))
    return sa.select(AUDIT).where(*conditions).order_by(table.seq).limit(wanted.limit)


async def _head(connection: AsyncConnection, tenant: str) -> Head:
    heads = AUDIT_HEADS.c
    query = sa.select(heads.seq, heads.hash).where(heads.tenant == stored(tenant))
    row = (await connection.execute(query)).one_or_none()
    return START if row is None else Head(*row)


async def _batches(connection: AsyncConnection, tenant: str) -> AsyncGenerator[list[Entry]]:
    query = sa.select(AUDIT).where(AUDIT.c.tenant == stored(tenant)).order_by(AUDIT.c.seq).limit(_BATCH)
    entries = await _entries(connection, query)
    while entries:
        yield entries
        entries = await _entries(connection, query.where(AUDIT.c.seq > entries[-1].seq))


async def _entries(connection: AsyncConnection, query: sa.Select[Any]) -> list[Entry]:
    # SQLite refuses to read bytes that are no UTF-8 as text; a chain with such bytes is to be found broken.
    texts = [column for column in AUDIT.c if isinstance(column.type, sa.String)]
    if connection.dialect.name == "sqlite":
        exact = [sa.cast(column, sa.LargeBinary).label(column.name) for column in texts]
        query = query.with_only_columns(AUDIT.c.seq, *exact, maintain_column_froms=True)
    rows = (await connection.execute(query)).mappings()
    return [Entry(**{name: _text(value) for name, value in row.items()}) for row in rows]


def _text(value: Any) -> Any:  # noqa: ANN401 - a column's value
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else value
