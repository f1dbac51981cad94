from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages.ai import UsageMetadata

from agent.context import Limits
from agent.ledger import Exhausted, Ledger, Period, Price, Spend, Summary, price
from agent.meter import CLOSING, BudgetExhausted, PriceUnknown, TurnMeter
from agent.models.metering import Asked, Asking
from tests.unit.ledger.samples import NOON, later, turn

pytestmark = pytest.mark.anyio

MODEL = "openai:gpt-5-mini"
PRICE = Price(input=250_000, output=2_000_000)
TODAY = date(2026, 3, 1)


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[Ledger]:
    ledger = Ledger(f"sqlite+aiosqlite:///{tmp_path}/ledger.db")
    yield ledger
    await ledger.dispose()


class Clock:
    """The time as a test sets it."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def meter(ledger: Ledger, *, now: Callable[[], datetime] | None = None, **changes: Any) -> TurnMeter:
    values: dict[str, Any] = {"turn": turn(), "limits": Limits(), "run": "run1", "steps": 2, **changes}
    return TurnMeter(ledger=ledger, now=now or Clock(), **values)


def asking(model: str = MODEL, *, tokens_in: int = 1_000, tokens_out: int = 500) -> Callable[[], Asking]:
    return lambda: Asking(model, tokens_in, tokens_out)


def ended(usage: tuple[int, int] | None = None, **changes: Any) -> Asked:
    taken = None
    if usage is not None:
        taken = UsageMetadata(input_tokens=usage[0], output_tokens=usage[1], total_tokens=sum(usage))
    values: dict[str, Any] = {"estimated": False, "certain": True, "outcome": "ok", "latency": 0.25}
    return Asked(usage=taken, **{**values, **changes})


def cost(tokens_in: int, tokens_out: int) -> int:
    return PRICE.cost(tokens_in=tokens_in, tokens_out=tokens_out)


async def used(ledger: Ledger, of: Any = None) -> Spend | None:
    account = await ledger.budgets.account(of or turn(), now=NOON)
    return account.used if account else None


async def row(ledger: Ledger) -> Summary:
    (found,) = await ledger.usage.summary(Period(NOON, later(days=2)))
    return found


async def refusal(by: TurnMeter, request: Callable[[], Asking] | None = None) -> Exhausted:
    with pytest.raises(BudgetExhausted) as raised:
        await by.begin(request or asking())
    assert raised.value.detail == raised.value.exhausted.sentence
    return raised.value.exhausted


def test_the_price_of_these_tests_is_the_listed_one() -> None:
    assert price(MODEL) == PRICE
    assert (cost(1_000, 500), cost(1_000, CLOSING)) == (1_250, 1_050)


# Before and after


async def test_the_most_that_a_request_can_take_is_counted_before_it_is_sent(ledger: Ledger) -> None:
    await meter(ledger).begin(asking())
    assert await used(ledger) == Spend(model_calls=1, tokens=1_500, micros=1_250)
    assert await ledger.budgets.spent("acme", TODAY) == 1_250
    assert await ledger.budgets.spent("acme", TODAY, assistant="support") == 1_250


async def test_afterwards_what_was_used_counts_and_is_on_record(ledger: Ledger) -> None:
    receipt = await meter(ledger).begin(asking())
    await receipt.close(ended((1_200, 30)))
    assert await used(ledger) == Spend(steps=2, model_calls=1, tokens=1_230, micros=360)
    assert await ledger.budgets.spent("acme", TODAY) == 360
    found = await row(ledger)
    assert (found.model_calls, found.tokens_in, found.tokens_out, found.micros) == (1, 1_200, 30, 360)
    assert (found.estimated_calls, found.model_failures, found.steps, found.runs) == (0, 0, 2, 1)
    assert found.p95_ms == {"model": 250}


async def test_usage_that_was_estimated_counts_and_says_so(ledger: Ledger) -> None:
    receipt = await meter(ledger).begin(asking())
    await receipt.close(ended((10, 5), estimated=True))
    found = await row(ledger)
    assert (found.tokens_in, found.tokens_out, found.estimated_calls) == (10, 5, 1)


async def test_what_an_endpoint_refused_costs_nothing_and_is_no_step(ledger: Ledger) -> None:
    receipt = await meter(ledger).begin(asking())
    await receipt.close(ended(outcome="rate_limited"))
    assert await used(ledger) == Spend(model_calls=1)
    found = await row(ledger)
    assert (found.tokens_in, found.tokens_out, found.micros) == (0, 0, 0)
    assert (found.estimated_calls, found.model_failures) == (0, 1)


async def test_what_nobody_knows_stays_counted_as_reserved(ledger: Ledger) -> None:
    receipt = await meter(ledger).begin(asking())
    await receipt.close(ended(certain=False, outcome="answer_cut"))
    assert await used(ledger) == Spend(model_calls=1, tokens=1_500, micros=1_250)
    found = await row(ledger)
    assert (found.tokens_in, found.tokens_out, found.micros) == (1_000, 500, 1_250)
    assert (found.estimated_calls, found.model_failures) == (1, 1)


async def test_a_failure_with_usage_costs_its_usage_and_is_no_step(ledger: Ledger) -> None:
    receipt = await meter(ledger).begin(asking())
    await receipt.close(ended((900, 5), outcome="cancelled"))
    assert await used(ledger) == Spend(model_calls=1, tokens=905, micros=cost(900, 5))


async def test_a_receipt_that_is_closed_twice_counts_once(ledger: Ledger) -> None:
    receipt = await meter(ledger).begin(asking())
    await receipt.close(ended((1_200, 30)))
    await receipt.close(ended((9_000, 900)))
    assert await used(ledger) == Spend(steps=2, model_calls=1, tokens=1_230, micros=360)


async def test_each_request_is_worked_out_and_counted_for_itself(ledger: Ledger) -> None:
    by, worked_out = meter(ledger), list[int]()

    def request() -> Asking:
        worked_out.append(1)
        return Asking(MODEL, 1_000, 500)

    for _ in range(3):
        await by.begin(request)
    assert await used(ledger) == Spend(model_calls=3, tokens=4_500, micros=3_750)
    assert worked_out == [1, 1, 1]


async def test_money_counts_on_the_day_on_which_the_request_began(ledger: Ledger) -> None:
    clock = Clock(datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC))
    receipt = await meter(ledger, now=clock).begin(asking())
    clock.now = datetime(2026, 3, 2, 0, 0, 1, tzinfo=UTC)
    await receipt.close(ended((1_200, 30)))
    assert await ledger.budgets.spent("acme", TODAY) == 360
    assert await ledger.budgets.spent("acme", TODAY + timedelta(days=1)) == 0


# What is kept for the closing answer


@pytest.mark.parametrize(
    ("limit", "enough"), [("tokens", 2_900), ("usd_per_run", 0.0023), ("usd_per_day", 0.0023)]
)
async def test_a_request_must_leave_what_the_closing_answer_needs(
    ledger: Ledger, limit: str, enough: float
) -> None:
    """1,000 + 500 tokens for it, 1,000 + 400 for the closing answer; 1,250 + 1,050 micro-dollars."""
    unit = 1 if limit == "tokens" else 1e-6
    short = meter(ledger, limits=Limits.model_validate({limit: enough - unit}))
    exhausted = await refusal(short)
    assert (exhausted.bound, exhausted.used) == (limit, 0)
    assert await used(ledger) == Spend()
    await meter(ledger, limits=Limits.model_validate({limit: enough})).begin(asking())
    assert await used(ledger) == Spend(model_calls=1, tokens=1_500, micros=1_250)


@pytest.mark.parametrize(
    ("limit", "enough"), [("tokens", 1_500), ("usd_per_run", 0.00125), ("tenant_usd_per_day", 0.00125)]
)
async def test_the_last_answer_may_take_all_that_is_left(ledger: Ledger, limit: str, enough: float) -> None:
    unit = 1 if limit == "tokens" else 1e-6
    exhausted = await refusal(meter(ledger, limits=Limits.model_validate({limit: enough - unit})).last())
    assert exhausted.bound == limit
    await meter(ledger, limits=Limits.model_validate({limit: enough})).last().begin(asking())
    assert await used(ledger) == Spend(model_calls=1, tokens=1_500, micros=1_250)


async def test_of_the_turn_s_calls_one_is_kept(ledger: Ledger) -> None:
    by = meter(ledger, limits=Limits(model_calls=2))
    await by.begin(asking())
    assert await refusal(by) == Exhausted("model_calls", 1, 2)
    await by.last().begin(asking())
    assert await refusal(by.last()) == Exhausted("model_calls", 2, 2)


@pytest.mark.parametrize("amount", [0, -1, -(2**70)])
async def test_a_limit_of_nothing_or_less_allows_no_request(ledger: Ledger, amount: int) -> None:
    for limit in ("tokens", "model_calls", "usd_per_run", "usd_per_day", "tenant_usd_per_day"):
        exhausted = await refusal(meter(ledger, limits=Limits.model_validate({limit: amount})).last())
        assert exhausted.bound == limit
    assert await used(ledger) == Spend()


async def test_a_limit_beyond_all_numbers_allows_every_request(ledger: Ledger) -> None:
    huge = Limits(
        tokens=10**30, model_calls=10**30, usd_per_run=1e300, usd_per_day=1e300, tenant_usd_per_day=1e300
    )
    await meter(ledger, limits=huge).begin(asking())
    assert await used(ledger) == Spend(model_calls=1, tokens=1_500, micros=1_250)


async def test_time_binds_a_request_and_not_the_last_answer(ledger: Ledger) -> None:
    clock = Clock()
    by = meter(ledger, now=clock, limits=Limits(seconds=60))
    await by.begin(asking())
    clock.now = later(seconds=59.999)
    await by.begin(asking())
    clock.now = later(seconds=60)
    assert await refusal(by) == Exhausted("seconds", 60.0, 60.0)
    await by.last().begin(asking())


async def test_steps_and_tool_calls_are_counted_elsewhere(ledger: Ledger) -> None:
    await meter(ledger, limits=Limits(steps=0, tool_calls=0, repeats=0, approvals=0)).begin(asking())
    assert await used(ledger) == Spend(model_calls=1, tokens=1_500, micros=1_250)


async def test_the_tenant_s_day_binds_over_its_assistants_and_threads(ledger: Ledger) -> None:
    limits = Limits(tenant_usd_per_day=0.003)
    other = turn("m9", thread="t9", assistant="other")
    await meter(ledger, turn=other).begin(asking())
    assert await refusal(meter(ledger, limits=limits)) == Exhausted("tenant_usd_per_day", 1_250, 3_000)
    await meter(ledger, limits=limits, turn=turn(tenant="globex")).begin(asking())
    await meter(ledger, limits=Limits(usd_per_day=0.003)).begin(asking())


# Prices


@pytest.mark.parametrize("limit", ["usd_per_run", "usd_per_day", "tenant_usd_per_day"])
async def test_where_money_is_limited_a_model_without_a_price_is_not_asked(
    ledger: Ledger, limit: str
) -> None:
    by = meter(ledger, limits=Limits.model_validate({limit: 1e6}))
    for one in (by, by.last(), by.aside("summary")):
        with pytest.raises(PriceUnknown) as raised:
            await one.begin(asking("openai:nobody-knows"))
        assert raised.value.detail == (
            "Model 'openai:nobody-knows' has no known price and the assistant's money is limited, so it is "
            "not asked. Add its price (SIGNALBOX_PRICES), or name a model whose price is known."
        )
    assert await used(ledger) is None


async def test_where_money_is_not_limited_a_model_without_a_price_costs_nothing_known(
    ledger: Ledger,
) -> None:
    receipt = await meter(ledger, limits=Limits(tokens=10_000)).begin(asking("openai:nobody-knows"))
    assert await used(ledger) == Spend(model_calls=1, tokens=1_500)
    await receipt.close(ended((100, 10)))
    assert await used(ledger) == Spend(steps=2, model_calls=1, tokens=110)


# Beside the turn


async def test_a_request_beside_the_turn_is_no_step_and_counts_under_its_own_name(ledger: Ledger) -> None:
    receipt = await meter(ledger).aside("summary").begin(asking())
    await receipt.close(ended((1_200, 30)))
    assert await used(ledger) == Spend(model_calls=1, tokens=1_230, micros=360)
    assert (await row(ledger)).p95_ms == {"summary": 250}


async def test_a_request_beside_the_turn_leaves_the_closing_answer_its_part(ledger: Ledger) -> None:
    by = meter(ledger, limits=Limits(tokens=2_899)).aside("summary")
    assert await refusal(by) == Exhausted("tokens", 0, 2_899)
