"""Money is exact: what goes in as a decimal comes out as the same decimal."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.shop.errors import AmountRefused
from agent.shop.money import DIGITS, LARGEST, Money, minor_units

AMOUNTS = st.integers(min_value=-LARGEST, max_value=LARGEST)


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (8490, "EUR", "84.90 EUR"),
        (0, "USD", "0.00 USD"),
        (5, "CNY", "0.05 CNY"),
        (-5, "EUR", "-0.05 EUR"),
        (100, "EUR", "1.00 EUR"),
        (123456789, "USD", "1234567.89 USD"),
    ],
)
def test_an_amount_is_written_with_two_decimals_and_its_currency(
    minor: int, currency: str, text: str
) -> None:
    assert str(Money(minor, currency)) == text


@pytest.mark.parametrize(
    ("amount", "minor"),
    [
        (84.9, 8490),
        (0.1, 10),
        (0.29, 29),
        (1.1, 110),
        (19.99, 1999),
        (1e3, 100_000),
        (Decimal("0.07"), 7),
        (Decimal("12.30"), 1230),
        (Decimal("1.500"), 150),
        (3, 300),
        (0, 0),
        (-2.5, -250),
    ],
)
def test_a_float_stands_for_its_shortest_decimal(amount: Decimal | float, minor: int) -> None:
    assert minor_units(amount) == minor


@pytest.mark.parametrize("amount", [0.001, 10.555, Decimal("0.005"), 1e-9, 84.901, 0.1 + 0.2])
def test_a_third_decimal_is_refused_not_rounded(amount: Decimal | float) -> None:
    with pytest.raises(AmountRefused) as refused:
        minor_units(amount)
    assert repr(str(amount)) in refused.value.detail
    assert "more than 2 decimals" in refused.value.detail


@pytest.mark.parametrize(
    "amount",
    [float("nan"), float("inf"), float("-inf"), Decimal("NaN"), Decimal("Infinity"), 1e300, 1_000_000.01],
)
def test_an_amount_that_is_no_sum_of_money_is_refused(amount: Decimal | float) -> None:
    with pytest.raises(AmountRefused) as refused:
        minor_units(amount)
    assert "out of range" in refused.value.detail
    assert "at most 1000000 major units" in refused.value.detail


def test_the_largest_amount_is_accepted_and_one_more_minor_unit_is_not() -> None:
    largest = Decimal(LARGEST).scaleb(-DIGITS)
    assert minor_units(largest) == LARGEST
    assert minor_units(-largest) == -LARGEST
    with pytest.raises(AmountRefused):
        minor_units(largest + Decimal("0.01"))


@given(AMOUNTS)
def test_minor_units_survive_the_way_through_major_units(minor: int) -> None:
    assert minor_units(Money(minor, "EUR").major) == minor


@given(AMOUNTS)
def test_minor_units_survive_the_way_through_a_float(minor: int) -> None:
    assert minor_units(float(Money(minor, "EUR").major)) == minor


@given(AMOUNTS)
def test_minor_units_survive_the_way_through_text(minor: int) -> None:
    number, currency = str(Money(minor, "CNY")).split(" ")
    assert currency == "CNY"
    assert minor_units(Decimal(number)) == minor
    assert len(number.partition(".")[2]) == DIGITS


@given(st.lists(st.integers(min_value=0, max_value=10_000), max_size=30))
def test_a_sum_of_minor_units_is_the_sum_of_the_decimals(parts: list[int]) -> None:
    decimals = sum((Money(part, "EUR").major for part in parts), start=Decimal(0))
    assert minor_units(decimals) == sum(parts)


@given(st.integers(min_value=-(10**7), max_value=10**7).filter(lambda units: units % 10))
def test_thousandths_are_always_refused(thousandths: int) -> None:
    with pytest.raises(AmountRefused):
        minor_units(Decimal(thousandths).scaleb(-3))
