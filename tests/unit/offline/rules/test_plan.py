"""What to call for a message, part by part."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.offline.rules.offer import offers
from agent.offline.rules.plan import Step, finder, once, plan, supply
from agent.offline.rules.turn import Human, Result
from tests.unit.offline.catalogue import ORDERS_GET, ORDERS_LIST, ORDERS_REFUND, SHOP, STOCK_CHECK

OFFERS = offers(SHOP)


def planned(*texts: str | Human) -> list[tuple[str, dict[str, Any], list[str]]]:
    """The steps for the last of some messages: tool, arguments, what is missing."""
    humans = [text if isinstance(text, Human) else Human(text) for text in texts]
    return [
        (step.offer.name, dict(step.arguments), [argument.name for argument in step.missing])
        for step in plan(humans, among=OFFERS)
    ]


def step(schema: dict[str, Any], arguments: dict[str, Any]) -> Step:
    """A step of one tool, with what it lacks."""
    offer = offers([schema])[0]
    return Step(offer, arguments, tuple(each for each in offer.required if each.name not in arguments))


def test_nothing_is_planned_without_a_message_or_without_tools() -> None:
    assert plan([], among=OFFERS) == []
    assert plan([Human("Where is order 1001?")], among=[]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Where is order 1001? How long is the warranty?",
            [("orders_get", {"number": 1001}), ("kb_search", {"query": "How long is the warranty?"})],
        ),
        (
            "订单1001在哪里，退货政策是什么？",
            [("orders_get", {"number": 1001}), ("kb_search", {"query": "退货政策是什么？"})],
        ),
        (
            "Show the orders of C-0001 and also of C-0002",
            [("orders_list", {"customer": "C-0001"}), ("orders_list", {"customer": "C-0002"})],
        ),
        (
            "Please check order 1001. Then refund 10 euros because the lid was cracked.",
            [
                ("orders_get", {"number": 1001}),
                ("orders_refund", {"order": 1001, "amount": 10, "reason": "the lid was cracked"}),
            ],
        ),
        (
            "Hi there! I hope you are well. Where is order 1001? Thanks!",
            [("orders_get", {"number": 1001})],
        ),
        (
            "What a mess! Please refund 20 of order 1001",
            [
                (
                    "orders_refund",
                    {"order": 1001, "amount": 20, "reason": "What a mess! Please refund 20 of order 1001"},
                )
            ],
        ),
        (
            "Where is order 1001? Is order 1001 shipped?",
            [("orders_get", {"number": 1001})],
        ),
    ],
)
def test_parts_are_planned_in_order_each_once(text: str, expected: list[tuple[str, dict[str, Any]]]) -> None:
    assert planned(text) == [(name, arguments, []) for name, arguments in expected]


def test_part_that_only_sets_the_scene_is_not_looked_up() -> None:
    text = "Order 1001 arrived damaged and I want 20 euros back"

    assert planned(text) == [("orders_refund", {"order": 1001, "amount": 20, "reason": text}, [])]


def test_part_that_asks_is_looked_up_beside_the_effect() -> None:
    steps = planned("Show order 1001 and refund 20 euros because it is broken")

    assert [name for name, _, _ in steps] == ["orders_get", "orders_refund"]


def test_effect_never_becomes_the_scene_of_what_follows() -> None:
    steps = planned("Refund 5 euros of order 1001. Order 1001 arrived broken")

    assert [name for name, _, _ in steps] == ["orders_refund", "orders_get"]


def test_scene_of_another_order_is_looked_up() -> None:
    steps = planned("Order 1001 is fine. Refund 20 euros of order 1002")

    assert [(name, arguments.get("order", arguments.get("number"))) for name, arguments, _ in steps] == [
        ("orders_get", 1001),
        ("orders_refund", 1002),
    ]


def test_earlier_messages_supply_what_is_missing_the_newest_first() -> None:
    assert planned("order 1001", "order 1002", "refund 20 of it") == [
        ("orders_refund", {"order": 1002, "amount": 20, "reason": "refund 20 of it"}, [])
    ]


def test_messages_too_far_back_are_forgotten() -> None:
    chat = ["so so"] * 6

    assert planned("order 1001", *chat, "refund 20 of it")[0][2] == ["order"]


def test_both_ends_of_a_long_message_are_read() -> None:
    padding = "lorem ipsum " * 2_000

    assert planned(f"Where is order 1001?\n{padding}\nHow long is the warranty?") == [
        ("orders_get", {"number": 1001}, []),
        ("kb_search", {"query": "How long is the warranty?"}, []),
    ]


def test_answer_to_a_question_completes_only_what_was_missing() -> None:
    steps = planned("Where is order 1001 and refund order 1003", Human("20 euros", asked=True))

    assert steps == [("orders_refund", {"order": 1003, "amount": 20, "reason": "refund order 1003"}, [])]


def test_answer_that_adds_nothing_keeps_nothing() -> None:
    assert planned("refund order 1003", Human("hm, let me see", asked=True)) == []


@pytest.mark.parametrize("text", ["no", "never mind", "forget it", "算了", "不用了", "stop"])
def test_declined_question_is_dropped(text: str) -> None:
    assert planned("refund order 1003", Human(text, asked=True)) == []


def test_number_with_no_before_it_is_no_decline() -> None:
    assert planned("where is my order", Human("No. 1003", asked=True)) == [
        ("orders_get", {"number": 1003}, [])
    ]


def test_new_question_replaces_the_open_one() -> None:
    steps = planned("refund order 1003", Human("Where is order 1001?", asked=True))

    assert steps == [("orders_get", {"number": 1001}, [])]


def test_question_without_anything_open_is_planned_afresh() -> None:
    assert planned("hello", Human("where is order 1001", asked=True)) == [
        ("orders_get", {"number": 1001}, [])
    ]


def test_equal_steps_are_kept_once() -> None:
    one, same = step(ORDERS_GET, {"number": 1}), step(ORDERS_GET, {"number": 1})

    assert once([one, step(ORDERS_GET, {"number": 2}), same]) == [same, step(ORDERS_GET, {"number": 2})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"customers": [{"id": "C-0042"}, {"id": "C-0043"}]}', {"customer": "C-0042"}),
        ('["none", "C-0042x", "C-0042"]', {"customer": "C-0042"}),
        ("C-0042", {"customer": "C-0042"}),
        ("no such customer", {}),
        ('{"customer": 7}', {}),
    ],
)
def test_result_supplies_a_code_of_the_shape(text: str, expected: dict[str, Any]) -> None:
    supplied = supply(step(ORDERS_LIST, {}), results=[Result("customers_find", "{}", text)])

    assert supplied.arguments == expected
    assert bool(supplied.missing) is not bool(expected)


def test_result_supplies_a_field_of_the_same_name() -> None:
    data = json.dumps({"orders": [{"number": 1007, "product": "Kettle"}]})
    result = Result("orders_list", "{}", data)

    assert supply(step(ORDERS_GET, {}), results=[result]).arguments == {"number": 1007}
    assert supply(step(STOCK_CHECK, {}), results=[result]).arguments == {"product": "Kettle"}


def test_result_never_supplies_an_effect() -> None:
    waiting = step(ORDERS_REFUND, {"reason": "late"})
    result = Result("orders_get", "{}", '{"order": 1001, "amount": 500}')

    assert supply(waiting, results=[result]) == waiting


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Which orders does Jane Miller have?", "Jane Miller"),
        ("the orders of jane@example.com", "jane@example.com"),
        ("李雷有哪些订单", "李雷"),
    ],
)
def test_search_finds_what_a_step_lacks(text: str, query: str) -> None:
    search = finder(step(ORDERS_LIST, {}), text, among=OFFERS, today=None)

    assert search is not None
    assert (search.offer.name, search.arguments) == ("customers_find", {"query": query})


@pytest.mark.parametrize("text", ["show my orders", "Summarise the orders", "总结订单"])
def test_search_needs_a_name_to_look_for(text: str) -> None:
    assert finder(step(ORDERS_LIST, {}), text, among=OFFERS, today=None) is None


def test_complete_step_needs_no_search() -> None:
    assert finder(step(ORDERS_LIST, {"customer": "C-1"}), "Jane Miller", among=OFFERS, today=None) is None
