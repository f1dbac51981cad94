"""No query finds anything of another tenant: each is asked as one tenant for what belongs to another."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.shop import Shop
from agent.shop.customers import customer_exists, find_customers
from agent.shop.errors import RefundRefused
from agent.shop.generator import Row, Rows, generate
from agent.shop.orders import find_order, list_orders
from agent.shop.refunds import refund
from agent.shop.stock import find_products

pytestmark = pytest.mark.anyio

PAIRS = [
    (asker, owner)
    for asker in ("acme", "globex", "lantern", "umbrella")
    for owner in ("acme", "globex")
    if asker != owner
]


@dataclass(frozen=True)
class Question:
    """A query about one of the owner's rows, asked as some tenant; `None`, `False` or `()` is no answer."""

    name: str
    ask: Callable[[AsyncConnection, str, Row], Awaitable[object]]
    table: str


async def _order(connection: AsyncConnection, tenant: str, row: Row) -> object:
    return await find_order(connection, tenant=tenant, number=int(str(row["number"])))


async def _orders(connection: AsyncConnection, tenant: str, row: Row) -> object:
    return await list_orders(connection, tenant=tenant, customer=str(row["id"]), status=None, limit=50)


async def _customer_by_email(connection: AsyncConnection, tenant: str, row: Row) -> object:
    return await find_customers(connection, tenant=tenant, query=str(row["email"]), limit=10)


async def _customer_by_name(connection: AsyncConnection, tenant: str, row: Row) -> object:
    return await find_customers(connection, tenant=tenant, query=str(row["name"]), limit=10)


async def _customer_by_id(connection: AsyncConnection, tenant: str, row: Row) -> object:
    return await find_customers(connection, tenant=tenant, query=str(row["id"]), limit=10)


async def _existence(connection: AsyncConnection, tenant: str, row: Row) -> object:
    return await customer_exists(connection, tenant=tenant, customer=str(row["id"]))


async def _product_by_sku(connection: AsyncConnection, tenant: str, row: Row) -> object:
    return await find_products(connection, tenant=tenant, query=str(row["sku"]), limit=10)


async def _product_by_name(connection: AsyncConnection, tenant: str, row: Row) -> object:
    return await find_products(connection, tenant=tenant, query=str(row["name"]), limit=10)


BY_NAME = (
    Question("customer by e-mail", _customer_by_email, "customers"),
    Question("customer by name", _customer_by_name, "customers"),
    Question("product by code", _product_by_sku, "products"),
    Question("product by name", _product_by_name, "products"),
)
"""Questions about facts that are the owner's alone: another tenant gets no answer."""

BY_NUMBER = (
    Question("order by number", _order, "orders"),
    Question("orders of a customer", _orders, "customers"),
    Question("customer by id", _customer_by_id, "customers"),
)
"""Questions by numbers that every tenant uses: another tenant gets its own rows or none."""

EVERY = (*BY_NAME, *BY_NUMBER, Question("existence", _existence, "customers"))


@functools.cache
def made(tenant: str) -> Rows:
    return generate(tenant)


def rows_of(tenant: str, table: str) -> tuple[Row, ...]:
    return () if tenant == "umbrella" else getattr(made(tenant), table)


def mark(row: Row) -> str:
    """What tells a row from those of other tenants: people of one name may buy in two shops."""
    return str(row["sku"]) if "sku" in row else str(row["email"]).partition("@")[0]


@pytest.mark.parametrize("question", EVERY, ids=lambda question: question.name)
async def test_the_owner_gets_an_answer(world: Shop, question: Question) -> None:
    async with world.reading() as connection:
        for row in rows_of("acme", question.table)[:40:4]:
            answer = await question.ask(connection, "acme", row)
            assert answer or question.name == "orders of a customer"


@pytest.mark.parametrize(("asker", "owner"), PAIRS)
@pytest.mark.parametrize("question", BY_NAME, ids=lambda question: question.name)
async def test_others_get_no_answer_about_what_is_the_owners_alone(
    world: Shop, question: Question, asker: str, owner: str
) -> None:
    own = {mark(row) for row in rows_of(asker, question.table)}
    foreign = [row for row in rows_of(owner, question.table) if mark(row) not in own]
    assert len(foreign) >= 30
    async with world.reading() as connection:
        for row in foreign[::3]:
            assert await question.ask(connection, asker, row) == ()


@pytest.mark.parametrize("question", EVERY, ids=lambda question: question.name)
async def test_a_tenant_without_a_shop_gets_no_answer_at_all(world: Shop, question: Question) -> None:
    async with world.reading() as connection:
        for row in rows_of("acme", question.table)[:20]:
            assert not await question.ask(connection, "umbrella", row)


