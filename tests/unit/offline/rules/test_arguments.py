"""Arguments of a call, found in what was said."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.offline.rules.arguments import Filled, fill, option
from agent.offline.rules.offer import offers
from tests.unit.offline.catalogue import (
    CUSTOMERS_FIND,
    FLIGHTS_SEARCH,
    KB_SEARCH,
    ORDERS_GET,
    ORDERS_LIST,
    ORDERS_REFUND,
    ROOMS_BOOK,
    tool,
)

TODAY = date(2026, 4, 1)


def filled(schema: dict[str, Any], text: str, **options: Any) -> Filled:
    """The arguments found for one tool."""
    return fill(offers([schema])[0], text, today=TODAY, **options)


def missing(found: Filled) -> list[str]:
    """Names of the missing arguments."""
    return [argument.name for argument in found.missing]


def test_arguments_are_counted_by_how_certain_they_are() -> None:
    found = filled(ORDERS_REFUND, "Refund 25 euros of order 1001")

    assert found.arguments == {"order": 1001, "amount": 25, "reason": "Refund 25 euros of order 1001"}
    assert (missing(found), found.certain, found.remembered) == ([], 2, 0)


def test_missing_arguments_are_looked_for_elsewhere_the_nearest_first() -> None:
    found = filled(
        ORDERS_REFUND, "refund 20 of it", elsewhere=["what about order 1003", "where is order 1001"]
    )

    assert found.arguments == {"order": 1003, "amount": 20, "reason": "refund 20 of it"}
    assert (missing(found), found.certain, found.remembered) == ([], 1, 1)


def test_uncertain_numbers_elsewhere_are_not_taken() -> None:
    assert missing(filled(ORDERS_GET, "where is it", elsewhere=["I was born in 1985"])) == ["number"]


def test_free_text_elsewhere_is_not_taken() -> None:
    assert missing(filled(CUSTOMERS_FIND, "find", elsewhere=["a blue kettle"])) == ["query"]


def test_known_arguments_stay() -> None:
    found = filled(ORDERS_REFUND, "25 euros", known={"order": 1003, "reason": "late"}, asked=True)

    assert found.arguments == {"order": 1003, "amount": 25, "reason": "late"}


def test_bare_number_answers_a_question() -> None:
    assert missing(filled(ORDERS_GET, "7")) == ["number"]
    assert filled(ORDERS_GET, "7", asked=True).arguments == {"number": 7}


def test_arguments_come_in_the_order_of_the_schema() -> None:
    found = filled(ORDERS_REFUND, "because of rust: 20 euros for order 1001")

    assert list(found.arguments) == ["order", "amount", "reason"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orders of C-0007", {"customer": "C-0007"}),
        ("shipped orders of C-0007", {"customer": "C-0007", "status": "shipped"}),
        ("C-0007 的已取消订单", {"customer": "C-0007", "status": "cancelled"}),
        ("the last 3 orders of C-0007", {"customer": "C-0007", "limit": 3}),
    ],
)
def test_optional_arguments_are_filled_when_they_are_clearly_stated(
    text: str, expected: dict[str, Any]
) -> None:
    assert filled(ORDERS_LIST, text).arguments == expected


@pytest.mark.parametrize(
    ("schema", "text", "more"),
    [
        (ORDERS_GET, "orders 1001 and 1002", (1002,)),
        (ORDERS_GET, "order 1001", ()),
        (ORDERS_LIST, "orders of C-0001 and C-0002", ("C-0002",)),
        (ORDERS_REFUND, "refund 20 euros of orders 1001 and 1002", ()),
        (KB_SEARCH, "returns and warranty", ()),
    ],
)
def test_further_values_are_kept_for_the_only_required_argument_of_a_reading_tool(
    schema: dict[str, Any], text: str, more: tuple[Any, ...]
) -> None:
    assert filled(schema, text).more == more


def test_number_for_a_text_argument_stays_text() -> None:
    invoice = tool(
        "invoices_get", "Get an invoice.", {"invoice_id": {"type": "string"}}, required=["invoice_id"]
    )

    assert filled(invoice, "invoice 0077").arguments == {"invoice_id": "0077"}


def test_two_phrases_do_not_share_their_words() -> None:
    found = filled(FLIGHTS_SEARCH, "flights Berlin, Rome, tomorrow")

    assert found.arguments == {"origin": "Berlin", "destination": "Rome", "date": "2026-04-02"}


def test_values_of_one_kind_are_dealt_out_in_order() -> None:
    stay = tool(
        "stays_find",
        "Find a stay.",
        {"start": {"type": "string", "format": "date"}, "end": {"type": "string", "format": "date"}},
        required=["start", "end"],
    )

    found = filled(stay, "a stay from 2026-05-01 to 2026-05-03")

    assert found.arguments == {"start": "2026-05-01", "end": "2026-05-03"}


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"type": "boolean"}, "make it urgent", True),
        ({"type": "string", "format": "email"}, "to jane@example.com", "jane@example.com"),
        ({"type": "string", "const": "x"}, "anything", "x"),
        ({"type": "string", "enum": ["low", "urgent"]}, "it is urgent", "urgent"),
        ({"type": "string", "description": "Name."}, 'called "Big Box"', "Big Box"),
        (
            {"type": "string", "description": "A name or an e-mail."},
            "of jane@example.com",
            "jane@example.com",
        ),
        ({"type": "string", "description": "SKU."}, "take KT-200 please", "KT-200"),
    ],
)
def test_each_kind_of_argument_is_found(schema: dict[str, Any], text: str, expected: object) -> None:
    found = filled(tool("things_make", "Make.", {"urgent": schema}, required=["urgent"]), text)

    assert found.arguments == {"urgent": expected}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "boolean"},
        {"type": "array"},
        {"type": "string", "enum": ["red"]},
        {"type": "string", "format": "date"},
        {"type": "string", "description": "Such as C-0001."},
    ],
)
def test_what_is_not_said_is_missing(schema: dict[str, Any]) -> None:
    assert missing(filled(tool("x_make", "Make.", {"thing": schema}, required=["thing"]), "please do")) == [
        "thing"
    ]


def test_optional_free_text_is_filled_only_when_its_name_is_said() -> None:
    noted = tool(
        "orders_hold", "Hold.", {"note": {"type": "string"}, "order": {"type": "integer"}}, required=["order"]
    )

    assert filled(noted, "order 1001").arguments == {"order": 1001}
    assert filled(noted, "order 1001, note: fragile").arguments == {
        "note": "order 1001, note: fragile",
        "order": 1001,
    }


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        (["open", "shipped"], "all shipped ones", "shipped"),
        (["open", "shipped"], "已发货的", "shipped"),
        (["in_stock", "sold_out"], "everything sold out", "sold_out"),
        (["A1", "B2"], "take b2", "B2"),
        ([1, 2, 3], "number 2", 2),
        (["", "x"], "nothing", None),
        (["ship"], "shipped", None),
        ([], "x", None),
    ],
)
def test_option_is_named_by_its_words_or_its_concept(options: list[Any], text: str, expected: object) -> None:
    assert option(options, text) == expected


@given(
    order=st.integers(1, 10**7),
    cents=st.integers(1, 10**6),
    frame=st.sampled_from(
        [
            "Refund {amount} euros of order {order}",
            "order #{order}: refund {amount} EUR",
            "I want ${amount} back for order number {order}",
            "请给订单{order}退款{amount}元",
            "refund €{amount} on order {order}, it is broken",
        ]
    ),
)
def test_every_order_and_amount_is_told_apart(order: int, cents: int, frame: str) -> None:
    amount = cents / 100

    found = filled(ORDERS_REFUND, frame.format(order=order, amount=f"{amount:.2f}"))

    assert found.arguments["order"] == order
    assert found.arguments["amount"] == amount
    assert isinstance(found.arguments["order"], int)
    assert missing(found) == []


@given(st.text(max_size=60))
def test_whatever_is_said_the_arguments_fit_their_types(text: str) -> None:
    arguments = filled(ROOMS_BOOK, text).arguments

    assert isinstance(arguments.get("room", ""), str)
    assert 1 <= arguments.get("seats", 1) <= 40
    assert isinstance(arguments.get("seats", 1), int)
    assert arguments.get("room") != ""
    if "day" in arguments:
        assert date.fromisoformat(arguments["day"])
