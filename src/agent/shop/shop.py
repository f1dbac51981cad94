"""The shop that tools talk to: one database, prepared on first use, its connections by event loop."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from agent.database import Engines, reading, writing
from agent.shop.seed import TENANTS, prepare


def shop_url(environment: Mapping[str, str] = os.environ) -> str:
    """The shop's database: `SIGNALBOX_SHOP_DB`, or else `shop.db` in `SIGNALBOX_HOME` or in `.signalbox`."""
    given = environment.get("SIGNALBOX_SHOP_DB")
    if given:
        return given
    home = environment.get("SIGNALBOX_HOME") or ".signalbox"
    return f"sqlite+aiosqlite:///{(Path(home) / 'shop.db').as_posix()}"


class Shop:
    """The shop's database; opened and prepared (`seed.prepare`) by the first transaction.

    Args:
        url: The database; by default the one that the environment names when it is first used (`shop_url`).
    """

    def __init__(self, url: str | None = None) -> None:
        self._given = url
        self._engines = Engines()
        self._prepared: set[str] = set()

    async def prepare(self, tenants: Iterable[str] = TENANTS) -> None:
        """Migrate the database and make up a world for these tenants and no others (`seed.prepare`)."""
        url = self._given or shop_url()
        await prepare(url, tenants=tenants)
        self._prepared.add(url)

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection]:
        """A connection in a reading transaction (`agent.database.reading`)."""
        async with reading(await self._engine()) as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[AsyncConnection]:
        """A connection in a writing transaction (`agent.database.writing`)."""
        async with writing(await self._engine()) as connection:
            yield connection

    async def dispose(self) -> None:
        """Close this loop's connections; a later transaction opens new ones."""
        await self._engines.dispose()

    async def _engine(self) -> AsyncEngine:
        url = self._given or shop_url()
        if url not in self._prepared:
            await self.prepare()
        return self._engines.get(url)
