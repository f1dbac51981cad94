"""Customers of a shop, and how they are found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.shop.spelling import words
from agent.shop.tables import CUSTOMERS


@dataclass(frozen=True, slots=True)
class Customer:
    """A customer; `id` is `C-0001` and so on, `language` a BCP 47 tag."""

    id: str
    name: str
    email: str
    city: str
    language: str
    joined_on: date


async def find_customers(
    connection: AsyncConnection, *, tenant: str, query: str, limit: int
) -> tuple[Customer, ...]:
    """The tenant's customers whose id, email or name contains every word of `query`, by id.

    Case and accents do not matter. A query without a word finds nobody.
    """
    wanted = words(query)
    if not wanted:
        return ()
    table = CUSTOMERS.c
    rows = await connection.execute(
        sa.select(table.id, table.name, table.email, table.city, table.language, table.joined_on)
        .where(table.tenant == tenant)
        .where(*(table.search.contains(word, autoescape=True) for word in wanted))
        .order_by(table.id)
        .limit(limit)
    )
    return tuple(Customer(*row) for row in rows)


async def customer_exists(connection: AsyncConnection, *, tenant: str, customer: str) -> bool:
    """Whether the tenant has a customer with that id."""
    table = CUSTOMERS.c
    found = await connection.scalar(sa.select(table.id).where(table.tenant == tenant, table.id == customer))
    return found is not None
