from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import date, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from agent.context import Limits
from agent.ledger import NOTHING, Account, Exhausted, Ledger, LedgerRefused, Reservation, Spend, Turn
from agent.ledger.database import LedgerDatabase
from agent.ledger.tables import DAYS, TURNS
from tests.unit.ledger.racing import race
from tests.unit.ledger.samples import NOON, asking, later, saying, turn

pytestmark = pytest.mark.anyio

CALL = Spend(model_calls=1, tokens=500, micros=60)
TODAY = date(2026, 3, 1)


async def reserve(
    ledger: Ledger, spend: Spend = CALL, *, of: Turn | None = None, now: Any = NOON, **options: Any
) -> Reservation:
    options.setdefault("limits", Limits())
    found = await ledger.budgets.reserve(of or turn(), spend=spend, now=now, **options)
    assert isinstance(found, Reservation)
    return found


async def refused(ledger: Ledger, spend: Spend = CALL, **options: Any) -> Exhausted:
    found = await ledger.budgets.reserve(
        options.pop("of", turn()), spend=spend, now=options.pop("now", NOON), **options
    )
    assert isinstance(found, Exhausted)
    return found


async def used(ledger: Ledger, of: Turn | None = None) -> Spend:
    account = await ledger.budgets.account(of or turn(), now=NOON)
    assert account is not None
    return account.used


async def test_a_reservation_counts_at_once_and_a_settlement_corrects_it(ledger: Ledger) -> None:
    held = await reserve(ledger)
    assert (held.turn, held.spend, held.expires_at) == (turn(), CALL, later(minutes=15))
    assert await ledger.budgets.account(turn(), now=NOON) == Account(used=CALL, held=CALL, started_at=NOON)
    assert await ledger.budgets.spent("acme", TODAY) == 60
    actual = Spend(model_calls=1, tokens=320, micros=41)
    assert await ledger.budgets.settle(held, actual=actual, now=later(seconds=5)) == "settled"
    assert await ledger.budgets.account(turn(), now=NOON) == Account(actual, NOTHING, NOON)
    assert await ledger.budgets.spent("acme", TODAY) == 41
    assert await ledger.budgets.spent("acme", TODAY, assistant="support") == 41


async def test_a_turn_that_never_reserved_has_no_account(ledger: Ledger) -> None:
    assert await ledger.budgets.account(turn(), now=NOON) is None
    assert await ledger.budgets.spent("acme", TODAY) == 0


async def test_a_second_settlement_changes_nothing(ledger: Ledger) -> None:
    held = await reserve(ledger)
    actual = Spend(model_calls=1, micros=10)
    assert await ledger.budgets.settle(held, actual=actual, now=NOON) == "settled"
    assert await ledger.budgets.settle(held, actual=actual, now=NOON) == "already"
    assert await ledger.budgets.settle(held, actual=CALL, now=NOON) == "already"
    assert await ledger.budgets.release(held, now=NOON) == "already"
    assert await used(ledger) == actual


async def test_an_actual_amount_beyond_the_reserved_one_is_counted(ledger: Ledger) -> None:
    held = await reserve(ledger)
    await ledger.budgets.settle(held, actual=Spend(model_calls=1, tokens=900, micros=95), now=NOON)
    assert await used(ledger) == Spend(model_calls=1, tokens=900, micros=95)
    exhausted = await refused(ledger, Spend(micros=1), limits=Limits(usd_per_run=0.00009))
    assert exhausted == Exhausted("usd_per_run", 95, 90)


async def test_a_call_that_was_never_made_gives_its_amount_back(ledger: Ledger) -> None:
    held = await reserve(ledger)
    assert await ledger.budgets.release(held, now=NOON) == "released"
    assert await ledger.budgets.release(held, now=NOON) == "already"
    assert await ledger.budgets.settle(held, actual=CALL, now=NOON) == "already"
    assert await used(ledger) == NOTHING
    assert await ledger.budgets.spent("acme", TODAY) == 0


