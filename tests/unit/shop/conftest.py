"""Prepared shops: one that is only read, and for tests that write a copy of their own."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agent.shop import Shop, prepare

__all__ = ["shop", "template", "url", "world"]


@pytest.fixture(scope="session")
async def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the rows of all three tenants; not to be written."""
    path = tmp_path_factory.mktemp("template") / "shop.db"
    await prepare(f"sqlite+aiosqlite:///{path}")
    return path


@pytest.fixture(scope="session")
async def world(template: Path) -> AsyncGenerator[Shop]:
    """A prepared shop for tests that only read."""
    opened = Shop(f"sqlite+aiosqlite:///{template}")
    yield opened
    await opened.dispose()


@pytest.fixture
def url(template: Path, tmp_path: Path) -> str:
    """The URL of a prepared database of the test's own."""
    path = tmp_path / "shop.db"
    shutil.copyfile(template, path)
    return f"sqlite+aiosqlite:///{path}"


@pytest.fixture
async def shop(url: str) -> AsyncGenerator[Shop]:
    """A prepared shop of the test's own."""
    opened = Shop(url)
    yield opened
    await opened.dispose()
