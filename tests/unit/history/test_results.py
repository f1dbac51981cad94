from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolCall

from agent.context import Limits
from agent.history.calls import Outcome
from agent.history.results import LedgerResults
from agent.ledger import Approval, Decided, Ledger, Reservation, Spend, call_key
from tests.unit.ledger.samples import asking, saying, turn

pytestmark = pytest.mark.anyio

CALL = ToolCall(name="orders_refund", args={"order": 1001, "amount": 150.0}, id="call1", type="tool_call")


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[Ledger]:
    ledger = Ledger(f"sqlite+aiosqlite:///{tmp_path}/ledger.db")
    yield ledger
    await ledger.dispose()


def now() -> datetime:
    return datetime.now(UTC)


async def ended(ledger: Ledger, call: ToolCall = CALL, *, tenant: str = "acme", thread: str = "t1") -> Any:
    return await LedgerResults(ledger).get(tenant, thread=thread, call=call)


async def began(ledger: Ledger, call: ToolCall = CALL, *, tenant: str = "acme", thread: str = "t1") -> bool:
    return await LedgerResults(ledger).began(tenant, thread=thread, call=call)


async def put(ledger: Ledger, text: str, outcome: str, *, call_id: str = "call1") -> None:
    assert await ledger.results.put(
        "acme", thread="t1", call_id=call_id, text=text, outcome=outcome, now=now()
    )


async def asked(ledger: Ledger, **changes: Any) -> Approval:
    moment = now()
    changes = {"created_at": moment, "expires_at": moment + timedelta(hours=1), **changes}
    return await ledger.approvals.request(asking(**changes))


async def decide(ledger: Ledger, record: Approval, decision: str, **changes: Any) -> None:
    verdict = saying(decision, **changes)
    assert isinstance(await ledger.approvals.decide("acme", record.id, verdict, now=now()), Decided)


async def count(ledger: Ledger, call_id: str = "call1", *, thread: str = "t1") -> None:
    """What the guard does before a write is executed."""
    held = await ledger.budgets.reserve(
        turn(thread=thread),
        spend=Spend(tool_calls=1),
        limits=Limits(),
        now=now(),
        key=call_key(call_id),
        lifetime=timedelta(0),
    )
    assert isinstance(held, Reservation)


def refused(code: str, text: str) -> Outcome:
    return Outcome("failed", json.dumps({"error": code, "message": text}))


# How a call ended


async def test_of_a_call_that_nobody_recorded_nothing_is_known(ledger: Ledger) -> None:
    assert await ended(ledger) is None


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [("ok", "known"), ("tool_failed", "failed"), ("tool_timeout", "failed"), ("tool_denied", "failed")],
)
async def test_a_recorded_result_is_known_and_a_recorded_failure_is_one(
    ledger: Ledger, outcome: str, ending: Any
) -> None:
    await put(ledger, "bezahlt", outcome)
    assert await ended(ledger) == Outcome(ending, "bezahlt")


async def test_a_result_comes_back_as_an_endpoint_takes_it(ledger: Ledger) -> None:
    await put(ledger, "nul \x00 lone \ud83d 已", "ok")
    assert await ended(ledger) == Outcome("known", "nul \ufffd lone \ufffd 已")


async def test_a_result_is_its_own_call_s_thread_s_and_tenant_s(ledger: Ledger) -> None:
    await put(ledger, "paid", "ok")
    await asked(ledger)
    assert await ended(ledger, tenant="globex") is None
    assert await ended(ledger, thread="t2") is None
    other = ToolCall(name="orders_refund", args=CALL["args"], id="call2", type="tool_call")
    assert await ended(ledger, other) is None
    assert await ended(ledger) == Outcome("known", "paid")


