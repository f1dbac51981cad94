"""Ten conversations on the shipped catalog with the offline model, in English and Chinese."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

import pytest

from tests.support.dialogue import Json, ask, new_thread
from tests.support.server import Server, assistant

pytestmark = [pytest.mark.anyio, pytest.mark.e2e]


def shop(running: Server, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows of the shop's database, read round the product."""
    with closing(sqlite3.connect(running.home / "shop.db")) as connection:
        return connection.execute(query, values).fetchall()


@dataclass(frozen=True)
class Heard:
    """What came of one question."""

    called: list[tuple[str, Json]]
    answer: str
    model: str


async def hear(running: Server, name: str, question: str, *, thread: str | None = None) -> Heard:
    client = running.client(name.split("/", maxsplit=1)[0], "eva")
    place = thread or await new_thread(client)
    messages = await ask(client, place, question, to=assistant(name))
    last_question = max(i for i, message in enumerate(messages) if message["type"] == "human")
    turn = messages[last_question + 1 :]
    called: list[tuple[str, Json]] = []
    for message in turn:
        calls: list[Json] = message.get("tool_calls") or []
        called += [(call["name"], call["args"]) for call in calls]
    return Heard(called, turn[-1]["content"], turn[-1]["response_metadata"]["model_name"])


ORDER = "SELECT status, carrier, tracking FROM orders WHERE tenant = ? AND number = ?"


@pytest.mark.parametrize(
    ("name", "question", "number"),
    [
        ("acme/support", "Where is order 1001?", 1001),
        ("lantern/support", "订单1003现在到哪里了？", 1003),
    ],
)
async def test_an_order_by_its_number(offline: Server, name: str, question: str, number: int) -> None:
    [(status, carrier, tracking)] = shop(offline, ORDER, name.split("/", maxsplit=1)[0], number)
    heard = await hear(offline, name, question)
    assert heard.called == [("orders_get", {"number": number})]
    assert str(number) in heard.answer
    assert status in heard.answer
    assert carrier in heard.answer
    assert tracking in heard.answer
    assert heard.model == "signalbox-offline"


@pytest.mark.parametrize(
    ("name", "question", "customer"),
    [
        ("globex/support", "Which orders does customer C-0007 have?", "C-0007"),
        ("lantern/support", "客户C-0009有哪些订单？", "C-0009"),
    ],
)
async def test_a_customers_orders(offline: Server, name: str, question: str, customer: str) -> None:
    rows = shop(
        offline,
        "SELECT number FROM orders WHERE tenant = ? AND customer = ? ORDER BY number DESC LIMIT 10",
        name.split("/", maxsplit=1)[0],
        customer,
    )
    assert rows
    heard = await hear(offline, name, question)
    assert heard.called == [("orders_list", {"customer": customer})]
    assert [str(number) in heard.answer for (number,) in rows] == [True] * len(rows)


REFUNDABLE = (
    "SELECT number FROM orders WHERE tenant = ? AND status = 'delivered' AND total_minor > 5000 "
    "AND number NOT IN (SELECT order_number FROM refunds WHERE tenant = ?) ORDER BY number LIMIT 1"
)


@pytest.mark.parametrize(
    ("name", "question", "minor"),
    [
        ("acme/support", "Please refund 20 euros of order {number}, the lid was cracked.", 2000),
        ("lantern/support", "请给订单{number}退款15元，杯子有裂纹。", 1500),
    ],
)
async def test_a_refund_is_written(offline: Server, name: str, question: str, minor: int) -> None:
    tenant = name.split("/", maxsplit=1)[0]
    [(number,)] = shop(offline, REFUNDABLE, tenant, tenant)
    heard = await hear(offline, name, question.format(number=number))
    [(tool, arguments)] = heard.called
    assert (tool, arguments["order"], arguments["amount"]) == ("orders_refund", number, minor / 100)
    rows = shop(
        offline, "SELECT amount_minor FROM refunds WHERE tenant = ? AND order_number = ?", tenant, number
    )
    assert rows == [(minor,)]
    assert str(number) in heard.answer