async def test_a_refused_spend_counts_nothing_in_any_counter(ledger: Ledger) -> None:
    limits = Limits(model_calls=1)
    await reserve(ledger, limits=limits)
    assert await refused(ledger, limits=limits) == Exhausted("model_calls", 1, 1)
    assert await used(ledger) == CALL
    assert await ledger.budgets.spent("acme", TODAY) == 60


async def test_a_crash_never_makes_a_call_free(ledger: Ledger) -> None:
    """The process dies between reservation and settlement: the amount stays spent, however late it is."""
    limits = Limits(usd_per_run=0.0001)
    held = await reserve(ledger, limits=limits, lifetime=timedelta(minutes=1))
    month = later(days=30)
    assert await refused(ledger, limits=limits, now=month) == Exhausted("usd_per_run", 60, 100)
    account = await ledger.budgets.account(turn(), now=later(minutes=1))
    assert account == Account(used=CALL, held=NOTHING, started_at=NOON)
    assert await ledger.budgets.settle(held, actual=NOTHING, now=later(minutes=1)) == "late"
    assert await used(ledger) == CALL
    assert await ledger.budgets.settle(held, actual=NOTHING, now=later(minutes=1)) == "already"


async def test_a_late_settlement_adds_what_was_spent_beyond(ledger: Ledger) -> None:
    held = await reserve(ledger, lifetime=timedelta(minutes=1))
    actual = Spend(model_calls=1, tokens=400, micros=80)
    assert await ledger.budgets.settle(held, actual=actual, now=later(hours=1)) == "late"
    assert await used(ledger) == Spend(model_calls=1, tokens=500, micros=80)
    assert await ledger.budgets.spent("acme", TODAY) == 80


async def test_a_late_release_gives_nothing_back(ledger: Ledger) -> None:
    held = await reserve(ledger, lifetime=timedelta(minutes=1))
    assert await ledger.budgets.release(held, now=later(minutes=1)) == "late"
    assert await used(ledger) == CALL


async def test_a_settlement_without_a_reservation_is_refused(ledger: Ledger) -> None:
    held = await reserve(ledger)
    for other in (turn("m2"), turn(tenant="globex"), turn(thread="t2")):
        forged = Reservation(other, held.key, held.spend, held.expires_at)
        with pytest.raises(LedgerRefused, match="unknown"):
            await ledger.budgets.settle(forged, actual=NOTHING, now=NOON)
    assert await used(ledger) == CALL


async def test_turns_threads_and_tenants_have_budgets_of_their_own(ledger: Ledger) -> None:
    limits = Limits(model_calls=1)
    await reserve(ledger, limits=limits)
    for other in (turn("m2"), turn(thread="t2"), turn(tenant="globex")):
        await reserve(ledger, of=other, limits=limits)
        assert await refused(ledger, of=other, limits=limits) == Exhausted("model_calls", 1, 1)


async def test_a_budget_goes_on_over_resumes_workers_and_releases(ledger: Ledger, url: str) -> None:
    limits = Limits(model_calls=2)
    await reserve(ledger, limits=limits)
    other_worker = Ledger(url)
    tomorrow = turn(day=date(2026, 3, 2), release="r2")
    await reserve(other_worker, of=tomorrow, limits=limits, now=later(days=1))
    assert await refused(other_worker, of=tomorrow, limits=limits) == Exhausted("model_calls", 2, 2)
    assert await refused(ledger, limits=limits) == Exhausted("model_calls", 2, 2)
    await other_worker.dispose()


async def test_a_day_binds_an_assistant_over_all_its_turns(ledger: Ledger) -> None:
    limits = Limits(usd_per_day=0.0001)
    await reserve(ledger, limits=limits)
    assert await refused(ledger, of=turn("m2"), limits=limits) == Exhausted("usd_per_day", 60, 100)
    await reserve(ledger, of=turn("m2", assistant="handbook"), limits=limits)
    await reserve(ledger, of=turn("m3", day=date(2026, 3, 2)), limits=limits)
    await reserve(ledger, of=turn("m2", tenant="globex"), limits=limits)
    assert await ledger.budgets.spent("acme", TODAY) == 120
    assert await ledger.budgets.spent("acme", TODAY, assistant="handbook") == 60


