"""The shipped tools over a prepared shop, the shipped handbooks and an empty ledger."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agent.knowledge import Library
from agent.knowledge.library import catalog_directory
from agent.ledger import Ledger
from agent.shop import Shop
from agent.tools.registry import Registry
from agent.tools.shipped import build
from tests.unit.shop.conftest import shop, template, url, world

__all__ = ["ledger", "reader", "registry", "shop", "template", "url", "world"]


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[Ledger]:
    """A ledger of the test's own."""
    ledger = Ledger(f"sqlite+aiosqlite:///{tmp_path / 'ledger.db'}")
    yield ledger
    await ledger.dispose()


@pytest.fixture
def registry(shop: Shop, ledger: Ledger) -> Registry:
    """The shipped tools; shop and ledger are the test's own."""
    return build(shop=shop, library=Library(catalog_directory({})), ledger=ledger)


@pytest.fixture(scope="session")
def reader(world: Shop) -> Registry:
    """The shipped tools, for tests that only read and leave the ledger alone."""
    unused = Ledger("sqlite+aiosqlite:///unused.db")
    return build(shop=world, library=Library(catalog_directory({})), ledger=unused)
