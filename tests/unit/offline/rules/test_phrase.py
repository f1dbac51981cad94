"""Free text for arguments."""

from __future__ import annotations

from typing import Any

import pytest

from agent.offline.rules.offer import offers
from agent.offline.rules.phrase import named_thing, sentence
from agent.offline.rules.values import values
from tests.unit.offline.catalogue import (
    CUSTOMERS_FIND,
    FLIGHTS_SEARCH,
    KB_SEARCH,
    MEMORY_REMEMBER,
    ORDERS_REFUND,
    ROOMS_BOOK,
    STOCK_CHECK,
    WEATHER_FORECAST,
)


def thing(schema: dict[str, Any], text: str, *, argument: int = 0) -> str | None:
    """What the text names for one argument."""
    offer = offers([schema])[0]
    return named_thing(offer, offer.arguments[argument], text, values(text))


def said(schema: dict[str, Any], text: str, *, argument: int = 0) -> str:
    """The part of the text for one argument."""
    offer = offers([schema])[0]
    return sentence(offer, offer.arguments[argument], text, values(text))


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (STOCK_CHECK, "Is the blue kettle in stock?", "blue kettle"),
        (STOCK_CHECK, "Do you have any Kettle Pro 2 left?", "Kettle Pro 2"),
        (STOCK_CHECK, "How many espresso machines are in the warehouse?", "espresso machines"),
        (STOCK_CHECK, "蓝色水壶还有库存吗", "蓝色水壶"),
        (STOCK_CHECK, "Is it in stock?", None),
        (CUSTOMERS_FIND, "Who is customer Jane Miller?", "Jane Miller"),
        (CUSTOMERS_FIND, "find the customer from berlin", "berlin"),
        (CUSTOMERS_FIND, "查一下客户李雷", "李雷"),
        (ROOMS_BOOK, "Book the Einstein room for 4 people on 2026-05-01", "Einstein"),
        (ROOMS_BOOK, "Book for 20 euros", None),
        (WEATHER_FORECAST, "What's the weather in New York?", "New York"),
    ],
)
def test_thing_is_what_is_left_beside_the_words_of_the_tool(
    schema: dict[str, Any], text: str, expected: str | None
) -> None:
    assert thing(schema, text) == expected


@pytest.mark.parametrize("text", ["flights from Berlin to Rome", "flights to Rome from Berlin"])
def test_origin_and_destination_follow_their_prepositions(text: str) -> None:
    assert thing(FLIGHTS_SEARCH, text, argument=0) == "Berlin"
    assert thing(FLIGHTS_SEARCH, text, argument=1) == "Rome"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How long is the warranty?", "How long is the warranty?"),
        ("and then tell me how long the warranty is", "how long the warranty is"),
        ("What does the handbook say about returns?", "returns"),
        ("手册里关于退货怎么说？", "退货"),
        ("关于保修的规定是什么？", "关于保修的规定是什么？"),
        ("退货政策是什么？", "退货政策是什么？"),
    ],
)
def test_query_is_the_question_or_the_topic_when_the_tool_is_named(text: str, expected: str) -> None:
    assert said(KB_SEARCH, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Refund 20 of order 1001 because it was late.", "it was late"),
        ("Refund 20, the reason is that the lid cracked", "the lid cracked"),
        ("退款20元，因为商品破损。", "商品破损"),
        ("Please refund 20 of order 1001", "refund 20 of order 1001"),
    ],
)
def test_reason_is_what_follows_because_or_else_all(text: str, expected: str) -> None:
    assert said(ORDERS_REFUND, text, argument=2) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Remember that I like tea.", "I like tea"),
        ("Please remember: I like tea", "I like tea"),
        ("记住我喜欢茶", "我喜欢茶"),
        ('Remember "tea, no sugar" for me', "tea, no sugar"),
        ("I like tea, remember that", "I like tea, remember that"),
        ("Remember", "Remember"),
    ],
)
def test_what_is_to_be_kept_is_told_without_the_order_to_keep_it(text: str, expected: str) -> None:
    assert said(MEMORY_REMEMBER, text) == expected