async def test_a_tenants_day_binds_all_its_assistants_together(ledger: Ledger) -> None:
    ceiling: dict[str, Any] = {"limits": Limits(), "tenant_usd_per_day": 0.0001}
    await reserve(ledger, **ceiling)
    other = turn("m2", assistant="handbook")
    assert await refused(ledger, of=other, **ceiling) == Exhausted("tenant_usd_per_day", 60, 100)
    await reserve(ledger, of=turn(tenant="globex"), **ceiling)


async def test_money_counts_on_the_day_of_its_reservation(ledger: Ledger) -> None:
    held = await reserve(ledger, key="call1")
    tomorrow = turn(day=date(2026, 3, 2))
    again = await reserve(ledger, of=tomorrow, key="call1")
    assert again == held
    midnight = Reservation(tomorrow, held.key, held.spend, held.expires_at)
    await ledger.budgets.settle(midnight, actual=Spend(micros=50), now=NOON)
    assert await ledger.budgets.spent("acme", TODAY) == 50
    assert await ledger.budgets.spent("acme", date(2026, 3, 2)) == 0


async def test_the_same_decision_is_counted_once(ledger: Ledger) -> None:
    """A resume executes the tool node again; its call was counted before the interrupt."""
    spend, limits = Spend(tool_calls=1), Limits(tool_calls=1)
    first = await reserve(ledger, spend, key="call1", limits=limits)
    assert await reserve(ledger, spend, key="call1", limits=limits, now=later(hours=1)) == first
    await ledger.budgets.settle(first, actual=spend, now=NOON)
    assert await reserve(ledger, spend, key="call1", limits=limits) == first
    assert await used(ledger) == spend
    assert await refused(ledger, spend, key="call2", limits=limits) == Exhausted("tool_calls", 1, 1)
    await reserve(ledger, spend, of=turn("m2"), key="call1", limits=limits)


async def test_a_released_decision_is_counted_again_when_it_is_made_after_all(ledger: Ledger) -> None:
    spend, limits = Spend(tool_calls=1), Limits(tool_calls=1)
    await ledger.budgets.release(await reserve(ledger, spend, key="call1"), now=NOON)
    again = await reserve(ledger, spend, key="call1", limits=limits, now=later(hours=1))
    assert again.expires_at == later(hours=1, minutes=15)
    assert await used(ledger) == spend
    assert await ledger.budgets.settle(again, actual=spend, now=later(hours=1)) == "settled"
    await ledger.budgets.release(await reserve(ledger, NOTHING, key="call2"), now=NOON)
    assert await refused(ledger, spend, key="call2", limits=limits) == Exhausted("tool_calls", 1, 1)


async def test_the_closing_answers_call_is_kept(ledger: Ledger) -> None:
    limits, call = Limits(model_calls=2), Spend(model_calls=1)
    await reserve(ledger, call, limits=limits, keep=call)
    assert await refused(ledger, call, limits=limits, keep=call) == Exhausted("model_calls", 1, 2)
    await reserve(ledger, call, limits=limits)


async def test_money_to_be_kept_binds_a_call_that_costs_none(ledger: Ledger) -> None:
    limits = Limits(usd_per_day=0.0001)
    await reserve(ledger, limits=limits)
    tool = Spend(tool_calls=1)
    exhausted = await refused(ledger, tool, limits=limits, keep=Spend(micros=60))
    assert exhausted == Exhausted("usd_per_day", 60, 100)
    await reserve(ledger, tool, limits=limits)


async def test_seconds_run_from_the_first_reservation(ledger: Ledger) -> None:
    limits = Limits(seconds=120)
    await reserve(ledger, limits=limits)
    await reserve(ledger, limits=limits, now=later(seconds=119))
    assert await refused(ledger, limits=limits, now=later(seconds=120)) == Exhausted("seconds", 120, 120)
    await reserve(ledger, of=turn("m2"), limits=limits, now=later(seconds=120))


