"""Products of a shop, and how many of them can be sold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import groupby

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.shop.money import Money
from agent.shop.spelling import words
from agent.shop.tables import PRODUCTS, STOCK


@dataclass(frozen=True, slots=True)
class Level:
    """Pieces of a product that a warehouse can still sell; `restock_on` when more are expected."""

    warehouse: str
    available: int
    restock_on: date | None


@dataclass(frozen=True, slots=True)
class Product:
    """A product with its stock, warehouse by warehouse."""

    sku: str
    name: str
    category: str
    price: Money
    levels: tuple[Level, ...]

    @property
    def available(self) -> int:
        """Pieces that can be sold in all."""
        return sum(level.available for level in self.levels)


async def find_products(
    connection: AsyncConnection, *, tenant: str, query: str, limit: int
) -> tuple[Product, ...]:
    """The tenant's products whose SKU, name or category contains every word of `query`, by SKU.

    Case and accents do not matter. A query without a word finds nothing.
    """
    wanted = words(query)
    if not wanted:
        return ()
    table = PRODUCTS.c
    rows = await connection.execute(
        sa.select(table.sku, table.name, table.category, table.price_minor, table.currency)
        .where(table.tenant == tenant)
        .where(*(table.search.contains(word, autoescape=True) for word in wanted))
        .order_by(table.sku)
        .limit(limit)
    )
    found = rows.all()
    levels = await _levels(connection, tenant=tenant, skus=[sku for sku, *_rest in found])
    return tuple(
        Product(sku, name, category, Money(price, currency), levels.get(sku, ()))
        for sku, name, category, price, currency in found
    )


async def _levels(
    connection: AsyncConnection, *, tenant: str, skus: list[str]
) -> dict[str, tuple[Level, ...]]:
    table = STOCK.c
    rows = await connection.execute(
        sa.select(table.sku, table.warehouse, table.on_hand - table.reserved, table.restock_on)
        .where(table.tenant == tenant, table.sku.in_(skus))
        .order_by(table.sku, table.warehouse)
    )
    return {
        sku: tuple(
            Level(warehouse, available, restock_on) for _sku, warehouse, available, restock_on in group
        )
        for sku, group in groupby(rows.all(), key=lambda row: row[0])
    }
