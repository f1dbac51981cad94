"""Which tool a text asks for."""

from __future__ import annotations

from typing import Any

import pytest

from agent.offline.rules.choice import addressed, asks, choose, consult
from agent.offline.rules.offer import offers
from tests.unit.offline.catalogue import KB_SEARCH, MEMORY_REMEMBER, OFFICE, ORDERS_REFUND, SHOP, tool


def chosen(text: str, tools: list[dict[str, Any]] = SHOP) -> str | None:
    """The name of the chosen tool."""
    choice = choose(text, among=offers(tools))
    return choice.offer.name if choice else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where is order 1001", "orders_get"),
        ("order 1001", "orders_get"),
        ("which orders has C-0001", "orders_list"),
        ("my orders", "orders_list"),
        ("my order", "orders_get"),
        ("refund please", "orders_refund"),
        ("who is customer C-0001", "customers_find"),
        ("kettles in stock", "stock_check"),
        ("the returns policy", "kb_search"),
        ("warranty", "kb_search"),
        ("the weather in Paris", None),
        ("hello there", None),
        ("1001", None),
        ("first", None),
        ("", None),
    ],
)
def test_tool_is_chosen_by_shared_words(text: str, expected: str | None) -> None:
    assert chosen(text) == expected


def test_words_that_all_tools_share_do_not_decide() -> None:
    tools = [
        tool(f"{name}_get", f"Get the {name} of a project.", {}, required=[])
        for name in ("budget", "members", "roadmap")
    ]

    assert chosen("the roadmap of the project", tools) == "roadmap_get"
    assert chosen("the project", tools) is None


def test_single_tool_needs_a_word_of_its_own_too() -> None:
    assert chosen("please refund order 1001", [ORDERS_REFUND]) == "orders_refund"
    assert chosen("what a nice day", [ORDERS_REFUND]) is None


def test_earlier_messages_supply_arguments_but_choose_no_tool() -> None:
    offered = offers(SHOP)

    assert choose("hello", among=offered, elsewhere=["where is order 1001"]) is None
    choice = choose("and its order status", among=offered, elsewhere=["where is order 1001"])
    assert choice is not None
    assert choice.filled.arguments == {"number": 1001}


@pytest.mark.parametrize(
    "text",
    [
        "how do refunds work",
        "is a refund possible",
        "what is a refund",
        "don't refund order 1001",
        "退款要多久",
    ],
)
def test_effect_is_not_chosen_for_an_open_question_or_against_the_word(text: str) -> None:
    assert chosen(text) != "orders_refund"


def test_effect_is_chosen_for_a_polite_question() -> None:
    assert chosen("Can you refund 20 euros of order 1001?") == "orders_refund"


def test_order_to_do_what_no_tool_does_chooses_none() -> None:
    assert chosen("cancel order 1001") is None
    assert chosen("取消订单1001") is None
    assert chosen("was order 1001 cancelled, please check order 1001") == "orders_get"


@pytest.mark.parametrize(
    ("text", "consulted"),
    [
        ("Who won the world cup?", True),
        ("how big is a pallet", True),
        ("怎么清洗毛巾？", True),
        ("What can you do?", False),
        ("When will it arrive?", False),
        ("What a mess!", False),
        ("I like tea", False),
        ("What?", False),
    ],
)
def test_open_questions_go_to_the_tool_that_answers_from_texts(text: str, *, consulted: bool) -> None:
    choice = consult(text, among=offers(SHOP))

    assert (choice.offer.name if choice else None) == ("kb_search" if consulted else None)
    assert choice is None or choice.filled.arguments == {"query": text}


def test_without_such_a_tool_nobody_is_asked() -> None:
    assert consult("Who won the world cup?", among=offers(OFFICE)) is None


def test_tool_that_keeps_texts_is_not_asked() -> None:
    keeper = tool("handbook_update", "Update the handbook.", {"text": {"type": "string"}}, required=["text"])

    assert consult("Who won the world cup?", among=offers([keeper, MEMORY_REMEMBER])) is None


def test_question_without_anything_to_look_for_is_not_asked() -> None:
    shelf = tool(
        "docs_open",
        "Open a document.",
        {"title": {"type": "string", "description": "Name."}},
        required=["title"],
    )

    assert consult("Which document?", among=offers([shelf])) is None
    assert consult("Which pallet?", among=offers([shelf, KB_SEARCH])) is not None


@pytest.mark.parametrize(
    ("text", "expected"), [("where is it", True), ("show it", True), ("查一下", True), ("it broke", False)]
)
def test_questions_and_orders_to_look_up_are_heard(text: str, *, expected: bool) -> None:
    assert asks(text) is expected


def test_model_is_addressed_in_both_languages() -> None:
    assert addressed("Who are you?")
    assert addressed("你能做什么？")
    assert not addressed("Who is she?")
