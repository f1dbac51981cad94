"""Databases by URL: async engines for SQLite and Postgres, their transactions and their migrations.

SQL is written once, in SQLAlchemy Core, and runs on both. What differs is how writers are kept apart:
SQLite takes its one write lock when a transaction begins (`BEGIN IMMEDIATE`), Postgres locks rows
(`with_for_update`) or, for work on the whole database, an advisory lock by name.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import sqlite3
import threading
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection, Dialect
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, QueuePool

from agent.errors import AgentError

_DRIVERS: Final = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_PATIENCE: Final = 5.0  # seconds that a query waits for SQLite's write lock
_MIGRATION_PATIENCE: Final = 60.0
_PAUSE: Final = 0.01
_HERE: Final = Path.cwd()  # asked for once: in an event loop it would be a blocking call
_WRITE: Final = "signalbox_write"

# Alembic keeps the migration that runs in module globals (`alembic.op`, `alembic.context`).
_ALEMBIC: Final = threading.Lock()


class DatabaseRefused(AgentError):
    """The database cannot be used as it is given."""

    code = "database_refused"


@functools.lru_cache(maxsize=64)
def parse(url: str) -> sa.URL:
    """The URL with the async driver that this project uses.

    Accepts `sqlite:///file`, `sqlite+aiosqlite:///file`, `postgres://…`, `postgresql://…` and
    `postgresql+psycopg://…`. A relative file lies below the directory in which the process was started.

    Raises:
        DatabaseRefused: Another database, or SQLite without a file: connections could not share it.
    """
    try:
        parsed = sa.make_url(url)
    except ArgumentError:
        raise DatabaseRefused(
            "The database URL cannot be read; expected something like 'sqlite+aiosqlite:///data/shop.db'."
        ) from None
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise DatabaseRefused(
            f"Database {parsed.drivername!r} is not supported; use a 'sqlite+aiosqlite:///' or a "
            "'postgresql+psycopg://' URL."
        )
    if driver.startswith("sqlite") and (parsed.database or ":memory:").startswith((":memory:", "file:")):
        raise DatabaseRefused(
            "An in-memory SQLite database or a 'file:' URI cannot be shared; name a plain file in the URL."
        )
    if driver.startswith("sqlite"):
        parsed = parsed.set(database=str(_HERE / str(parsed.database)))
    return parsed.set(drivername=driver)


class Engines:
    """The async engines of a process, one for each URL and running event loop.

    An engine's connections belong to the loop that opened them, and the server may run several loops.
    """

    def __init__(self) -> None:
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[sa.URL, AsyncEngine]] = (
            WeakKeyDictionary()
        )

    def get(self, url: str) -> AsyncEngine:
        """The engine for `url` in the running loop; opened on first use.

        Raises:
            DatabaseRefused: The URL is not supported (`parse`) or its driver is not installed.
        """
        parsed = parse(url)
        engines = self._loops.setdefault(asyncio.get_running_loop(), {})
        if parsed not in engines:
            engines[parsed] = _open(parsed)
        return engines[parsed]

    async def dispose(self) -> None:
        """Close the connections of the running loop's engines; the next `get` opens new ones."""
        for engine in self._loops.pop(asyncio.get_running_loop(), {}).values():
            await engine.dispose()


@asynccontextmanager
async def reading(engine: AsyncEngine) -> AsyncGenerator[AsyncConnection]:
    """A connection in a transaction that sees one state of the database; nothing is to be written in it."""
    async with engine.begin() as connection:
        yield connection


@asynccontextmanager
async def writing(engine: AsyncEngine, *, exclusive: str | None = None) -> AsyncGenerator[AsyncConnection]:
    """A connection in a transaction that may write; committed at the end, rolled back on an error.

    On SQLite the write lock is taken at once, so that what was read stays true until the commit.

    Args:
        engine: The database.
        exclusive: The name of a lock; of all transactions with that name, one runs at a time.
    """
    async with engine.connect() as connection:
        await connection.execution_options(**{_WRITE: True})
        async with connection.begin():
            if exclusive is not None and connection.dialect.name == "postgresql":
                await connection.execute(advisory_lock(exclusive))
            yield connection


def writing_options(*, write: bool) -> dict[str, bool]:
    """The execution options of a connection whose transaction may write (`writing`), or only reads."""
    return {_WRITE: write}


