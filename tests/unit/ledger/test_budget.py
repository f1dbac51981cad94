from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context import Limits
from agent.ledger import NOTHING, Exhausted, Spend
from agent.ledger.budget import Bounds, Standing, refusal
from agent.ledger.spend import NAMES
from tests.unit.ledger.samples import NOON, later

SMALL = st.integers(0, 20)
SPENDS = st.builds(Spend, **dict.fromkeys(NAMES, SMALL))
BOUNDS = st.builds(
    Bounds, **dict.fromkeys((*NAMES, "assistant_day", "tenant_day"), st.none() | st.integers(0, 40))
)


def asked(bounds: Bounds, spend: Spend, keep: Spend = NOTHING, **standing: Any) -> Exhausted | None:
    return refusal(bounds, Standing(NOON, **standing), spend=spend, now=NOON, keep=keep)


def test_limits_become_bounds_in_the_ledgers_units() -> None:
    limits = Limits(
        steps=40,
        model_calls=20,
        tool_calls=30,
        tokens=1000,
        usd_per_run=0.4,
        usd_per_day=60,
        seconds=1.5,
        approvals=3,
        repeats=2,
    )
    assert Bounds.of(limits, tenant_usd_per_day=200) == Bounds(
        steps=40,
        model_calls=20,
        tool_calls=30,
        tokens=1000,
        micros=400_000,
        approvals=3,
        seconds=1.5,
        assistant_day=60_000_000,
        tenant_day=200_000_000,
    )


def test_no_limits_bind_nothing() -> None:
    assert Bounds.of(Limits()) == Bounds()
    assert asked(Bounds(), Spend(*[10**9] * 6)) is None


@pytest.mark.parametrize("name", [name for name in NAMES if name != "micros"])
def test_the_last_one_is_allowed_and_the_next_refused(name: str) -> None:
    bounds = Bounds(**{name: 3})
    assert asked(bounds, Spend(**{name: 1}), turn=Spend(**{name: 2})) is None
    assert asked(bounds, Spend(**{name: 1}), turn=Spend(**{name: 3})) == Exhausted(name, 3, 3)  # pyright: ignore[reportArgumentType] - a bound's name


def test_money_is_bound_by_turn_assistant_and_tenant() -> None:
    spend = Spend(micros=2)
    assert asked(Bounds(micros=10), spend, turn=Spend(micros=9)) == Exhausted("usd_per_run", 9, 10)
    assert asked(Bounds(assistant_day=10), spend, assistant_day=9) == Exhausted("usd_per_day", 9, 10)
    assert asked(Bounds(tenant_day=10), spend, tenant_day=9) == Exhausted("tenant_usd_per_day", 9, 10)
    assert asked(Bounds(micros=10, assistant_day=10, tenant_day=10), spend, turn=Spend(micros=8)) is None


def test_what_costs_nothing_is_not_refused_for_money() -> None:
    assert asked(Bounds(micros=0, assistant_day=0), Spend(tool_calls=1), assistant_day=5) is None


def test_what_is_to_be_kept_is_not_spent() -> None:
    """The closing answer's call stays possible, and is itself allowed."""
    closing = Spend(model_calls=1, tokens=100)
    bounds = Bounds(model_calls=3, tokens=500)
    used = Spend(model_calls=2, tokens=300)
    assert asked(bounds, Spend(model_calls=1), keep=closing, turn=used) == Exhausted("model_calls", 2, 3)
    assert asked(bounds, closing, turn=used) is None


def test_time_binds_everything_at_the_limit_and_not_before() -> None:
    bounds, standing = Bounds(seconds=10), Standing(NOON)
    assert refusal(bounds, standing, spend=NOTHING, now=later(seconds=9.999)) is None
    assert refusal(bounds, standing, spend=NOTHING, now=later(seconds=10)) == Exhausted("seconds", 10, 10)


def test_time_that_was_spent_waiting_for_people_does_not_count() -> None:
    standing = Standing(NOON, waited=timedelta(hours=20))
    assert refusal(Bounds(seconds=10), standing, spend=NOTHING, now=later(hours=20, seconds=9)) is None
    refused = refusal(Bounds(seconds=10), standing, spend=NOTHING, now=later(hours=20, seconds=11))
    assert refused == Exhausted("seconds", 11, 10)


@given(BOUNDS, st.lists(SPENDS, max_size=12))
def test_however_spends_arrive_no_limit_is_ever_passed(bounds: Bounds, spends: list[Spend]) -> None:
    used = NOTHING
    for spend in spends:
        standing = Standing(NOON, turn=used, assistant_day=used.micros, tenant_day=used.micros)
        if refusal(bounds, standing, spend=spend, now=NOON) is None:
            used += spend
    for name in NAMES:
        limit = getattr(bounds, name)
        assert limit is None or used.amounts()[name] <= limit
    assert all(day is None or used.micros <= day for day in (bounds.assistant_day, bounds.tenant_day))


@given(BOUNDS, SPENDS, SPENDS, SPENDS)
def test_a_refusal_names_a_limit_that_would_really_break(
    bounds: Bounds, used: Spend, spend: Spend, keep: Spend
) -> None:
    standing = Standing(NOON, turn=used, assistant_day=used.micros, tenant_day=used.micros)
    refused = refusal(bounds, standing, spend=spend, now=NOON, keep=keep)
    wanted = (spend + keep).amounts()
    limits = {name: getattr(bounds, name) for name in NAMES}
    limits["micros"] = min(
        (limit for limit in (bounds.micros, bounds.assistant_day, bounds.tenant_day) if limit is not None),
        default=None,
    )
    broken = [
        name
        for name, limit in limits.items()
        if limit is not None and wanted[name] > 0 and used.amounts()[name] + wanted[name] > limit
    ]
    assert (refused is not None) is bool(broken)
    if refused is not None:
        name = "micros" if "usd" in refused.bound else refused.bound
        assert refused.used + wanted[name] > refused.limit


@pytest.mark.parametrize(
    ("exhausted", "sentence"),
    [
        (Exhausted("model_calls", 20, 20), "The limit of 20 model calls in one turn is reached."),
        (
            Exhausted("usd_per_run", 399_000, 400_000),
            "The limit of 0.4 US dollars for one turn is reached.",
        ),
        (Exhausted("seconds", 130.2, 120.0), "The limit of 120 seconds for one turn is reached."),
        (
            Exhausted("tenant_usd_per_day", 0, 200_000_000),
            "The limit of 200 US dollars a day for your organisation is reached.",
        ),
    ],
)
def test_the_reason_is_a_sentence_for_a_person(exhausted: Exhausted, sentence: str) -> None:
    assert exhausted.sentence == sentence
