"""The tools that are shipped: one registry for the deployment, over one shop and one library."""

from __future__ import annotations

from agent.knowledge import Library
from agent.ledger import Ledger
from agent.shop import Shop
from agent.tools import customers, kb, orders, stock
from agent.tools.registry import Registry


def build(*, shop: Shop, library: Library) -> Registry:
    """A registry of the shipped tools that work on this shop and this library."""
    registry = Registry()
    orders.register(registry, shop=shop)
    customers.register(registry, shop=shop)
    stock.register(registry, shop=shop)
    kb.register(registry, library=library)
    return registry


shop = Shop()
"""The deployment's shop; its connections are closed with `shop.dispose()`."""

ledger = Ledger()
"""The deployment's ledger; its connections are closed with `ledger.dispose()`."""

registry = build(shop=shop, library=Library())
"""The deployment's tools."""