@pytest.mark.parametrize(
    ("name", "question", "citation", "fact"),
    [
        ("acme/handbook", "How long can I return a product?", "[returns.md#return-period]", "30 days"),
        ("acme/handbook", "退货期限是多久？", "[returns.zh.md#退货期限]", "30 天"),
    ],
)
async def test_a_handbook_question_is_answered_with_its_citation(
    offline: Server, name: str, question: str, citation: str, fact: str
) -> None:
    heard = await hear(offline, name, question)
    assert [tool for tool, _ in heard.called] == ["kb_search"]
    assert citation in heard.answer
    assert fact in heard.answer


@pytest.mark.parametrize(
    ("name", "question", "greeting"),
    [("globex/support", "Hi, how are you?", "Hello"), ("lantern/support", "你好！", "你好")],
)
async def test_small_talk_needs_no_tool(offline: Server, name: str, question: str, greeting: str) -> None:
    heard = await hear(offline, name, question)
    assert heard.called == []
    assert heard.answer.startswith(greeting)


async def test_a_refund_that_needs_a_person_is_paid_after_the_approval_and_not_before(
    offline: Server,
) -> None:
    (number,) = shop(
        offline,
        "SELECT number FROM orders WHERE tenant = 'acme' AND status = 'delivered' AND total_minor > 15000 "
        "AND number NOT IN (SELECT order_number FROM refunds WHERE tenant = 'acme') ORDER BY number DESC",
    )[0]
    client = offline.client("acme", "eva")
    thread = await new_thread(client)
    question = f"Please refund 120 euros of order {number}, it is broken."
    heard = await hear(offline, "acme/support", question, thread=thread)
    assert [tool for tool, _ in heard.called] == ["orders_refund"]
    paid = "SELECT amount_minor FROM refunds WHERE tenant = 'acme' AND order_number = ?"
    assert shop(offline, paid, number) == []
    async with offline.http("acme", "bob", "approver") as approver:
        found = (await approver.get("/ops/approvals", params={"thread": thread})).json()["approvals"]
        assert [(one["tool"], one["requester"], one["state"]) for one in found] == [
            ("orders.refund", "acme/eva", "pending")
        ]
        answer = await approver.post(f"/ops/approvals/{found[0]['id']}", json={"decision": "approve"})
    assert answer.status_code == 200
    joined = cast("Json", client.runs.join)
    values = await joined(thread, answer.json()["run"])
    assert shop(offline, paid, number) == [(12_000,)]
    assert str(number) in values["messages"][-1]["content"]


async def test_a_second_turn_remembers_the_order(offline: Server) -> None:
    client = offline.client("acme", "eva")
    thread = await new_thread(client)
    [(number,)] = shop(offline, REFUNDABLE, "acme", "acme")
    await hear(offline, "acme/support", f"Where is order {number}?", thread=thread)
    heard = await hear(offline, "acme/support", "Please refund 5 euros of it, it came late.", thread=thread)
    [(tool, arguments)] = heard.called
    assert (tool, arguments["order"], arguments["amount"]) == ("orders_refund", number, 5)


async def test_a_tenant_asks_for_an_order_that_only_another_has(offline: Server) -> None:
    [(number,)] = shop(offline, "SELECT max(number) FROM orders WHERE tenant = 'acme'")
    rows = shop(offline, "SELECT 1 FROM orders WHERE tenant = 'globex' AND number = ?", number + 5000)
    assert rows == []
    heard = await hear(offline, "globex/support", f"Where is order {number + 5000}?")
    assert heard.called == [("orders_get", {"number": number + 5000})]
    assert "unknown" in heard.answer
    assert "acme" not in json.dumps([heard.called, heard.answer])
