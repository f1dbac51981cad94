"""Answers from tool results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.offline.rules.answer import answer
from agent.offline.rules.turn import Result


def told(data: object, *, tool: str = "orders_get", arguments: str = "{}", tongue: Any = "en") -> str:
    """What one result says."""
    text = data if isinstance(data, str) else json.dumps(data)
    return answer([Result(tool, arguments, text)], tongue=tongue)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"number": 1001, "status": "shipped"}, "Order 1001: status shipped"),
        ({"id": "C-1", "name": "Jane"}, "Order C-1: name Jane"),
        ({"sku": "KT-200", "available": 3}, "SKU KT-200: available 3"),
        ({"customer": "C-1", "since": 2020}, "Customer C-1: since 2020"),
        ({"number": 1, "total": 84.9, "currency": "EUR"}, "Order 1: total 84.90 EUR"),
        ({"number": 1, "total": "84.90", "currency": "EUR"}, "Order 1: total 84.90 EUR"),
        ({"currency": "EUR", "rate": 1.1}, "currency EUR, rate 1.1"),
        ({"number": 1, "paid": True, "late": False}, "Order 1: paid yes, late no"),
        ({"number": 1, "note": None, "tags": [], "text": ""}, "Order 1"),
        ({"number": 1, "tags": ["a", "b"]}, "Order 1: tags a, b"),
        ({"number": 1, "items": [{"name": "Kettle", "quantity": 2}]}, "Order 1: items 2 × Kettle"),
        ({"number": 1, "customer": {"id": "C-1", "name": "Jane"}}, "Order 1: customer Jane (C-1)"),
        ({"number": 1, "ship_to": {"city": "Bonn", "zip": 53111}}, "Order 1: ship to (city Bonn, zip 53111)"),
        ({"number": 1, "to": {"name": "Jane", "city": "Bonn"}}, "Order 1: to (name Jane, city Bonn)"),
        ({"number": 1, "boxes": [{"sku": "K", "count": 0}]}, "Order 1\n- SKU K: count 0"),
        ({"days": 3}, "days 3"),
        ("Shipped yesterday.", "Shipped yesterday."),
        ("42", "42"),
        (["a", "b"], "- a\n- b"),
        ({"number": 1, "sizes": [{"size": "L", "left": 3}]}, "Order 1: sizes (size L, left 3)"),
        (True, "yes"),
    ],
)
def test_fields_are_told_readably(data: object, expected: str) -> None:
    assert told(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"text": "30 days.", "citation": "returns.md#exchange"}, "30 days. [returns.md#exchange]"),
        ({"content": "30 days.", "source": "[r.md]"}, "30 days. [r.md]"),
        (
            {"results": [{"text": "A.", "citation": "a.md"}, {"text": "B.", "citation": "b.md"}]},
            "- A. [a.md]\n- B. [b.md]",
        ),
        ([{"snippet": "A.", "url": "https://example.com/a"}], "- A. [https://example.com/a]"),
    ],
)
def test_passages_keep_their_citation(data: object, expected: str) -> None:
    assert told(data) == expected


def test_table_is_told_row_by_row_without_what_was_asked() -> None:
    data = {
        "query": "jane",
        "customers": [{"id": "C-1", "name": "Jane"}, {"id": "C-2", "name": "Janet"}],
        "more": False,
        "found": 2,
    }

    assert told(data, tool="customers_find", arguments='{"query": "jane"}') == (
        "found 2\n- Customer C-1: name Jane\n- Customer C-2: name Janet"
    )


def test_table_below_a_thing_keeps_its_heading() -> None:
    data = {"customer": "C-1", "orders": [{"order": 7, "status": "paid"}]}

    assert told(data, tool="orders_list") == "Customer C-1\n- Order 7: status paid"


def test_long_lists_and_texts_are_cut_and_say_so() -> None:
    many = told([{"number": number} for number in range(13)])
    long = told("word " * 400)

    assert many.count("\n") == 10
    assert many.endswith("- Order 9\n… and 3 more.")
    assert long.endswith("word …")
    assert len(long) < 710


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"error": "tool_failed", "message": "Order 9 is unknown."}, "failed: Order 9 is unknown."),
        ({"error": "denied", "message": "Not for you."}, "was refused: Not for you."),
        ({"error": {"message": "boom", "code": 3}}, "failed: boom"),
        ({"error": "boom"}, "failed: boom"),
        ({"status": "rejected", "reason": "too much"}, "was refused: too much"),
        ({"status": "failed"}, "failed: {'status': 'failed'}"),
        ("Error: no connection", "failed: Error: no connection"),
        ("The call timed out after 10 s", "failed: The call timed out after 10 s"),
        ("The user rejected this call.", "was refused: The user rejected this call."),
        ("不允许退款", "was refused: 不允许退款"),
    ],
)
def test_errors_and_refusals_are_admitted(data: object, expected: str) -> None:
    assert told(data) == f"The call of orders_get {expected}"


def test_failed_text_deep_in_a_result_is_no_error() -> None:
    data = {"text": "If a refund was refused, ask again.", "citation": "a.md"}

    assert told(data) == "If a refund was refused, ask again. [a.md]"


@pytest.mark.parametrize(
    "data",
    ["", "[]", "{}", "null", {"query": "x", "results": []}, {"results": [], "count": 0}, "No results found."],
)
def test_emptiness_is_admitted(data: object) -> None:
    assert told(data, arguments='{"query": "x"}') == "orders_get found nothing for x."


def test_thing_with_an_empty_list_is_not_empty() -> None:
    assert told({"number": 1, "refunds": []}) == "Order 1"


def test_emptiness_without_arguments_is_admitted() -> None:
    assert told([]) == "orders_get found nothing for —."


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"number": 1, "status": "paid", "total": "5.00 EUR"}, "订单 1：状态 paid，总额 5.00 EUR"),
        ({"number": 1, "odd_field": True}, "订单 1：odd_field 是"),
        ({"sku": "K", "available": 2}, "货号 K：可用 2"),
        ({"error": "x", "message": "没有库存"}, "orders_get 的调用失败：没有库存"),
        ({"error": "denied", "message": "no"}, "orders_get 的调用被拒绝：no"),
        ([], "orders_get 没有找到结果（—）。"),
        ([{"number": number} for number in range(11)][-11:], None),
    ],
)
def test_chinese_answers_have_chinese_labels(data: object, expected: str | None) -> None:
    text = told(data, tongue="zh")

    assert text == expected or (expected is None and text.endswith("……还有 1 条。"))


def test_results_are_paragraphs_and_equal_ones_are_told_once() -> None:
    result = Result("orders_get", "{}", '{"number": 1}')

    assert answer([result, Result("kb_search", "{}", "text"), result], tongue="en") == "Order 1\n\ntext"
    assert answer([], tongue="en") == ""
