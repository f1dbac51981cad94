"""The ledger's database: prepared on first use, its connections by event loop."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from agent.database import Engines, migrate, reading, writing
from agent.errors import AgentError
from agent.transactions import Transactions

logger = logging.getLogger(__name__)

T = TypeVar("T")

_GONE: Final = (OperationalError, InterfaceError, PoolTimeout)

VERSION_TABLE: Final = "agent_schema"
_MIGRATIONS: Final = Path(__file__).parent / "migrations"


class LedgerUnavailable(AgentError):
    """The ledger's database cannot be reached; without it nothing is executed or spent."""

    code = "ledger_unavailable"


@contextmanager
def _reachable() -> Generator[None]:
    """The driver's own errors name hosts, users and statements: they stay in the log."""
    try:
        yield
    except _GONE as error:
        logger.exception("the ledger's database can't be used")
        raise LedgerUnavailable(
            "The ledger's database can't be reached, so nothing more is done. Try again later."
        ) from error


def ledger_url(environment: Mapping[str, str] = os.environ) -> str:
    """The ledger's database: `SIGNALBOX_DB`, or `signalbox.db` in `SIGNALBOX_HOME` or in `.signalbox`."""
    given = environment.get("SIGNALBOX_DB")
    if given:
        return given
    home = environment.get("SIGNALBOX_HOME") or ".signalbox"
    return f"sqlite+aiosqlite:///{(Path(home) / 'signalbox.db').as_posix()}"


async def prepare(url: str) -> None:
    """Bring the database at `url` to the newest revision of the ledger's tables.

    Raises:
        DatabaseRefused: The URL is not supported, or a newer version of the program wrote the database.
    """
    await migrate(url, location=_MIGRATIONS, version_table=VERSION_TABLE)


class LedgerDatabase:
    """Transactions on the ledger's tables; the first one prepares the database (`prepare`).

    Args:
        url: The database; by default the one that the environment names when it is first used (`ledger_url`).
    """

    def __init__(self, url: str | None = None) -> None:
        self._given = url
        self._engines = Engines()
        self._transactions = Transactions()
        self._prepared: set[str] = set()

    async def open(self) -> None:
        """Prepare the database now instead of with the first transaction."""
        await self._engine()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection]:
        """A connection in a reading transaction (`agent.database.reading`)."""
        with _reachable():
            async with reading(await self._engine()) as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[AsyncConnection]:
        """A connection in a writing transaction (`agent.database.writing`)."""
        with _reachable():
            async with writing(await self._engine()) as connection:
                yield connection

    async def read(self, body: Callable[[sa.Connection], T]) -> T:
        """What `body` gives in a reading transaction (`agent.transactions`)."""
        with _reachable():
            return await self._transactions.read(await self._url(), body)

    async def write(self, body: Callable[[sa.Connection], T]) -> T:
        """What `body` gives in a writing transaction (`agent.transactions`)."""
        with _reachable():
            return await self._transactions.write(await self._url(), body)

    async def dispose(self) -> None:
        """Close this loop's connections; a later transaction opens new ones."""
        await self._engines.dispose()
        await self._transactions.dispose()

    async def _engine(self) -> AsyncEngine:
        return self._engines.get(await self._url())

    async def _url(self) -> str:
        url = self._given or ledger_url()
        if url not in self._prepared:
            await prepare(url)
            self._prepared.add(url)
        return url


@functools.cache
def _insert_new(dialect: str, table: sa.Table) -> sa.Executable:
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    key = next(iter(table.primary_key.columns))
    return insert(table).on_conflict_do_nothing().returning(key)


def insert_new(connection: sa.Connection, table: sa.Table, row: Mapping[str, object]) -> bool:
    """Insert a row unless one with its key exists; whether it was inserted."""
    return connection.execute(_insert_new(connection.dialect.name, table), row).first() is not None
