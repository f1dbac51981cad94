"""Whole transactions, as functions of a connection, run where they block nobody.

An async driver of SQLite changes threads for every step of every statement. A short transaction of six
statements then waits some twenty times for its turn, which costs more than the statements themselves
(docs/benchmarks). So on SQLite the whole function runs in one thread; on Postgres, whose driver really is
asynchronous, it runs on the event loop's own connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

import sqlalchemy as sa

from agent.database import Engines, file_engine, parse, reading, writing, writing_options

T = TypeVar("T")

_WORKERS: Final = 4  # SQLite has one writer; more would only wait in line


class Transactions:
    """Transactions of one process on the databases that it is given, by URL."""

    def __init__(self) -> None:
        self._engines = Engines()
        self._files: dict[sa.URL, sa.Engine] = {}
        self._workers: ThreadPoolExecutor | None = None

    async def read(self, url: str, body: Callable[[sa.Connection], T]) -> T:
        """What `body` gives in a transaction that sees one state of the database; it must not write.

        Raises:
            DatabaseRefused: The URL is not supported.
        """
        return await self._run(url, body, write=False)

    async def write(self, url: str, body: Callable[[sa.Connection], T]) -> T:
        """What `body` gives in a transaction that may write: committed at its end, rolled back on an error.

        A caller that is cancelled meanwhile does not learn the outcome; the transaction ends either way.

        Raises:
            DatabaseRefused: The URL is not supported.
        """
        return await self._run(url, body, write=True)

    async def dispose(self) -> None:
        """Close the files and this loop's connections; a later transaction opens new ones."""
        workers, self._workers = self._workers, None
        files, self._files = self._files, {}
        if workers is not None:
            await asyncio.to_thread(workers.shutdown)
        for engine in files.values():
            await asyncio.to_thread(engine.dispose)
        await self._engines.dispose()

    async def _run(self, url: str, body: Callable[[sa.Connection], T], *, write: bool) -> T:
        parsed = parse(url)
        if parsed.get_backend_name() == "sqlite":
            return await self._in_thread(parsed, body, write=write)
        engine = self._engines.get(url)
        async with (writing if write else reading)(engine) as connection:
            return await connection.run_sync(body)

    async def _in_thread(self, url: sa.URL, body: Callable[[sa.Connection], T], *, write: bool) -> T:
        if url not in self._files:
            self._files[url] = file_engine(url)
        if self._workers is None:
            self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="transactions")
        engine, context = self._files[url], copy_context()

        def run() -> T:
            with engine.execution_options(**writing_options(write=write)).begin() as connection:
                return body(connection)

        return await asyncio.get_running_loop().run_in_executor(self._workers, context.run, run)