def file_engine(url: sa.URL) -> sa.Engine:
    """A synchronous engine over a SQLite file; its connections may go from one thread to another."""
    engine = sa.create_engine(
        url.set(drivername="sqlite"), poolclass=QueuePool, connect_args={"check_same_thread": False}
    )
    _tune(engine, patience=_PATIENCE, foreign_keys=True)
    return engine


def advisory_lock(name: str) -> sa.Select[tuple[object]]:
    """The statement that takes Postgres's advisory lock of that name until the transaction ends."""
    key = int.from_bytes(hashlib.sha256(f"signalbox:{name}".encode()).digest()[:8], "big", signed=True)
    return sa.select(sa.func.pg_advisory_xact_lock(key))


async def migrate(url: str, *, location: Path, version_table: str) -> None:
    """Bring a database to the newest revision of one Alembic environment; safe to run at once elsewhere.

    All steps run in one transaction under a lock: a process that is killed leaves the database as it was.
    Several environments can share a database when each has its own version table.

    Args:
        url: The database (`parse`); the folder of a SQLite file is created.
        location: The environment's folder, with `env.py` and `versions/`. Its `env.py` takes the connection
            from `config.attributes["connection"]` and the version table from the main option of that name.
        version_table: The table that holds the revision.

    Raises:
        DatabaseRefused: The URL is not supported, the database is at a revision that `location` does not
            know, or the steps left rows whose foreign keys point nowhere.
    """
    await asyncio.to_thread(_migrate, parse(url), location, version_table)


class UtcDateTime(sa.TypeDecorator[datetime]):
    """An aware datetime, kept in UTC; SQLite has no time zones, so there it is stored without one."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """UTC, on SQLite without its zone; a naive datetime is refused."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise DatabaseRefused(f"Datetime {value.isoformat()!r} has no time zone; give it one.")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The stored moment as an aware datetime in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


def _open(url: sa.URL) -> AsyncEngine:
    with _driver_required(url):
        engine = create_async_engine(url, pool_pre_ping=url.get_backend_name() != "sqlite")
    _tune(engine.sync_engine, patience=_PATIENCE, foreign_keys=True)
    return engine


@contextmanager
def _driver_required(url: sa.URL) -> Generator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise DatabaseRefused(
            f"The driver {error.name!r} for {url.drivername!r} is not installed; install it or use SQLite."
        ) from None


def _tune(engine: sa.Engine, *, patience: float, foreign_keys: bool) -> None:
    if engine.dialect.name != "sqlite":
        return

    def connect(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver's own BEGIN would come too late and too weak
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={int(patience * 1000)}")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
        cursor.close()

    def begin(connection: sa.Connection) -> None:
        write = connection.get_execution_options().get(_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    event.listen(engine, "connect", connect)
    event.listen(engine, "begin", begin)


def _write_ahead(engine: sa.Engine) -> None:
    # The mode stays with the file. Unlike other statements, the switch does not wait for a busy database.
    deadline = time.monotonic() + _MIGRATION_PATIENCE
    with closing(engine.raw_connection()) as connection:
        while True:
            try:
                connection.cursor().execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)
            else:
                return


def _migrate(url: sa.URL, location: Path, version_table: str) -> None:
    sqlite = url.get_backend_name() == "sqlite"
    if sqlite:
        Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
    with _driver_required(url):
        engine = sa.create_engine(url.set(drivername="sqlite") if sqlite else url, poolclass=NullPool)
    # Batch operations on SQLite replace whole tables, which must not cascade into those that refer to them.
    _tune(engine, patience=_MIGRATION_PATIENCE, foreign_keys=False)
    config = Config()
    config.set_main_option("script_location", str(location).replace("%", "%%"))
    config.set_main_option("version_table", version_table)
    try:
        if sqlite:
            _write_ahead(engine)
        with _ALEMBIC, engine.execution_options(**{_WRITE: True}).begin() as connection:
            if not sqlite:
                connection.execute(advisory_lock("migrations"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            _require_whole(connection)
    except CommandError as error:
        raise DatabaseRefused(
            f"The database cannot be brought to the newest revision of {version_table!r}; if a newer "
            "version of the program wrote it, run that version."
        ) from error
    finally:
        engine.dispose()


def _require_whole(connection: sa.Connection) -> None:
    if connection.dialect.name != "sqlite":
        return
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if broken is not None:
        raise DatabaseRefused(
            f"The migration left rows in table {broken[0]!r} that refer to missing rows of {broken[2]!r}; "
            "nothing was changed."
        )
