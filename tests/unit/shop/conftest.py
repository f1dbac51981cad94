"""A prepared shop for each test: copied from one that is made once, so a test may write what it likes."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agent.shop import Shop, prepare

__all__ = ["shop", "template", "url"]


@pytest.fixture(scope="session")
async def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the rows of all three tenants; not to be written."""
    path = tmp_path_factory.mktemp("template") / "shop.db"
    await prepare(f"sqlite+aiosqlite:///{path}")
    return path


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
