"""The order tools give readable facts, and refund once for each call."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime
from typing import Any

import pytest
from pydantic import ValidationError

from agent.tools.registry import Registry
from tests.unit.tools.invoking import call, failure, invoke

pytestmark = pytest.mark.anyio


class TestGet:
    async def test_an_order_is_told_in_words_and_amounts(self, reader: Registry) -> None:
        assert await invoke(reader, "orders.get", number=1042) == {
            "order": 1042,
            "status": "delivered",
            "placed_on": "2026-05-11",
            "promised_on": "2026-05-13",
            "shipped_on": "2026-05-13",
            "delivered_on": "2026-05-14",
            "days_late": 1,
            "total": "390.60 EUR",
            "refunded": "0.00 EUR",
            "customer": {"id": "C-0011", "name": "Halina Wrzosek"},
            "carrier": "DPD",
            "tracking": "DPD2911137211",
            "lines": [
                {
                    "sku": "ACM-VAC-01",
                    "product": "Cordless vacuum Sturm, basic",
                    "quantity": 1,
                    "unit_price": "229.90 EUR",
                    "sum": "229.90 EUR",
                },
                {
                    "sku": "ACM-TOA-02",
                    "product": "Toaster Lamina, cream",
                    "quantity": 2,
                    "unit_price": "59.90 EUR",
                    "sum": "119.80 EUR",
                },
                {
                    "sku": "ACM-BOA-03",
                    "product": "Chopping board Buche, large",
                    "quantity": 1,
                    "unit_price": "40.90 EUR",
                    "sum": "40.90 EUR",
                },
            ],
            "shipping": "0.00 EUR",
            "refundable": "390.60 EUR",
        }

    async def test_an_order_under_way_says_what_is_not_known_yet(self, reader: Registry) -> None:
        order = await invoke(reader, "orders.get", number=1682)
        assert order["status"] == "placed"
        assert (order["shipped_on"], order["delivered_on"]) == (None, None)
        assert (order["carrier"], order["tracking"]) == (None, None)

    @pytest.mark.parametrize(("number", "status"), [(1682, "placed"), (1031, "cancelled")])
    async def test_nothing_is_refundable_when_nothing_was_paid(
        self, reader: Registry, number: int, status: str
    ) -> None:
        order = await invoke(reader, "orders.get", number=number)
        assert order["status"] == status
        assert order["refundable"] == "0.00 EUR"
        assert order["total"] != "0.00 EUR"

    async def test_a_refund_shows_in_what_is_left(self, registry: Registry) -> None:
        await invoke(registry, "orders.refund", order=1042, amount=90.6, reason="arrived late")
        order = await invoke(registry, "orders.get", number=1042)
        assert (order["refunded"], order["refundable"]) == ("90.60 EUR", "300.00 EUR")

    async def test_the_currency_is_the_tenants(self, reader: Registry) -> None:
        totals = [
            (await invoke(reader, "orders.get", call(tenant), number=1042))["total"]
            for tenant in ("acme", "globex", "lantern")
        ]
        assert totals == ["390.60 EUR", "250.90 USD", "486.00 CNY"]

    async def test_an_unknown_number_is_named_with_what_to_do(self, reader: Registry) -> None:
        said = await failure(reader, "orders.get", number=4711)
        assert said.startswith("Order 4711 is unknown.")
        assert "orders.list" in said

    @pytest.mark.parametrize("number", [0, -1, 2_000_000_001, 10**30, "abc", 1.5, None])
    async def test_what_is_no_number_of_an_order_does_not_reach_the_shop(
        self, reader: Registry, number: object
    ) -> None:
        with pytest.raises(ValidationError):
            await invoke(reader, "orders.get", number=number)


class TestList:
    async def test_a_customers_orders_come_newest_first(self, reader: Registry) -> None:
        listed = await invoke(reader, "orders.list", customer="C-0011")
        assert listed["customer"] == "C-0011"
        numbers = [order["order"] for order in listed["orders"]]
        assert 1042 in numbers
        assert numbers == sorted(numbers, reverse=True)
        [order] = [order for order in listed["orders"] if order["order"] == 1042]
        assert order["total"] == "390.60 EUR"
        assert order["products"] == [
            "1 x Cordless vacuum Sturm, basic",
            "2 x Toaster Lamina, cream",
            "1 x Chopping board Buche, large",
        ]
        assert "lines" not in order

    @pytest.mark.parametrize("customer", ["C-0011", "c-0011", " C-0011 "])
    async def test_an_id_may_be_typed_carelessly(self, reader: Registry, customer: str) -> None:
        listed = await invoke(reader, "orders.list", customer=customer)
        assert listed["customer"] == "C-0011"

    async def test_a_state_narrows_the_list(self, reader: Registry) -> None:
        listed = await invoke(reader, "orders.list", customer="C-0011", status="delivered")
        assert listed["orders"]
        assert {order["status"] for order in listed["orders"]} == {"delivered"}

    async def test_the_limit_keeps_the_newest_and_is_ten_by_default(self, reader: Registry) -> None:
        every = await invoke(reader, "orders.list", customer="C-0130", limit=50)
        assert len(every["orders"]) == 10
        few = await invoke(reader, "orders.list", customer="C-0130", limit=3)
        assert few["orders"] == every["orders"][:3]
        tool = reader.get("orders.list")
        assert tool is not None
        assert tool.arguments.model_fields["limit"].default == 10

    async def test_an_unknown_customer_is_named_with_what_to_do(self, reader: Registry) -> None:
        said = await failure(reader, "orders.list", customer="Müller")
        assert "'Müller' is unknown" in said
        assert "customers.find" in said

    async def test_a_known_customer_without_such_orders_is_told_apart(self, reader: Registry) -> None:
        said = await failure(reader, "orders.list", customer="C-0011", status="placed")
        assert said == "Customer C-0011 has no order in state 'placed'."

    @pytest.mark.parametrize(
        "arguments",
        [{"customer": ""}, {"customer": "x" * 41}, {}, {"customer": "C-0011", "status": "lost"}]
        + [{"customer": "C-0011", "limit": limit} for limit in (0, 51, -1)]
        + [{"customer": "C-0011", "tenant": "globex"}],
    )
    async def test_other_arguments_do_not_reach_the_shop(
        self, reader: Registry, arguments: dict[str, object]
    ) -> None:
        with pytest.raises(ValidationError):
            await invoke(reader, "orders.list", **arguments)


class TestRefund:
    async def test_a_refund_gives_its_row(self, registry: Registry) -> None:
        before = datetime.now().astimezone()
        row = await invoke(registry, "orders.refund", order=1042, amount=84.9, reason="  arrived\nlate ")
        recorded_at = datetime.fromisoformat(row.pop("recorded_at"))
        assert (recorded_at - before).total_seconds() > -1
        assert recorded_at.utcoffset() is not None
        assert row.pop("refund").startswith("R-")
        assert row == {"outcome": "created", "order": 1042, "amount": "84.90 EUR", "reason": "arrived late"}

    async def test_the_same_call_is_carried_out_once(self, registry: Registry) -> None:
        first = await invoke(registry, "orders.refund", order=1042, amount=84.9, reason="arrived late")
        again = await invoke(registry, "orders.refund", order=1042, amount=84.9, reason="arrived late")
        assert again == first | {"outcome": "already_recorded"}
        assert (await invoke(registry, "orders.get", number=1042))["refunded"] == "84.90 EUR"

    async def test_another_call_is_another_refund(self, registry: Registry) -> None:
        for by in (call(call_id="c1"), call(call_id="c2"), call(thread="t2")):
            row = await invoke(registry, "orders.refund", by, order=1042, amount=10, reason="arrived late")
            assert row["outcome"] == "created"
        assert (await invoke(registry, "orders.get", number=1042))["refunded"] == "30.00 EUR"

    async def test_the_same_call_with_another_amount_is_refused(self, registry: Registry) -> None:
        await invoke(registry, "orders.refund", order=1042, amount=10, reason="arrived late")
        said = await failure(registry, "orders.refund", order=1042, amount=11, reason="arrived late")
        assert said.startswith("Nothing more was refunded.")
        assert (await invoke(registry, "orders.get", number=1042))["refunded"] == "10.00 EUR"

    @pytest.mark.parametrize(
        ("arguments", "part"),
        [
            ({"order": 1042, "amount": 390.61}, "390.60 EUR of 390.60 EUR"),
            ({"order": 1042, "amount": 1.001}, "more than 2 decimals"),
            ({"order": 1682, "amount": 1}, "'placed'"),
            ({"order": 1031, "amount": 1}, "'cancelled'"),
            ({"order": 4711, "amount": 1}, "Order 4711 is unknown"),
        ],
    )
    async def test_a_refusal_says_why_and_changes_nothing(
        self, registry: Registry, arguments: dict[str, object], part: str
    ) -> None:
        said = await failure(registry, "orders.refund", **arguments, reason="arrived late")
        assert said.startswith("Nothing more was refunded.")
        assert part in said
        row = await invoke(registry, "orders.refund", order=1042, amount=390.60, reason="arrived late")
        assert row["outcome"] == "created"

    @pytest.mark.parametrize(
        "arguments",
        [{"amount": amount} for amount in (0, -1, float("nan"), float("inf"), 1_000_001, "ten", None)]
        + [{"reason": reason} for reason in ("", "no", "x" * 501, None)]
        + [{"order": 0}, {"key": "mine"}, {"tenant": "globex"}, {"call": {"tenant": "globex"}}],
    )
    async def test_other_arguments_do_not_reach_the_shop(
        self, registry: Registry, arguments: dict[str, object]
    ) -> None:
        valid: dict[str, object] = {"order": 1042, "amount": 1.0, "reason": "arrived late"}
        with pytest.raises(ValidationError):
            await invoke(registry, "orders.refund", **(valid | arguments))

    async def test_calls_at_once_never_exceed_the_order(self, registry: Registry) -> None:
        async def attempt(index: int) -> str:
            arguments: dict[str, Any] = {"order": 1042, "amount": 100, "reason": "arrived late"}
            by = call(call_id=f"c{index}")
            try:
                return (await invoke(registry, "orders.refund", by, **arguments))["outcome"]
            except Exception as error:  # noqa: BLE001 - counted below by its type
                return type(error).__name__

        outcomes = Counter(await asyncio.gather(*(attempt(index) for index in range(8))))
        assert outcomes == {"created": 3, "ToolFailure": 5}
        assert (await invoke(registry, "orders.get", number=1042))["refundable"] == "90.60 EUR"