async def test_a_night_of_waiting_for_an_approver_is_not_the_agents_time(ledger: Ledger) -> None:
    limits = Limits(seconds=120)
    await reserve(ledger, limits=limits)
    approval = await ledger.approvals.request(asking(created_at=later(seconds=100), expires_at=None))
    await ledger.approvals.decide("acme", approval.id, saying(), now=later(hours=12))
    await reserve(ledger, limits=limits, now=later(hours=12, seconds=19))
    exhausted = await refused(ledger, limits=limits, now=later(hours=12, seconds=20))
    assert exhausted == Exhausted("seconds", 120, 120)


async def last_cent(ledger: Ledger, number: int) -> str:
    """Ten turns with money for one call each: `yes` or the limit for each."""
    answers: list[str] = []
    for attempt in range(10):
        limits = Limits(usd_per_run=0.0001)
        found = await ledger.budgets.reserve(
            turn(f"m{attempt}"), spend=Spend(model_calls=1, micros=100), limits=limits, now=NOON
        )
        answers.append("yes" if isinstance(found, Reservation) else found.bound)
    return f"{number}:{','.join(answers)}"


async def test_of_two_workers_that_race_on_the_last_cent_one_gets_it(url: str, ledger: Ledger) -> None:
    """Invariant 6, between two real processes."""
    answers = await race(last_cent, url, processes=2)
    one, other = (answer.partition(":")[2].split(",") for answer in answers)
    assert len(one) == 10
    assert [sorted(pair) for pair in zip(one, other, strict=True)] == [["usd_per_run", "yes"]] * 10
    assert await ledger.budgets.spent("acme", TODAY) == 1000


async def day_of_work(ledger: Ledger, number: int) -> int:
    """Up to 20 calls of 50 in a turn of its own, on one tenant's day; how many were allowed."""
    allowed = 0
    for _ in range(20):
        found = await ledger.budgets.reserve(
            turn(f"m{number}", assistant=f"a{number % 2}"),
            spend=Spend(model_calls=1, micros=50),
            limits=Limits(),
            tenant_usd_per_day=0.002,
            now=NOON,
        )
        if isinstance(found, Reservation):
            allowed += 1
            await ledger.budgets.settle(found, actual=Spend(model_calls=1, micros=40), now=NOON)
    return allowed


async def test_a_tenants_day_is_never_overspent_by_four_processes(url: str, ledger: Ledger) -> None:
    allowed = await race(day_of_work, url, processes=4)
    spent = await ledger.budgets.spent("acme", TODAY)
    assert spent == sum(allowed) * 40
    # Refused above 1950 only, of which three others' reservations may have given back 10 each.
    assert 1_921 <= spent <= 2_000
    parts = [await ledger.budgets.spent("acme", TODAY, assistant=f"a{number}") for number in (0, 1)]
    assert sum(parts) == spent


async def settle_together(ledger: Ledger, _number: int) -> str:
    found = await ledger.budgets.reserve(turn(), spend=CALL, limits=Limits(), now=NOON, key="call1")
    assert isinstance(found, Reservation)
    return await ledger.budgets.settle(found, actual=Spend(model_calls=1, micros=10), now=NOON)


async def test_one_decision_in_four_processes_is_reserved_and_settled_once(url: str, ledger: Ledger) -> None:
    answers = await race(settle_together, url, processes=4)
    assert sorted(answers) == ["already", "already", "already", "settled"]
    assert await used(ledger) == Spend(model_calls=1, micros=10)


async def held_up(url: str, rows: sa.Select[Any], *tasks: Coroutine[Any, Any, Any]) -> list[Any]:
    """What the tasks give when all of them have met `rows` locked, before any could go on."""
    database = LedgerDatabase(url)
    waiting = sa.text("SELECT count(*) FROM pg_stat_activity, pg_sleep(0.01) WHERE wait_event_type = 'Lock'")
    async with database.writing() as connection:
        assert (await connection.execute(rows.with_for_update())).all() != []
        running = [asyncio.create_task(task) for task in tasks]
        seen = -1
        async with asyncio.timeout(20):
            while seen != len(tasks):
                async with database.reading() as observer:  # a transaction sees one state of the statistics
                    seen = await observer.scalar(waiting)
    await database.dispose()
    return list(await asyncio.gather(*running))


