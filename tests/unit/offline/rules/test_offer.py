"""Offered tools as the rules see them."""

from __future__ import annotations

from typing import Any

import pytest

from agent.offline.rules.offer import Argument, Offer, offers
from tests.unit.offline.catalogue import (
    FLIGHTS_SEARCH,
    KB_SEARCH,
    ORDERS_GET,
    ORDERS_LIST,
    ORDERS_REFUND,
    RESULTS_FIND,
    RESULTS_READ,
    ROOMS_BOOK,
    SHOP,
    TRANSFER_TO_WRITER,
    tool,
)


def offer(schema: dict[str, Any]) -> Offer:
    """The one tool."""
    return offers([schema])[0]


def argument(name: str, **schema: Any) -> Argument:
    """One argument of a tool."""
    return offer(tool("things_do", "Do.", {name: schema}, required=[name])).arguments[0]


def test_offers_keep_the_order_and_the_arguments() -> None:
    assert [each.name for each in offers(SHOP)] == [
        "orders_get",
        "orders_list",
        "orders_refund",
        "customers_find",
        "stock_check",
        "kb_search",
    ]
    listed = offer(ORDERS_LIST)
    assert [(each.name, each.required) for each in listed.arguments] == [
        ("customer", True),
        ("status", False),
        ("limit", False),
    ]
    assert [each.name for each in listed.required] == ["customer"]


def test_a_tool_that_needs_the_id_of_a_call_goes_on_with_it() -> None:
    assert [each.continues for each in offers([RESULTS_READ, RESULTS_FIND])] == [True, True]
    assert not any(each.continues for each in offers(SHOP))
    optional = tool("phone_dial", "Dial.", {"call": {"type": "string"}}, required=[])
    assert not offer(optional).continues


def test_name_weighs_more_than_arguments_and_description() -> None:
    weights = offer(ORDERS_REFUND).weights

    assert weights["refund"] == weights["order"] == 3.0
    assert weights["amount"] == weights["reason"] == 1.0
    assert weights["customer"] == 1.0
    assert weights["decimal"] == 0.5


def test_verbs_of_reading_and_handing_over_are_no_content_of_a_name() -> None:
    assert offer(ORDERS_GET).named == {"order"}
    assert offer(ORDERS_GET).readings == {"get"}
    assert offer(TRANSFER_TO_WRITER).named == {"writer"}
    assert offer(KB_SEARCH).named == {"handbook"}
    assert offer(tool("search", "Search.", {}, required=[])).named == {"search"}


def test_verbs_of_acting_are_known() -> None:
    assert offer(ORDERS_REFUND).acts == {"refund"}
    assert offer(ROOMS_BOOK).acts == {"book"}
    assert offer(ORDERS_GET).acts == frozenset()


def test_docstring_verb_returns_is_not_taken_for_a_return_of_goods() -> None:
    described = offer(
        tool("weather", "Returns the weather. Returns policies are elsewhere.", {}, required=[])
    )
    about = offer(tool("kb", "Handbook on returns.", {}, required=[]))

    assert "return" not in described.weights
    assert "return" in about.weights


@pytest.mark.parametrize(
    ("name", "schema", "kind"),
    [
        ("number", {"type": "integer"}, "id"),
        ("order", {"type": "integer", "description": "Order number, its total does not matter."}, "id"),
        ("amount", {"type": "number"}, "money"),
        ("what", {"type": "number", "description": "The price to pay."}, "money"),
        ("seats", {"type": "integer"}, "count"),
        ("size", {"type": "integer"}, "count"),
        ("guests", {"type": "integer", "description": "How many come."}, "count"),
        ("day", {"type": "string", "format": "date"}, "date"),
        ("starts", {"type": "string", "format": "date-time"}, "date"),
        ("date", {"type": "string"}, "date"),
        ("until", {"type": "string"}, "date"),
        ("to", {"type": "string", "format": "email"}, "email"),
        ("email", {"type": "string"}, "email"),
        ("order_id", {"type": "string"}, "id"),
        ("customer", {"type": "string", "description": "Customer id, such as C-0001."}, "code"),
        ("customer", {"type": "string", "description": "Name or id, such as C-0001."}, "phrase"),
        ("customer", {"type": "string", "pattern": "^C-\\d{4}$"}, "code"),
        ("customer", {"type": "string", "examples": ["C-0001"]}, "code"),
        ("product", {"type": "string", "description": "SKU or product name."}, "phrase"),
        ("query", {"type": "string", "description": "What to look for, in plain words."}, "sentence"),
        ("query", {"type": "string", "description": "A name, an e-mail address or an id."}, "phrase"),
        ("reason", {"type": "string", "description": "Why, with the customer's name."}, "sentence"),
        ("city", {}, "phrase"),
        ("status", {"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}]}, "choice"),
        ("kind", {"const": "x"}, "choice"),
        ("urgent", {"type": "boolean"}, "flag"),
        ("tags", {"type": "array"}, "other"),
        ("where", {"type": "object"}, "other"),
    ],
)
def test_kind_of_an_argument_follows_type_name_and_description(
    name: str, schema: dict[str, Any], kind: str
) -> None:
    assert argument(name, **schema).kind == kind


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"description": "such as C-0001."}, "客户c-0042的", "c-0042"),
        ({"description": "such as C-0001."}, "ABC-0042", None),
        ({"pattern": "^[A-Z]{2}\\d{2}$"}, "take AB12 now", "AB12"),
        ({"pattern": "^[A-Z]{2}\\d{2}$"}, "take AB123 now", None),
        ({"examples": ["INV-2024-17"]}, "see INV-2026-3", "INV-2026-3"),
    ],
)
def test_shape_finds_values_like_the_example(schema: dict[str, Any], text: str, expected: str | None) -> None:
    shape = argument("code", type="string", **schema).shape

    assert shape is not None
    match = shape.search(text)
    assert (match[0] if match else None) == expected


@pytest.mark.parametrize(
    "schema", [{"description": "A name."}, {"pattern": "("}, {"description": "Say USA."}]
)
def test_without_a_usable_example_there_is_no_shape(schema: dict[str, Any]) -> None:
    assert argument("code", type="string", **schema).shape is None


def test_tool_without_parameters_or_description_is_fine() -> None:
    bare = offer({"type": "function", "function": {"name": "ping"}})

    assert (bare.arguments, bare.description, bare.named) == ((), "", {"ping"})


def test_descriptions_of_arguments_count() -> None:
    assert offer(FLIGHTS_SEARCH).weights["city"] == 1.0
    assert offer(FLIGHTS_SEARCH).weights["departure"] == 0.5
