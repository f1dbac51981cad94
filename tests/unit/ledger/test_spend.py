from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ledger import NOTHING, LedgerRefused, Spend, micros
from agent.ledger.spend import NAMES, correction

AMOUNTS = st.integers(0, 10**12)
SPENDS = st.builds(Spend, **dict.fromkeys(NAMES, AMOUNTS))


@pytest.mark.parametrize(
    ("dollars", "expected"),
    [(0.4, 400_000), (0.29, 290_000), (1.1, 1_100_000), (0, 0), (0.0000019, 1), (1e-7, 0), (60, 60_000_000)],
)
def test_dollars_become_whole_micro_dollars_rounded_down(dollars: float, expected: int) -> None:
    assert micros(dollars) == expected


@pytest.mark.parametrize("name", NAMES)
def test_no_amount_may_be_negative(name: str) -> None:
    with pytest.raises(LedgerRefused, match=repr(name)):
        Spend(**{name: -1})


@given(SPENDS, SPENDS, SPENDS)
def test_spends_add_up_in_any_order(one: Spend, two: Spend, three: Spend) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + NOTHING == one
    assert (one + two).tokens == one.tokens + two.tokens


@given(SPENDS, SPENDS)
def test_a_settlement_in_time_leaves_exactly_the_actual_amount(reserved: Spend, actual: Spend) -> None:
    changes = correction(reserved, actual, late=False)
    assert Spend(**{name: reserved.amounts()[name] + changes[name] for name in NAMES}) == actual


@given(SPENDS, SPENDS)
def test_a_late_settlement_never_gives_anything_back(reserved: Spend, actual: Spend) -> None:
    changes = correction(reserved, actual, late=True)
    assert {name: reserved.amounts()[name] + changes[name] for name in NAMES} == {
        name: max(reserved.amounts()[name], actual.amounts()[name]) for name in NAMES
    }
