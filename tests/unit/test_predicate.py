"""The predicate language: what it reads, what it refuses, and that it errs towards asking."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.predicate import (
    DEEPEST,
    LONGEST,
    Comparison,
    Constant,
    Every,
    LiteralValue,
    Not,
    Operator,
    Predicate,
    PredicateInvalid,
    Some,
    Term,
    parse,
)

ARGUMENTS: Mapping[str, object] = {
    "amount": 120,
    "price": 9.5,
    "currency": "EUR",
    "reason": "goodwill after a late delivery",
    "gift": True,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("always", True),
        ("never", False),
        ("amount >= 100", True),
        ("amount >= 120", True),
        ("amount > 120", False),
        ("amount < 120", False),
        ("amount <= 120", True),
        ("amount <= 119.99", False),
        ("amount == 120", True),
        ("amount == 120.0", True),
        ("amount != 120", False),
        ("price > 9.49", True),
        ("price < -1", False),
        ("price >= .5", True),
        ("price < 1e3", True),
        ('currency == "EUR"', True),
        ('currency == "eur"', False),
        ('currency != "USD"', True),
        ('reason contains "late"', True),
        ('reason contains "Late"', False),
        ('reason contains ""', True),
        ("gift == true", True),
        ("gift == false", False),
        ("gift != false", True),
        ("not gift == true", False),
        ('amount >= 100 and currency == "USD"', False),
        ('amount >= 100 or currency == "USD"', True),
        ("not amount >= 100 or gift == true", True),
        ("not (amount >= 100 or gift == true)", False),
        ("amount > 500 and gift == true or amount > 100", True),
        ("amount > 500 and (gift == true or amount > 100)", False),
        ("(((amount>=100)))", True),
        ("not not always", True),
    ],
)
def test_predicate_holds_as_written(text: str, expected: bool) -> None:  # noqa: FBT001 - a table's column
    assert parse(text).holds(ARGUMENTS) is expected


def test_and_binds_tighter_than_or_and_not_tightest() -> None:
    assert parse("not a == 1 and b == 2 or c == 3").term == Some(
        (
            Every((Not(Comparison("a", "==", 1)), Comparison("b", "==", 2))),
            Comparison("c", "==", 3),
        )
    )


def test_names_are_the_arguments_it_reads() -> None:
    predicate = parse('amount > 1 and (not currency == "EUR" or amount < 9) or always')
    assert predicate.names == {"amount", "currency"}
    assert [comparison.operator for comparison in predicate.comparisons] == [">", "==", "<"]
    assert parse("never").names == frozenset()


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"amount": None, "currency": "USD"},
        {"amount": "1", "currency": "USD"},
        {"amount": True, "currency": "USD"},
        {"amount": [1], "currency": "USD"},
        {"amount": float("nan"), "currency": "USD"},
        {"amount": float("inf"), "currency": "USD"},
        {"amount": Decimal("sNaN"), "currency": "USD"},
        {"amount": 1},
        {"amount": 1, "currency": None},
        {"amount": 1, "currency": 978},
    ],
)
def test_call_that_cannot_be_judged_is_asked_about(arguments: Mapping[str, object]) -> None:
    judged = {"amount": 1, "currency": "USD"}
    for text in (
        'amount >= 100 and currency == "EUR"',
        'not (amount < 100 or currency == "USD")',
        'never and amount > 1 and currency contains "E"',
    ):
        assert parse(text).holds(judged) is False
        assert parse(text).holds(arguments) is True


def test_boolean_argument_must_be_a_boolean() -> None:
    assert parse("gift == true").holds({"gift": False}) is False
    for value in (0, 0.0, "false", None):
        assert parse("gift == true").holds({"gift": value}) is True


def test_decimal_amounts_are_numbers() -> None:
    assert parse("amount >= 100").holds({"amount": Decimal("99.99")}) is False
    assert parse("amount >= 100").holds({"amount": Decimal("100.00")}) is True


def test_large_integers_are_compared_exactly() -> None:
    assert parse("amount > 9007199254740992").holds({"amount": 9007199254740993}) is True
    assert parse("amount == 9007199254740992").holds({"amount": 9007199254740993}) is False
    assert parse("amount < 5").holds({"amount": 10**400}) is False
    assert parse("amount > 1.5").holds({"amount": 10**400}) is True


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 1, "expected the name of an argument, got the end"),
        ("   ", 4, "got the end"),
        ("amount", 7, "expected an operator after 'amount'"),
        ("amount >", 9, "expected a number"),
        ("amount > big", 10, "expected a number"),
        ("amount = 1", 8, "cannot read '= 1'"),
        ("amount >= 100 EUR", 15, "expected 'and', 'or' or the end, got 'EUR'"),
        ("amount >= 100EUR", 11, "cannot read"),
        ("amount >= 1.2.3", 11, "cannot read"),
        ("(amount > 1", 12, "expected ')'"),
        ("amount > 1)", 11, "expected 'and', 'or' or the end"),
        ("and", 1, "got 'and'"),
        ("amount > 1 and", 15, "got the end"),
        ("amount > 1 and or x == 1", 16, "got 'or'"),
        ("true", 1, "got 'true'"),
        ("100 <= amount", 1, "got '100'"),
        ('amount > "100"', 10, "> compares numbers"),
        ("amount <= true", 11, "<= compares numbers"),
        ("reason contains 5", 17, "contains looks for a quoted text"),
        ("reason contains 'x'", 17, "cannot read"),
        ('reason == "open', 11, "cannot read"),
        ('reason == "\\x"', 11, "written as in JSON"),
        ('reason == "\\u0000"', 11, "no null"),
        ('reason == "\\ud800"', 11, "no lone surrogate"),
        ("amount > 1e999", 10, "too large"),
        ("__import__('os').system('true')", 12, "cannot read"),
        ("amount.real > 1", 7, "cannot read"),
        ("amount > 1; always", 11, "cannot read"),
        ("not", 4, "got the end"),
    ],
)
def test_text_that_is_no_predicate_is_refused_with_its_position(text: str, position: int, words: str) -> None:
    with pytest.raises(PredicateInvalid) as caught:
        parse(text)
    assert caught.value.position == position
    assert words in caught.value.detail
    assert caught.value.detail.endswith(f"(at character {position})")


def test_long_and_deep_texts_are_refused() -> None:
    fits = "amount > 1 or " * 70 + "never"
    assert len(fits) < LONGEST
    assert parse(fits).holds({"amount": 0}) is False
    with pytest.raises(PredicateInvalid, match=r"at most 1000 characters"):
        parse(fits + " " * LONGEST)
    deep = "(" * DEEPEST + "always" + ")" * DEEPEST
    assert parse(deep).term == Constant(value=True)
    with pytest.raises(PredicateInvalid, match=r"nested more than 32 deep"):
        parse(f"({deep})")
    with pytest.raises(PredicateInvalid, match=r"nested more than 32 deep"):
        parse("not " * 200 + "always")


def test_canonical_text_ignores_spacing_and_needless_parentheses() -> None:
    texts = ('(amount>=100)and currency=="EUR"', ' amount >= 100  and  (currency == "EUR") ')
    assert {str(parse(text)) for text in texts} == {'amount >= 100 and currency == "EUR"'}
    assert str(parse("not(a==1 or b==2)and never")) == "not (a == 1 or b == 2) and never"


NAMES = ("amount", "price", "currency", "gift")
NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6, allow_nan=False)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
ORDERED: tuple[Operator, ...] = ("<", "<=", ">", ">=")
EQUAL: tuple[Operator, ...] = ("==", "!=")


def comparisons() -> st.SearchStrategy[Term]:
    names = st.sampled_from(NAMES)
    return (
        st.builds(Comparison, names, st.sampled_from(ORDERED + EQUAL), NUMBERS)
        | st.builds(Comparison, names, st.sampled_from((*EQUAL, "contains")), TEXTS)
        | st.builds(Comparison, names, st.sampled_from(EQUAL), st.booleans())
    )


def joined(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    several = st.lists(terms, min_size=2, max_size=3).map(tuple)
    return st.builds(Not, terms) | st.builds(Every, several) | st.builds(Some, several)


TERMS = st.recursive(comparisons() | st.builds(Constant, st.booleans()), joined, max_leaves=8)
CALLS = st.dictionaries(st.sampled_from(NAMES), NUMBERS | TEXTS | st.booleans() | st.none())

REFERENCE: Mapping[str, Callable[[object, object], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": lambda value, literal: value < literal,  # type: ignore[operator] - same types by then
    "<=": lambda value, literal: value <= literal,  # type: ignore[operator]
    ">": lambda value, literal: value > literal,  # type: ignore[operator]
    ">=": lambda value, literal: value >= literal,  # type: ignore[operator]
    "contains": lambda value, literal: str(literal) in str(value),
}


def kind(value: LiteralValue | object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def reference(term: Term, call: Mapping[str, object]) -> list[bool | None]:
    """Every verdict below `term`, its own last; `None` where a comparison cannot be judged."""
    match term:
        case Constant(value):
            return [value]
        case Comparison(name, symbol, literal):
            known = name in call and kind(call[name]) == kind(literal)
            return [REFERENCE[symbol](call[name], literal) if known else None]
        case Not(inner):
            below = reference(inner, call)
            return [*below, None if below[-1] is None else not below[-1]]
        case Every(terms) | Some(terms):
            parts = [reference(inner, call) for inner in terms]
            join = all if isinstance(term, Every) else any
            return [*(verdict for part in parts for verdict in part), join(part[-1] for part in parts)]


@settings(deadline=None)
@given(TERMS, CALLS)
def test_evaluation_agrees_with_a_reference(term: Term, call: Mapping[str, object]) -> None:
    verdicts = reference(term, call)
    expected = True if None in verdicts else verdicts[-1]
    assert Predicate(term).holds(call) is expected


@settings(deadline=None)
@given(TERMS)
def test_canonical_text_means_the_same(term: Term) -> None:
    text = str(Predicate(term))
    again = parse(text)
    assert str(again) == text
    assert again.names == Predicate(term).names


@settings(deadline=None)
@given(TERMS, CALLS)
def test_canonical_text_decides_the_same(term: Term, call: Mapping[str, object]) -> None:
    assert parse(str(Predicate(term))).holds(call) is Predicate(term).holds(call)


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_predicate_or_refused_with_a_position(text: str) -> None:
    refused: PredicateInvalid | None = None
    try:
        parse(text)
    except PredicateInvalid as invalid:
        refused = invalid
    assert refused is None or 1 <= refused.position <= len(text) + 1
