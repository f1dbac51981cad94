"""Which number is meant for which argument."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.offline.rules.numbers import assign, fitting
from agent.offline.rules.offer import offers
from agent.offline.rules.values import values
from tests.unit.offline.catalogue import ORDERS_GET, ORDERS_LIST, ORDERS_REFUND, ROOMS_BOOK, tool

INVOICE = tool("invoices_get", "Get an invoice.", {"invoice_id": {"type": "string"}}, required=["invoice_id"])


def assigned(schema: dict[str, Any], text: str, *, floor: float = 0.5) -> dict[str, str]:
    """The texts of the values by argument."""
    offer = offers([schema])[0]
    found = assign(offer, offer.arguments, text, values(text), floors=(floor, 0.9))
    return {name: value.text for name, value in found.items()}


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (ORDERS_REFUND, "refund 25 euros of order 1001", {"order": "1001", "amount": "25"}),
        (ORDERS_REFUND, "refund 25 on order 1001", {"order": "1001", "amount": "25"}),
        (ORDERS_REFUND, "order 1001, refund 25", {"order": "1001", "amount": "25"}),
        (ORDERS_REFUND, "refund 1003 20 euros", {"order": "1003", "amount": "20"}),
        (ORDERS_REFUND, "refund 20 of it", {"amount": "20"}),
        (ORDERS_REFUND, "refund order 20", {"order": "20"}),
        (ORDERS_REFUND, "refund #7, 3 euros", {"order": "7", "amount": "3"}),
        (ORDERS_REFUND, "请给订单1001退款50元", {"order": "1001", "amount": "50"}),
        (ORDERS_REFUND, "1001号订单退款 50 元", {"order": "1001", "amount": "50"}),
        (ORDERS_REFUND, "refund C-0042", {}),
        (ORDERS_GET, "where is 1001", {"number": "1001"}),
        (ORDERS_GET, "where is 7", {}),
        (ORDERS_GET, "where is order 7", {"number": "7"}),
        (ORDERS_GET, "order number: 7", {"number": "7"}),
        (ORDERS_GET, "I paid 1001 euros", {}),
        (ORDERS_GET, "order 10.5", {}),
        (ORDERS_LIST, "the last 3 orders", {"limit": "3"}),
        (ORDERS_LIST, "limit 5 please", {"limit": "5"}),
        (ORDERS_LIST, "order 5", {}),
        (ORDERS_LIST, "the last 300 orders", {}),
        (ORDERS_LIST, "call me in 5 minutes", {}),
        (ROOMS_BOOK, "a room for 4 people", {"seats": "4"}),
        (ROOMS_BOOK, "room 12 for 6", {"seats": "6"}),
        (INVOICE, "invoice INV-2026-3", {"invoice_id": "INV-2026-3"}),
        (INVOICE, "invoice 77", {"invoice_id": "77"}),
    ],
)
def test_numbers_go_where_the_words_beside_them_say(
    schema: dict[str, Any], text: str, expected: dict[str, str]
) -> None:
    assert assigned(schema, text) == expected


def test_lower_floor_takes_less_certain_numbers() -> None:
    assert assigned(ORDERS_GET, "it was 7", floor=0.25) == {"number": "7"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orders 1001 and 1002", ["1001", "1002"]),
        ("orders 1001, 1002 or #1003", ["1001", "1002", "1003"]),
        ("订单1001和1002", ["1001", "1002"]),
        ("order 1001 for 20 people", ["1001"]),
        ("the years 1001 and 1002", []),
    ],
)
def test_numbers_joined_to_a_certain_one_are_as_certain(text: str, expected: list[str]) -> None:
    offer = offers([ORDERS_GET])[0]

    found = fitting(offer, offer.arguments[0], text, values(text), floor=0.9)

    assert [value.text for value in found] == expected


@given(st.lists(st.integers(1, 99999), min_size=0, max_size=4, unique=True), st.data())
def test_no_value_is_used_twice_and_no_bound_is_broken(numbers: list[int], data: st.DataObject) -> None:
    words = [data.draw(st.sampled_from(["order", "refund", "for", "about", "euros"])) for _ in numbers]
    text = " ".join(f"{word} {number}" for word, number in zip(words, numbers, strict=True))

    found = assigned(ORDERS_REFUND, text, floor=0.1)

    assert len(set(found.values())) == len(found)
    assert set(found) <= {"order", "amount"}
    assert all(1 <= float(value) <= 2_000_000_000 for value in found.values())