@pytest.mark.parametrize(
    ("rows", "options", "bound"),
    [
        (sa.select(TURNS), {"limits": Limits(model_calls=2)}, "model_calls"),
        (sa.select(DAYS).where(DAYS.c.assistant == ""), {"tenant_usd_per_day": 0.0001}, "tenant_usd_per_day"),
        (
            sa.select(DAYS).where(DAYS.c.assistant == "support"),
            {"limits": Limits(usd_per_day=0.0001)},
            "usd_per_day",
        ),
    ],
    ids=["turn", "tenant", "assistant"],
)
async def test_two_that_meet_at_the_same_row_of_postgres_are_one_after_the_other(
    postgres_database: str, rows: sa.Select[Any], options: dict[str, Any], bound: str
) -> None:
    """Both arrive before either may go on; without the row's lock both would read the old amount."""
    ledger = Ledger(postgres_database)
    await reserve(ledger, Spend(model_calls=1, micros=20))
    # Money only where the day is in question: its lock would keep the two apart before they meet the turn.
    spend = Spend(model_calls=1, micros=0 if bound == "model_calls" else 50)
    turns = (turn(), turn()) if bound == "model_calls" else (turn("m2"), turn("m3"))
    arguments: dict[str, Any] = {"spend": spend, "limits": Limits(), "now": NOON, **options}
    found = await held_up(postgres_database, rows, *(ledger.budgets.reserve(of, **arguments) for of in turns))
    assert sorted(type(answer).__name__ for answer in found) == ["Exhausted", "Reservation"]
    assert [answer.bound for answer in found if isinstance(answer, Exhausted)] == [bound]
    await ledger.dispose()


# Whether a decision was counted


async def test_whether_a_key_was_reserved_is_known_for_threads_that_the_ledger_knows(ledger: Ledger) -> None:
    async def reserved(key: str, *, tenant: str = "acme", thread: str = "t1") -> bool | None:
        return await ledger.budgets.reserved(tenant, thread=thread, key=key)

    assert await reserved("call:1") is None
    await reserve(ledger, key="call:1")
    await reserve(ledger, of=turn("m2"), key="call:2")
    assert [await reserved(f"call:{number}") for number in range(4)] == [False, True, True, False]
    assert await reserved("call:1", tenant="globex") is None
    assert await reserved("call:1", thread="t2") is None


async def test_a_key_stays_reserved_whatever_becomes_of_it(ledger: Ledger) -> None:
    """Settled, given back or expired: the execution may have begun."""
    moment = later(minutes=1)
    settled, released = await reserve(ledger, key="a"), await reserve(ledger, key="b")
    await reserve(ledger, key="c", lifetime=timedelta(0))
    await ledger.budgets.settle(settled, actual=NOTHING, now=moment)
    await ledger.budgets.release(released, now=moment)
    found = [await ledger.budgets.reserved("acme", thread="t1", key=key) for key in "abcd"]
    assert found == [True, True, True, False]


async def test_a_refused_key_was_not_reserved(ledger: Ledger) -> None:
    await reserve(ledger, Spend(tool_calls=1), key="first", limits=Limits(tool_calls=1))
    await refused(ledger, Spend(tool_calls=1), key="second", limits=Limits(tool_calls=1))
    assert await ledger.budgets.reserved("acme", thread="t1", key="first") is True
    assert await ledger.budgets.reserved("acme", thread="t1", key="second") is False


@pytest.mark.parametrize("key", ["x" * 10_000, "nul \x00", "lone \ud83d", "", "a b\nc"])
async def test_any_key_is_found_again(ledger: Ledger, key: str) -> None:
    await reserve(ledger, key=f"call:{key}")
    assert await ledger.budgets.reserved("acme", thread="t1", key=f"call:{key}") is True
    assert await ledger.budgets.reserved("acme", thread="t1", key=f"call:{key}2") is False