@pytest.mark.parametrize("identity", ["x" * 10_000, "nul \x00", "lone \ud83d", "a b\nc", "已", ""])
async def test_any_id_finds_its_own_result(ledger: Ledger, identity: str) -> None:
    await put(ledger, "mine", "ok", call_id=identity)
    await put(ledger, "another's", "ok", call_id=f"{identity}1")
    call = ToolCall(name="orders_refund", args={}, id=identity, type="tool_call")
    assert await ended(ledger, call) == Outcome("known", "mine")
    unnamed = ToolCall(name="orders_refund", args={}, id=None, type="tool_call")
    assert (await ended(ledger, unnamed) is None) is (identity != "")


async def test_a_result_counts_more_than_a_decision(ledger: Ledger) -> None:
    await decide(ledger, await asked(ledger), "reject")
    await put(ledger, "paid", "ok")
    assert await ended(ledger) == Outcome("known", "paid")


# What a person decided


@pytest.mark.parametrize(("reason", "said"), [(None, ""), ("too much", " Their reason: too much")])
async def test_a_rejected_call_was_not_executed(ledger: Ledger, reason: str | None, said: str) -> None:
    await decide(ledger, await asked(ledger), "reject", reason=reason)
    assert await ended(ledger) == refused(
        "approval_rejected",
        f"A person rejected orders_refund; it was not executed.{said} Do not try it again in any form.",
    )


async def test_a_call_that_nobody_decided_in_time_was_not_executed(ledger: Ledger) -> None:
    late = now() - timedelta(hours=2)
    await asked(ledger, created_at=late, expires_at=late + timedelta(hours=1))
    assert await ended(ledger) == refused(
        "approval_expired",
        "Nobody decided on orders_refund in time; it was not executed. Tell the user, do not repeat it.",
    )


async def test_a_withdrawn_call_was_not_executed(ledger: Ledger) -> None:
    await asked(ledger)
    assert len(await ledger.approvals.withdraw("acme", thread="t1", now=now())) == 1
    assert await ended(ledger) == refused(
        "approval_withdrawn", "The request to approve orders_refund was withdrawn; it was not executed."
    )


@pytest.mark.parametrize("decision", ["approve", "edit"])
async def test_a_granted_call_may_have_been_executed(ledger: Ledger, decision: str) -> None:
    """Nobody knows whether it was: the caller has to say so."""
    edited = {"order": 1001, "amount": 1.0} if decision == "edit" else None
    await decide(ledger, await asked(ledger), decision, edited=edited)
    assert await ended(ledger) is None


async def test_of_several_questions_the_newest_counts(ledger: Ledger) -> None:
    earlier = now() - timedelta(minutes=5)
    first = await asked(ledger, created_at=earlier, expires_at=None)
    await decide(ledger, first, "reject", reason="first")
    await decide(ledger, await asked(ledger, release="r2"), "reject", reason="second")
    assert "Their reason: second" in (await ended(ledger)).text


# Whether it began


async def test_in_a_thread_that_the_ledger_does_not_know_a_call_may_have_begun(ledger: Ledger) -> None:
    assert await began(ledger)
    await count(ledger, thread="t2")
    assert await began(ledger)


async def test_in_a_thread_that_it_knows_a_call_began_when_it_was_counted(ledger: Ledger) -> None:
    await count(ledger)
    assert await began(ledger)
    other = ToolCall(name="orders_refund", args={}, id="call2", type="tool_call")
    assert not await began(ledger, other)
    assert await began(ledger, other, tenant="globex")
    assert await began(ledger, other, thread="t2")


async def test_a_model_call_in_the_thread_is_no_beginning_of_a_tool_s(ledger: Ledger) -> None:
    held = await ledger.budgets.reserve(turn(), spend=Spend(model_calls=1), limits=Limits(), now=now())
    assert isinstance(held, Reservation)
    assert not await began(ledger)


@pytest.mark.parametrize("identity", ["x" * 10_000, "nul \x00", "lone \ud83d"])
async def test_any_id_finds_its_own_beginning(ledger: Ledger, identity: str) -> None:
    await count(ledger, identity)
    call = ToolCall(name="orders_refund", args={}, id=identity, type="tool_call")
    assert await began(ledger, call)
    assert not await began(ledger)
