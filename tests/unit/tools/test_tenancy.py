"""No tool tells one tenant anything about another, not even that something exists there."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from agent.knowledge.library import catalog_directory
from agent.shop import Shop
from agent.shop.generator import Rows, generate
from agent.tools.registry import Registry
from tests.unit.tools.invoking import call, failure, invoke

pytestmark = pytest.mark.anyio

WORLDS = {tenant: generate(tenant) for tenant in ("acme", "globex", "lantern")}


@dataclass(frozen=True)
class Attempt:
    """A tool asked for something of globex alone; `known` arguments work there, `absent` nowhere."""

    tool: str
    known: dict[str, object]
    absent: dict[str, object]


def _only_at_globex(rows: Rows) -> str:
    elsewhere = {
        str(row["email"]).partition("@")[0]
        for other in ("acme", "lantern")
        for row in WORLDS[other].customers
    }
    emails = [str(row["email"]) for row in rows.customers]
    return next(email for email in emails if email.partition("@")[0] not in elsewhere)


EMAIL = _only_at_globex(WORLDS["globex"])
ATTEMPTS = [
    Attempt("orders.get", {"number": 9001}, {"number": 9002}),
    Attempt("orders.list", {"customer": "C-9001"}, {"customer": "C-9002"}),
    Attempt(
        "orders.refund",
        {"order": 9001, "amount": 1.0, "reason": "arrived late"},
        {"order": 9002, "amount": 1.0, "reason": "arrived late"},
    ),
    Attempt("customers.find", {"query": EMAIL}, {"query": "nobody.at.all@example.org"}),
    Attempt("customers.find", {"query": "C-9001"}, {"query": "C-9002"}),
    Attempt("stock.check", {"product": "GLX-TEN-01"}, {"product": "GLX-TEN-99"}),
    Attempt("stock.check", {"product": "Ridgeline tent"}, {"product": "Gridline tent"}),
    Attempt("kb.search", {"query": "restocking fee electronics"}, {"query": "quokka fee wombats"}),
]
ABOUT = {"number", "order", "customer", "query", "product"}


@pytest.fixture
async def globex_alone(shop: Shop) -> None:
    """Give globex an order and a customer with numbers that no other tenant has."""
    async with shop.writing() as connection:
        await connection.exec_driver_sql(
            "INSERT INTO customers SELECT tenant, 'C-9001', 'Only Globex', 'only@example.org', city, "
            "language, joined_on, 'c-9001 only@example.org only globex' FROM customers "
            "WHERE tenant = 'globex' AND id = 'C-0001'"
        )
        await connection.exec_driver_sql(
            "INSERT INTO orders SELECT tenant, 9001, 'C-9001', 'paid', currency, shipping_minor, "
            "total_minor, carrier, tracking, placed_on, promised_on, shipped_on, delivered_on FROM orders "
            "WHERE tenant = 'globex' AND number = 1042"
        )


def subject(arguments: dict[str, object]) -> str:
    [name] = ABOUT & set(arguments)
    return str(arguments[name])


@pytest.mark.usefixtures("globex_alone")
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: f"{attempt.tool}-{subject(attempt.known)}")
async def test_the_owner_gets_an_answer(registry: Registry, attempt: Attempt) -> None:
    assert await invoke(registry, attempt.tool, call("globex"), **attempt.known)


@pytest.mark.usefixtures("globex_alone")
@pytest.mark.parametrize("asker", ["acme", "lantern", "umbrella"])
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: f"{attempt.tool}-{subject(attempt.known)}")
async def test_what_another_tenant_has_is_as_unknown_as_what_nobody_has(
    registry: Registry, attempt: Attempt, asker: str
) -> None:
    known = await failure(registry, attempt.tool, call(asker), **attempt.known)
    absent = await failure(registry, attempt.tool, call(asker), **attempt.absent)
    assert subject(attempt.known) in known
    assert known.replace(subject(attempt.known), "…") == absent.replace(subject(attempt.absent), "…")
    assert "globex" not in known.replace(subject(attempt.known), "").casefold()


@pytest.mark.parametrize("asker", ["acme", "lantern"])
async def test_numbers_that_all_tenants_use_give_the_askers_own_rows(reader: Registry, asker: str) -> None:
    own = WORLDS[asker]
    [made] = [row for row in own.orders if row["number"] == 1042]
    order = await invoke(reader, "orders.get", call(asker), number=1042)
    assert order["customer"]["id"] == made["customer"]
    assert order["tracking"] == made["tracking"]
    [customer] = (await invoke(reader, "customers.find", call(asker), query="C-0001"))["customers"]
    assert customer["name"] == own.customers[0]["name"]
    listed = await invoke(reader, "orders.list", call(asker), customer=str(made["customer"]), limit=50)
    numbers = {row["number"] for row in own.orders if row["customer"] == made["customer"]}
    assert {entry["order"] for entry in listed["orders"]} == numbers


async def test_a_refund_touches_the_tenants_own_order_only(registry: Registry) -> None:
    await invoke(registry, "orders.refund", call("acme"), order=1042, amount=10, reason="arrived late")
    refunded = {
        tenant: (await invoke(registry, "orders.get", call(tenant), number=1042))["refunded"]
        for tenant in ("acme", "globex", "lantern")
    }
    assert refunded == {"acme": "10.00 EUR", "globex": "0.00 USD", "lantern": "0.00 CNY"}


async def test_the_same_call_id_at_two_tenants_is_two_decisions(registry: Registry) -> None:
    rows = [
        await invoke(registry, "orders.refund", call(tenant), order=1042, amount=10, reason="arrived late")
        for tenant in ("acme", "globex")
    ]
    assert [row["outcome"] for row in rows] == ["created", "created"]
    assert rows[0]["refund"] != rows[1]["refund"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("customers.find", {"query": "example"}),
        ("stock.check", {"product": "e"}),
        ("kb.search", {"query": "refund"}),
        ("kb.search", {"query": "退款"}),
    ],
)
@pytest.mark.parametrize("asker", ["acme", "globex", "lantern"])
async def test_wide_questions_stay_within_the_tenant(
    reader: Registry, tool: str, arguments: dict[str, object], asker: str
) -> None:
    text = json.dumps(await invoke(reader, tool, call(asker), **arguments), ensure_ascii=False)
    own = WORLDS[asker]
    for other in sorted({"acme", "globex", "lantern"} - {asker}):
        assert other not in text.casefold()
        assert not [row["sku"] for row in WORLDS[other].products if str(row["sku"]) in text]
    if tool == "customers.find":
        names = {str(row["name"]) for row in own.customers}
        assert all(customer["name"] in names for customer in json.loads(text)["customers"])
    if tool == "kb.search":
        folder = catalog_directory({}) / "tenants" / asker / "handbook"
        written = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.md"))
        assert all(passage["text"] in written for passage in json.loads(text)["passages"])
