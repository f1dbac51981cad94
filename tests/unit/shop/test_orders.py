"""Orders come with their lines, their customer's name and what was refunded."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from agent.shop import Shop
from agent.shop.generator import generate
from agent.shop.lifecycle import STATUSES, Status
from agent.shop.money import Money
from agent.shop.orders import Line, Order, find_order, list_orders
from agent.shop.refunds import refund

pytestmark = pytest.mark.anyio


async def get(shop: Shop, number: int, *, tenant: str = "acme") -> Order | None:
    async with shop.reading() as connection:
        return await find_order(connection, tenant=tenant, number=number)


async def listed(
    shop: Shop, customer: str, *, tenant: str = "acme", status: Status | None = None, limit: int = 50
) -> tuple[Order, ...]:
    async with shop.reading() as connection:
        return await list_orders(connection, tenant=tenant, customer=customer, status=status, limit=limit)


async def pay_back(shop: Shop, order: int, minor: int, key: str) -> None:
    async with shop.writing() as connection:
        await refund(
            connection,
            tenant="acme",
            order=order,
            amount_minor=minor,
            reason="test",
            key=key,
            requested_by="acme/u",
            now=datetime.now(UTC),
        )


async def test_an_order_comes_whole(world: Shop) -> None:
    order = await get(world, 1042)
    made = next(row for row in generate("acme").orders if row["number"] == 1042)
    assert order is not None
    assert (order.number, order.customer, order.status) == (1042, "C-0011", "delivered")
    assert order.placed_on == made["placed_on"]
    assert order.promised_on == made["promised_on"]
    assert order.shipped_on == made["shipped_on"]
    assert order.delivered_on == made["delivered_on"]
    assert (order.carrier, order.tracking) == (made["carrier"], made["tracking"])
    assert order.total == Money(39060, "EUR")
    assert order.shipping == Money(0, "EUR")
    assert order.refunded == Money(0, "EUR")
    assert order.lines == (
        Line("ACM-VAC-01", "Cordless vacuum Sturm, basic", 1, Money(22990, "EUR")),
        Line("ACM-TOA-02", "Toaster Lamina, cream", 2, Money(5990, "EUR")),
        Line("ACM-BOA-03", "Chopping board Buche, large", 1, Money(4090, "EUR")),
    )


async def test_the_customer_is_named(world: Shop) -> None:
    order = await get(world, 1042)
    [name] = [row["name"] for row in generate("acme").customers if row["id"] == "C-0011"]
    assert order is not None
    assert order.customer_name == name


@pytest.mark.parametrize("number", [1000, 1701, 0, -1])
async def test_an_unknown_number_is_none(world: Shop, number: int) -> None:
    assert await get(world, number) is None


async def test_refunds_add_up_without_multiplying_the_lines(shop: Shop) -> None:
    await pay_back(shop, 1042, 1000, "a")
    await pay_back(shop, 1042, 234, "b")
    order = await get(shop, 1042)
    assert order is not None
    assert order.refunded == Money(1234, "EUR")
    assert len(order.lines) == 3
    other = await get(shop, 1001)
    assert other is not None
    assert other.refunded == Money(0, "EUR")


async def test_a_customers_orders_are_listed_newest_first_with_their_own_lines(world: Shop) -> None:
    made = generate("acme")
    numbers = [row["number"] for row in made.orders if row["customer"] == "C-0011"]
    assert len(numbers) > 2
    found = await listed(world, "C-0011")
    assert [order.number for order in found] == sorted(numbers, key=str, reverse=True)
    for order in found:
        lines = [row["sku"] for row in made.order_lines if row["order_number"] == order.number]
        assert [line.sku for line in order.lines] == lines
        assert order.customer == "C-0011"


async def test_the_limit_keeps_the_newest(world: Shop) -> None:
    every = await listed(world, "C-0011")
    assert await listed(world, "C-0011", limit=2) == every[:2]


async def test_a_state_narrows_the_list_and_the_states_make_up_the_whole(world: Shop) -> None:
    every = await listed(world, "C-0011")
    parts = {status: await listed(world, "C-0011", status=status) for status in STATUSES}
    for status, orders in parts.items():
        assert all(order.status == status for order in orders)
    assert parts["delivered"]
    assert sorted(order.number for orders in parts.values() for order in orders) == sorted(
        order.number for order in every
    )


async def test_an_unknown_customer_has_no_orders(world: Shop) -> None:
    assert await listed(world, "C-9999") == ()


async def test_an_order_on_no_way_yet_has_neither_carrier_nor_dates(world: Shop) -> None:
    order = await get(world, 1682)
    assert order is not None
    assert order.status == "placed"
    assert (order.carrier, order.tracking, order.shipped_on, order.delivered_on) == (None, None, None, None)
    assert order.days_late == 0


async def test_days_late_are_counted_from_the_promise(world: Shop) -> None:
    order = await get(world, 1042)
    assert order is not None
    promised = replace(order, promised_on=date(2026, 5, 20))
    assert replace(promised, delivered_on=date(2026, 5, 23)).days_late == 3
    assert replace(promised, delivered_on=date(2026, 5, 20)).days_late == 0
    assert replace(promised, delivered_on=date(2026, 5, 19)).days_late == 0
    assert replace(promised, delivered_on=None).days_late == 0
