"""Plain scalars follow the core schema of YAML 1.2."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistants.loading.node import Scalar
from assistants.loading.scalar import is_text, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("FALSE", False),
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("012", 12),
        ("0o14", 12),
        ("0x1F", 31),
        ("9007199254740991", 2**53 - 1),
        ("0.40", 0.4),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("-1.5E-2", -0.015),
        ("yes", "yes"),
        ("NO", "NO"),
        ("on", "on"),
        ("nULL", "nULL"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("-0x1F", "-0x1F"),
        ("12:30", "12:30"),
        ("2027-12-31", "2027-12-31"),
        ("1.2.3", "1.2.3"),
        ("24h", "24h"),
        ("-", "-"),
        (".", "."),
        ("nan", "nan"),
        ("inf", "inf"),
        ("=", "="),
    ],
)
def test_scalar_has_its_value_and_type(text: str, value: Scalar) -> None:
    resolved = resolve(text)
    assert resolved == value
    assert type(resolved) is type(value)
    assert is_text(text) is isinstance(value, str)


@pytest.mark.parametrize("text", [".inf", "-.INF", "+.Inf", ".nan", ".NaN"])
def test_numbers_without_an_end_are_refused(text: str) -> None:
    assert not is_text(text)
    with pytest.raises(ValueError, match="not a number that can be used"):
        resolve(text)


@pytest.mark.parametrize(
    "text", ["9007199254740992", "-9007199254740992", "1" * 5_000, "0x" + "f" * 14, "1e999"]
)
def test_numbers_that_json_cannot_carry_exactly_are_refused(text: str) -> None:
    assert not is_text(text)
    with pytest.raises(ValueError, match="too large; quote it if it is text") as caught:
        resolve(text)
    assert len(str(caught.value)) < 120


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_finite_float_comes_back(number: float) -> None:
    value = resolve(repr(number))
    assert isinstance(value, float)
    assert math.copysign(1, value) == math.copysign(1, number)
    assert value == number


@settings(deadline=None)
@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_any_exact_integer_comes_back(number: int) -> None:
    value = resolve(str(number))
    assert type(value) is int
    assert value == number
