"""The ledger on both databases: every test that asks for `ledger` or `url` runs on SQLite and on Postgres."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agent.ledger import Ledger
from tests.support.postgres import postgres, postgres_database

__all__ = ["ledger", "postgres", "postgres_database", "url"]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_database")
    return f"sqlite+aiosqlite:///{tmp_path / 'deep' / 'signalbox.db'}"


@pytest.fixture
async def ledger(url: str) -> AsyncGenerator[Ledger]:
    """A ledger over an empty database."""
    ledger = Ledger(url)
    yield ledger
    await ledger.dispose()
