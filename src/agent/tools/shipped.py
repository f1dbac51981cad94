"""The tools that are shipped: one registry for the deployment, over one shop, one library and one ledger."""

from __future__ import annotations

from agent.knowledge import Library
from agent.ledger import Ledger
from agent.shop import Shop
from agent.tools import customers, kb, orders, results, stock
from agent.tools.registry import Registry


def build(*, shop: Shop, library: Library, ledger: Ledger) -> Registry:
    """A registry of the shipped tools that work on this shop, this library and this ledger."""
    registry = Registry()
    orders.register(registry, shop=shop)
    customers.register(registry, shop=shop)
    stock.register(registry, shop=shop)
    kb.register(registry, library=library)
    results.register(registry, ledger=ledger)
    return registry


shop = Shop()
"""The deployment's shop; its connections are closed with `shop.dispose()`."""

ledger = Ledger()
"""The deployment's ledger; its connections are closed with `ledger.dispose()`."""

registry = build(shop=shop, library=Library(), ledger=ledger)
"""The deployment's tools."""
