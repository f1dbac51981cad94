"""The shipped tools over a prepared shop and the shipped handbooks."""

from __future__ import annotations

import pytest

from agent.knowledge import Library
from agent.knowledge.library import catalog_directory
from agent.shop import Shop
from agent.tools.registry import Registry
from agent.tools.shipped import build
from tests.unit.shop.conftest import shop, template, url, world

__all__ = ["reader", "registry", "shop", "template", "url", "world"]


@pytest.fixture
def registry(shop: Shop) -> Registry:
    """The shipped tools; the shop is the test's own."""
    return build(shop=shop, library=Library(catalog_directory({})))


@pytest.fixture(scope="session")
def reader(world: Shop) -> Registry:
    """The shipped tools, for tests that only read."""
    return build(shop=world, library=Library(catalog_directory({})))
