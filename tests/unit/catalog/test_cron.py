"""Cron expressions of five fields."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistants.loading.cron import Cron, parse

EVERY_MINUTE = frozenset(range(60))
EVERY_HOUR = frozenset(range(24))
EVERY_DAY = frozenset(range(1, 32))
EVERY_MONTH = frozenset(range(1, 13))
EVERY_WEEKDAY = frozenset(range(7))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", Cron(EVERY_MINUTE, EVERY_HOUR, EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY)),
        ("0 7 * * 1-5", Cron(frozenset({0}), frozenset({7}), EVERY_DAY, EVERY_MONTH, frozenset(range(1, 6)))),
        (
            "*/20 8-18/5 1,15 jan,JUL sun",
            Cron(
                frozenset({0, 20, 40}),
                frozenset({8, 13, 18}),
                frozenset({1, 15}),
                frozenset({1, 7}),
                frozenset({0}),
            ),
        ),
        (
            "  5   4\t31 2 fri-7 ",
            Cron(frozenset({5}), frozenset({4}), frozenset({31}), frozenset({2}), frozenset({5, 6, 0})),
        ),
        ("0 0 29 2 *", Cron(frozenset({0}), frozenset({0}), frozenset({29}), frozenset({2}), EVERY_WEEKDAY)),
    ],
)
def test_expression_is_read(text: str, expected: Cron) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("* * * * * *", "expected five fields .*, got 6"),
        ("* * * *", "got 4"),
        ("@hourly", "got 1"),
        ("", "got 0"),
        ("60 * * * *", "minute: expected 0 to 59, got '60'"),
        ("* 24 * * *", "hour: expected 0 to 23, got '24'"),
        ("* * 0 * *", "day of month: expected 1 to 31, got '0'"),
        ("* * * 13 *", "month: expected 1 to 12, got '13'"),
        ("* * * * 8", "day of week: expected 0 to 7, got '8'"),
        ("jan * * * *", "minute: expected 0 to 59, got 'jan'"),
        ("* * * mon *", "month: expected 1 to 12, got 'mon'"),
        ("0 007 * * *", "hour: expected 0 to 23, got '007'"),
        ("5-1 * * * *", "minute: '5-1' runs backwards"),
        ("*/0 * * * *", r"minute: '\*/0' needs a range and a step of at least 1"),
        ("5/10 * * * *", "minute: '5/10' needs a range and a step"),
        ("1,,2 * * * *", "minute: cannot read ''"),
        ("-1 * * * *", "minute: cannot read '-1'"),
        ("R R * * *", "minute: expected 0 to 59, got 'r'"),
        ("* * L * *", "day of month: expected 1 to 31, got 'l'"),
        ("* * * * 5#2", "day of week: cannot read '5#2'"),
        ("? * * * *", r"minute: cannot read '\?'"),
        ("0 0 30 2 *", "no such day exists in these months"),
        ("0 0 31 4,6,9,11 0-6", "no such day exists in these months"),
    ],
)
def test_expression_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(text)


def test_impossible_day_still_runs_on_its_weekday() -> None:
    assert parse("0 0 30 2 1").weekdays == {1}


@settings(deadline=None)
@given(st.sets(st.integers(0, 59), min_size=1), st.sets(st.integers(0, 23), min_size=1))
def test_lists_are_read_back(minutes: set[int], hours: set[int]) -> None:
    cron = parse(f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *")
    assert (cron.minutes, cron.hours) == (minutes, hours)


@settings(deadline=None)
@given(st.text("0123456789*/-, janmo", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        cron = parse(text)
    except ValueError:
        return
    assert cron.minutes <= EVERY_MINUTE
    assert cron.hours <= EVERY_HOUR
    assert cron.weekdays <= EVERY_WEEKDAY
