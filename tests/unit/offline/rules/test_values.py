"""Values in a text."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.offline.rules.values import values

TODAY = date(2026, 4, 1)


def found(text: str) -> list[tuple[str, str]]:
    """Kind and text of the values."""
    return [(value.kind, value.text) for value in values(text, today=TODAY)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("order 1001", [("number", "1001")]),
        ("#1001 and 订单1002", [("number", "1001"), ("number", "1002")]),
        ("customer C-0042", [("code", "C-0042")]),
        ("客户C-0042的订单", [("code", "C-0042")]),
        ("SKU ACM-KET-01 or KT200", [("code", "ACM-KET-01"), ("code", "KT200")]),
        ("25 euros", [("money", "25")]),
        ("$25.50", [("money", "25.50")]),
        ("€ 1,234.50", [("money", "1,234.50")]),
        ("EUR 20", [("money", "20")]),
        ("退款50元", [("money", "50")]),
        ("20块钱", [("money", "20")]),
        ("mail jane@example.com.", [("email", "jane@example.com")]),
        ('say "hello 5 times"', [("quoted", "hello 5 times")]),
        ("「蓝色水壶」", [("quoted", "蓝色水壶")]),
        ("it's John's", []),
        ("on 2026-05-01", [("date", "2026-05-01")]),
        ("在2026-05-01入住", [("date", "2026-05-01")]),
        ("2026年5月1日", [("date", "2026-05-01")]),
        ("on May 5, 2026", [("date", "2026-05-05")]),
        ("5 March 2026", [("date", "2026-03-05")]),
        ("Sept 9th 2026", [("date", "2026-09-09")]),
        ("tomorrow", [("date", "2026-04-02")]),
        ("the day after tomorrow", [("date", "2026-04-03")]),
        ("Yesterday", [("date", "2026-03-31")]),
        ("明天", [("date", "2026-04-02")]),
        ("at 14:30", [("time", "14:30")]),
        ("nothing here", []),
    ],
)
def test_values_are_found_by_kind(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


def test_day_that_does_not_exist_is_no_date() -> None:
    assert found("on 2026-02-30") == [("number", "2026"), ("number", "02"), ("number", "30")]


def test_relative_day_stays_a_word_without_today() -> None:
    assert [(value.kind, value.text) for value in values("Tomorrow")] == [("date", "tomorrow")]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1001", 1001),
        ("25.50", 25.5),
        ("25,50", 25.5),
        ("1,234", 1234),
        ("1,234.50", 1234.5),
        ("1.234,50", 1234.5),
        ("1.234.567", 1234567),
    ],
)
def test_amounts_are_read_in_both_manners(text: str, amount: float) -> None:
    assert values(text)[0].amount == amount


@given(st.text(alphabet="ab C-0142.,€$@元年月日\"' ", max_size=40))
def test_values_never_overlap_and_stand_where_they_say(text: str) -> None:
    at_hand = values(text, today=TODAY)

    assert all(first.end <= second.start for first, second in pairwise(at_hand))
    assert all(0 <= value.start < value.end <= len(text) for value in at_hand)
    assert all(value.text in text for value in at_hand if value.kind != "date")


@given(st.integers(0, 10**9), st.sampled_from(["order {}", "订单{}。", "#{}?", "({})"]))
def test_every_whole_number_is_found_as_it_is(number: int, frame: str) -> None:
    at_hand = values(frame.format(number))

    assert [value.amount for value in at_hand] == [number]