@pytest.mark.parametrize("tenant", ["", "ACME", "acme ", "%", "acme' OR '1'='1", "*"])
@pytest.mark.parametrize("question", EVERY, ids=lambda question: question.name)
async def test_a_tenant_is_taken_literally(world: Shop, question: Question, tenant: str) -> None:
    async with world.reading() as connection:
        for row in rows_of("acme", question.table)[:5]:
            assert not await question.ask(connection, tenant, row)


async def test_the_same_number_is_each_tenants_own_order(world: Shop) -> None:
    async with world.reading() as connection:
        orders = {
            tenant: await find_order(connection, tenant=tenant, number=1042)
            for tenant in ("acme", "globex", "lantern")
        }
    for tenant, order in orders.items():
        rows = made(tenant)
        [row] = [row for row in rows.orders if row["number"] == 1042]
        own = {line["sku"] for line in rows.order_lines if line["order_number"] == 1042}
        names = {customer["id"]: customer["name"] for customer in rows.customers}
        assert order is not None
        assert order.total.minor == row["total_minor"]
        assert order.total.currency == row["currency"]
        assert {line.sku for line in order.lines} == own
        assert order.customer_name == names[row["customer"]]


async def test_a_list_of_orders_holds_the_tenants_own_products_only(world: Shop) -> None:
    async with world.reading() as connection:
        found = await list_orders(connection, tenant="globex", customer="C-0004", status=None, limit=50)
    assert found
    assert all(line.sku.startswith("GLX-") for order in found for line in order.lines)


async def test_refunds_of_the_same_number_elsewhere_do_not_count(shop: Shop) -> None:
    await _refund(shop, "globex", 1042, 10_000)
    async with shop.reading() as connection:
        acme = await find_order(connection, tenant="acme", number=1042)
        globex = await find_order(connection, tenant="globex", number=1042)
    assert acme is not None
    assert globex is not None
    assert acme.refunded.minor == 0
    assert globex.refunded.minor == 10_000


async def test_refunds_of_the_same_number_elsewhere_leave_the_whole_order_refundable(shop: Shop) -> None:
    await _refund(shop, "globex", 1042, 25_090)
    await _refund(shop, "acme", 1042, 39_060)
    with pytest.raises(RefundRefused):
        await _refund(shop, "lantern", 1042, 48_601)


async def test_stock_of_the_same_code_elsewhere_does_not_count(shop: Shop) -> None:
    async with shop.reading() as connection:
        before = await find_products(connection, tenant="acme", query="ACM-KET-01", limit=10)
    async with shop.writing() as connection:
        await connection.exec_driver_sql(
            "INSERT INTO products SELECT 'globex', sku, name, category, price_minor, 'USD', search "
            "FROM products WHERE tenant = 'acme' AND sku = 'ACM-KET-01'"
        )
        await connection.exec_driver_sql(
            "INSERT INTO stock VALUES ('globex', 'ACM-KET-01', 'Newark', 9999, 0, NULL)"
        )
    async with shop.reading() as connection:
        after = await find_products(connection, tenant="acme", query="ACM-KET-01", limit=10)
        elsewhere = await find_products(connection, tenant="globex", query="ACM-KET-01", limit=10)
    assert len(before) == 1
    assert after == before
    assert [product.available for product in elsewhere] == [9999]


async def test_an_order_elsewhere_is_as_unknown_as_one_that_is_nowhere(shop: Shop) -> None:
    async with shop.writing() as connection:
        await _move(connection, number=1700)
    with pytest.raises(RefundRefused) as elsewhere:
        await _refund(shop, "acme", 9001, 100)
    with pytest.raises(RefundRefused) as nowhere:
        await _refund(shop, "acme", 9002, 100)
    assert elsewhere.value.detail.replace("9001", "9002") == nowhere.value.detail
    await _refund(shop, "globex", 9001, 100)


async def _move(connection: AsyncConnection, *, number: int) -> None:
    """Give globex an order with a number that no other tenant has."""
    await connection.exec_driver_sql(
        "INSERT INTO orders SELECT tenant, 9001, customer, 'paid', currency, shipping_minor, total_minor, "
        "carrier, tracking, placed_on, promised_on, shipped_on, delivered_on FROM orders "
        "WHERE tenant = 'globex' AND number = ?",
        (number,),
    )


async def _refund(shop: Shop, tenant: str, order: int, minor: int) -> None:
    async with shop.writing() as connection:
        await refund(
            connection,
            tenant=tenant,
            order=order,
            amount_minor=minor,
            reason="test",
            key=f"{tenant}:t:{order}:{minor}",
            requested_by=f"{tenant}/u",
            now=datetime.now(UTC),
        )
