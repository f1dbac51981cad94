"""Orders of a shop with their lines and what was refunded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.shop.lifecycle import Status
from agent.shop.money import Money
from agent.shop.tables import CUSTOMERS, ORDER_LINES, ORDERS, PRODUCTS, REFUNDS


@dataclass(frozen=True, slots=True)
class Line:
    """A position of an order; `unit` is the price of one piece when it was sold."""

    sku: str
    product: str
    quantity: int
    unit: Money


@dataclass(frozen=True, slots=True)
class Order:
    """An order; `total` is its lines and `shipping`, `refunded` what went back of it.

    `customer` is the customer's id. A date that has not come is `None`; so are carrier and tracking code
    until the parcel is on its way.
    """

    number: int
    customer: str
    customer_name: str
    status: Status
    placed_on: date
    promised_on: date
    shipped_on: date | None
    delivered_on: date | None
    carrier: str | None
    tracking: str | None
    shipping: Money
    total: Money
    refunded: Money
    lines: tuple[Line, ...]

    @property
    def days_late(self) -> int:
        """Days between the promise and the delivery; 0 when it was in time or has not come."""
        return max(0, (self.delivered_on - self.promised_on).days) if self.delivered_on else 0


async def find_order(connection: AsyncConnection, *, tenant: str, number: int) -> Order | None:
    """The tenant's order of that number, or `None`."""
    found = await _orders(connection, _of(tenant).where(ORDERS.c.number == number), tenant=tenant)
    return found[0] if found else None


async def list_orders(
    connection: AsyncConnection, *, tenant: str, customer: str, status: Status | None, limit: int
) -> tuple[Order, ...]:
    """The newest orders of one of the tenant's customers, newest first.

    Args:
        connection: A connection to the shop's database.
        tenant: Whose shop.
        customer: The customer's id.
        status: Only orders in that state.
        limit: At most so many.
    """
    query = _of(tenant).where(ORDERS.c.customer == customer)
    if status is not None:
        query = query.where(ORDERS.c.status == status)
    return await _orders(connection, query.order_by(ORDERS.c.number.desc()).limit(limit), tenant=tenant)


def _of(tenant: str) -> sa.Select[tuple[object, ...]]:
    refunded = (
        sa.select(sa.func.coalesce(sa.func.sum(REFUNDS.c.amount_minor), 0))
        .where(REFUNDS.c.tenant == ORDERS.c.tenant, REFUNDS.c.order_number == ORDERS.c.number)
        .scalar_subquery()
    )
    same_customer = sa.and_(CUSTOMERS.c.tenant == ORDERS.c.tenant, CUSTOMERS.c.id == ORDERS.c.customer)
    return (
        sa.select(ORDERS, CUSTOMERS.c.name.label("customer_name"), refunded.label("refunded_minor"))
        .join_from(ORDERS, CUSTOMERS, same_customer)
        .where(ORDERS.c.tenant == tenant)
    )


async def _orders(
    connection: AsyncConnection, query: sa.Select[tuple[object, ...]], *, tenant: str
) -> tuple[Order, ...]:
    rows = (await connection.execute(query)).mappings().all()
    lines = await _lines(connection, tenant=tenant, numbers=[row["number"] for row in rows])
    return tuple(_order(row, lines.get(row["number"], ())) for row in rows)


def _order(row: sa.RowMapping, lines: tuple[Line, ...]) -> Order:
    currency = row["currency"]
    return Order(
        number=row["number"],
        customer=row["customer"],
        customer_name=row["customer_name"],
        status=row["status"],
        placed_on=row["placed_on"],
        promised_on=row["promised_on"],
        shipped_on=row["shipped_on"],
        delivered_on=row["delivered_on"],
        carrier=row["carrier"],
        tracking=row["tracking"],
        shipping=Money(row["shipping_minor"], currency),
        total=Money(row["total_minor"], currency),
        refunded=Money(int(row["refunded_minor"]), currency),
        lines=lines,
    )


async def _lines(
    connection: AsyncConnection, *, tenant: str, numbers: Sequence[int]
) -> dict[int, tuple[Line, ...]]:
    table = ORDER_LINES.c
    same_product = sa.and_(PRODUCTS.c.tenant == table.tenant, PRODUCTS.c.sku == table.sku)
    rows = await connection.execute(
        sa.select(
            table.order_number,
            table.sku,
            PRODUCTS.c.name,
            table.quantity,
            table.unit_minor,
            PRODUCTS.c.currency,
        )
        .join_from(ORDER_LINES, PRODUCTS, same_product)
        .where(table.tenant == tenant, table.order_number.in_(numbers))
        .order_by(table.order_number, table.line)
    )
    return {
        number: tuple(
            Line(sku, name, quantity, Money(unit, currency))
            for _number, sku, name, quantity, unit, currency in group
        )
        for number, group in groupby(rows.all(), key=lambda row: row[0])
    }
