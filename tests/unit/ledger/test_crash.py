"""The ledger after kill -9: what was counted stays counted, what was told stays told."""

from __future__ import annotations

import asyncio
import multiprocessing
from multiprocessing.queues import Queue as ProcessQueue
from typing import Any

import pytest

from agent.context import Limits
from agent.ledger import Event, Exhausted, Intact, Ledger, Reservation, Spend, arguments_digest
from tests.unit.ledger.samples import NOON, asking, later, saying, turn

pytestmark = pytest.mark.anyio

CALL = Spend(model_calls=1, micros=100)
LIMITS = Limits(usd_per_run=0.0001)


def reserve_and_hang(url: str, told: ProcessQueue[Any]) -> None:
    async def work() -> None:
        found = await Ledger(url).budgets.reserve(turn(), spend=CALL, limits=LIMITS, now=NOON)
        told.put(type(found).__name__)
        await asyncio.Event().wait()

    asyncio.run(work())


def append_for_ever(url: str, told: ProcessQueue[Any]) -> None:
    async def work() -> None:
        ledger = Ledger(url)
        while True:
            entry = await ledger.audit.append("acme", Event("tool.done", "acme/u1"), now=NOON)
            told.put(entry.seq)

    asyncio.run(work())


def execute_and_hang(url: str, told: ProcessQueue[Any]) -> None:
    async def work() -> None:
        ledger = Ledger(url)
        told.put(await executed(ledger))
        await ledger.results.put("acme", thread="t1", call_id="call1", text="R-1", outcome="ok", now=NOON)
        told.put("result stored")
        await asyncio.Event().wait()

    asyncio.run(work())


async def executed(ledger: Ledger, *, key: str = "acme:t1:call1") -> bool:
    return await ledger.approvals.granted(
        "acme",
        thread="t1",
        turn="m1",
        call_id="call1",
        digest=arguments_digest(asking().arguments),
        release="r1",
        key=key,
        now=later(minutes=1),
    )


async def killed_after(target: Any, url: str, *, messages: int) -> list[Any]:
    """What the process said, `messages` times, before it was killed with SIGKILL."""

    def run() -> list[Any]:
        context = multiprocessing.get_context("forkserver")
        told = context.Queue()
        process = context.Process(target=target, args=(url, told))
        process.start()
        try:
            return [told.get(timeout=60) for _ in range(messages)]
        finally:
            process.kill()
            process.join()
            told.close()
            told.join_thread()
            assert process.exitcode == -9

    return await asyncio.to_thread(run)


async def test_money_that_a_killed_process_had_reserved_is_gone(ledger: Ledger, url: str) -> None:
    """Invariant 6: a crash between the call and its settlement must not open the budget again."""
    assert await killed_after(reserve_and_hang, url, messages=1) == ["Reservation"]
    for now in (NOON, later(hours=1), later(days=90)):
        again = await ledger.budgets.reserve(turn(), spend=CALL, limits=LIMITS, now=now)
        assert again == Exhausted("usd_per_run", 100, 100)
    account = await ledger.budgets.account(turn(), now=later(hours=1))
    assert account is not None
    assert (account.used, account.held) == (CALL, Spend())
    assert await ledger.budgets.spent("acme", turn().day) == 100


async def test_a_chain_whose_writer_was_killed_is_intact_and_goes_on(ledger: Ledger, url: str) -> None:
    told = await killed_after(append_for_ever, url, messages=15)
    assert told == list(range(1, 16))
    outcome = await ledger.audit.verify("acme")
    assert isinstance(outcome, Intact)
    assert outcome.count >= 15, "whatever was confirmed is there"
    following = await ledger.audit.append("acme", Event("tool.done", "acme/u2"), now=NOON)
    assert (following.seq, following.prev) == (outcome.count + 1, outcome.head.hash)


async def test_a_call_whose_process_was_killed_may_be_repeated_under_its_key(
    ledger: Ledger, url: str
) -> None:
    """Invariant 4: the same effect is asked for again, with the key that the shop recognises; no other is."""
    approval = await ledger.approvals.request(asking())
    await ledger.approvals.decide("acme", approval.id, saying(), now=NOON)
    assert await killed_after(execute_and_hang, url, messages=2) == [True, "result stored"]
    assert await executed(ledger)
    assert not await executed(ledger, key="another")
    kept = await ledger.results.get("acme", thread="t1", call_id="call1")
    assert kept is not None
    assert kept.text == "R-1", "and the result that the runtime lost is here (field case 3)"
    assert [entry.action for entry in await ledger.audit.read("acme")] == [
        "approval.requested",
        "approval.approved",
        "approval.consumed",
    ]


async def test_a_reservation_is_settled_by_whoever_takes_over(ledger: Ledger, url: str) -> None:
    first = await ledger.budgets.reserve(turn(), spend=CALL, limits=LIMITS, now=NOON, key="call1")
    assert isinstance(first, Reservation)
    successor = Ledger(url)
    same = await successor.budgets.reserve(
        turn(), spend=CALL, limits=LIMITS, now=later(minutes=1), key="call1"
    )
    assert isinstance(same, Reservation)
    assert same == first
    settled = await successor.budgets.settle(
        same, actual=Spend(model_calls=1, micros=30), now=later(minutes=2)
    )
    assert settled == "settled"
    assert await ledger.budgets.settle(first, actual=CALL, now=later(minutes=3)) == "already"
    assert await ledger.budgets.spent("acme", turn().day) == 30
    await successor.dispose()
