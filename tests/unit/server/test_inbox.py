"""The inbox over a real ledger; outside a server nobody knows of threads, so the test tells of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from agent.ledger import Approval, Decided, Ledger, Verdict
from assistants.server import inbox
from assistants.server.access import Refused
from assistants.server.continuation import Continuation
from assistants.server.run import RunRequest
from assistants.server.waiting import ThreadFacts
from tests.unit.server.test_continuation import run
from tests.unit.server.waits import ANN, APPROVE, NOON, ONE, THREE, TWO, asked, thread

pytestmark = pytest.mark.anyio


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[Ledger]:
    ledger = Ledger(f"sqlite+aiosqlite:///{tmp_path / 'ledger.db'}")
    yield ledger
    await ledger.dispose()


async def ask(ledger: Ledger, *interrupts: str | None, **changes: Any) -> list[Approval]:
    return [await ledger.approvals.request(asked(interrupt, **changes).request) for interrupt in interrupts]


def threads(monkeypatch: pytest.MonkeyPatch, facts: ThreadFacts | None) -> list[str]:
    """Let every thread be this one; the ids that are asked for."""
    looked: list[str] = []

    async def thread_facts(identity: str) -> ThreadFacts | None:
        looked.append(identity)
        return facts

    monkeypatch.setattr(inbox, "thread_facts", thread_facts)
    return looked


async def standing(ledger: Ledger, *, resume: object = None, look: bool = False) -> Any:
    return await inbox.standing(ledger, "acme", "t1", resume=resume, look=look, now=NOON)


async def state(ledger: Ledger, record: Approval) -> str:
    found = await ledger.approvals.get("acme", record.id)
    assert found is not None
    return found.state


async def test_a_thread_on_which_nothing_is_asked_is_not_read(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threads(monkeypatch, thread())
    await ask(ledger, None)
    await ask(ledger, ONE, thread="t2")
    assert await standing(ledger) == (None, ())
    assert looked == []


async def test_a_thread_that_waits_comes_with_its_records(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threads(monkeypatch, thread(ONE, TWO))
    one, two = await ask(ledger, ONE, TWO)
    facts, records = await standing(ledger)
    assert (facts, looked) == (thread(ONE, TWO), ["t1"])
    assert sorted(record.id for record in records) == sorted([one.id, two.id])


async def test_a_thread_may_be_read_in_any_case(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    threads(monkeypatch, thread())
    assert await standing(ledger, look=True) == (thread(), ())
    threads(monkeypatch, None)
    assert await standing(ledger, look=True) == (None, ())


async def test_what_the_thread_waits_for_no_longer_is_withdrawn(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stale record never locks a thread."""
    threads(monkeypatch, thread(TWO))
    one, two = await ask(ledger, ONE, TWO)
    (proposal,) = await ask(ledger, None)
    facts, records = await standing(ledger)
    assert facts == thread(TWO)
    assert {record.id for record in records} == {two.id, proposal.id}
    assert [await state(ledger, each) for each in (one, two, proposal)] == ["withdrawn", "pending", "pending"]


async def test_while_the_thread_is_busy_nothing_is_withdrawn(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads(monkeypatch, thread(busy=True))
    (one,) = await ask(ledger, ONE)
    _, records = await standing(ledger)
    assert [record.id for record in records] == [one.id]
    assert await state(ledger, one) == "pending"


async def test_the_records_of_a_deleted_thread_are_withdrawn(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads(monkeypatch, None)
    (one,) = await ask(ledger, ONE)
    assert await standing(ledger) == (None, ())
    assert await state(ledger, one) == "withdrawn"


async def test_an_answer_finds_what_became_of_the_question_it_names(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads(monkeypatch, thread(TWO))
    one, two = await ask(ledger, ONE, TWO)
    verdict = Verdict("approve", "acme/boss", frozenset({"approver"}))
    await ledger.approvals.decide("acme", one.id, verdict, now=NOON)
    _, records = await standing(ledger, resume={ONE: APPROVE, THREE: APPROVE}, look=True)
    assert {record.id: record.state for record in records} == {one.id: "approved", two.id: "pending"}


# Taking what a run brings


def bringing(*records: Approval, withdrawn: tuple[str, ...] = (), by: str = "boss") -> Continuation:
    verdict = Verdict("approve", f"acme/{by}", frozenset({"approver"}))
    verdicts = dict.fromkeys((record.id for record in records), verdict)
    return Continuation(ANN, {}, verdicts=verdicts, withdrawn=withdrawn)


def showing(*records: Approval) -> RunRequest:
    return run(records=records)


async def test_decisions_are_taken_before_the_run(ledger: Ledger) -> None:
    records = await ask(ledger, ONE, TWO)
    assert await inbox.take(ledger, "acme", showing(*records), bringing(*records), now=NOON) is None
    assert [await state(ledger, record) for record in records] == ["approved", "approved"]


async def test_who_was_slower_is_told_and_nothing_is_taken(ledger: Ledger) -> None:
    one, two = await ask(ledger, ONE, TWO)
    rejected = Verdict("reject", "acme/bea", frozenset({"approver"}))
    assert isinstance(await ledger.approvals.decide("acme", two.id, rejected, now=NOON), Decided)
    late = await inbox.take(ledger, "acme", showing(one, two), bringing(one, two), now=NOON)
    assert isinstance(late, Refused)
    assert (late.status, "rejected by acme/bea already" in late.detail) == (409, True)
    assert await state(ledger, one) == "pending"


async def test_a_message_withdraws_what_it_ends_and_no_more(ledger: Ledger) -> None:
    one, two = await ask(ledger, ONE, TWO)
    going = bringing(withdrawn=(one.id,))
    assert await inbox.take(ledger, "acme", showing(one, two), going, now=NOON) is None
    assert [await state(ledger, record) for record in (one, two)] == ["withdrawn", "pending"]
    stateless = replace(showing(one, two), thread=None)
    assert await inbox.take(ledger, "acme", stateless, bringing(withdrawn=(two.id,)), now=NOON) is None
    assert await state(ledger, two) == "pending"


# What waits


async def test_a_thread_waits_while_somebody_can_answer(ledger: Ledger) -> None:
    await ask(ledger, ONE)
    await ask(ledger, None, thread="t2")
    assert await inbox.waits(ledger, "acme", "t1", now=NOON)
    for tenant, identity, now in (
        ("acme", "t2", NOON),
        ("acme", "t9", NOON),
        ("globex", "t1", NOON),
        ("acme", "t1", NOON + timedelta(hours=1)),
    ):
        assert not await inbox.waits(ledger, tenant, identity, now=now)


async def test_the_marks_follow_the_ledger(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[tuple[str, set[str]]] = []

    async def mark_waiting(tenant: str, waiting: Collection[str]) -> list[str]:
        marked.append((tenant, set(waiting)))
        return ["t3"]

    monkeypatch.setattr(inbox, "mark_waiting", mark_waiting)
    await ask(ledger, ONE, TWO)
    await ask(ledger, None, thread="t2")
    (gone,) = await ask(ledger, ONE, thread="t3")
    await ask(ledger, ONE, tenant="globex", requester="globex/u")
    await inbox.refresh(ledger, "acme", now=NOON)
    assert marked == [("acme", {"t1", "t3"})]
    assert await state(ledger, gone) == "withdrawn", "its thread is gone"


# Closing


async def test_what_is_late_is_closed_again_and_again_until_the_end(ledger: Ledger) -> None:
    late = datetime.now(UTC) - timedelta(minutes=1)
    closing = asyncio.create_task(inbox.close_late(ledger, every=0.01))
    try:
        for interrupt in (ONE, TWO):
            (record,) = await ask(ledger, interrupt, expires_at=late)
            async with asyncio.timeout(10):
                while await state(ledger, record) != "expired":  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.01)
    finally:
        closing.cancel()
        await asyncio.wait([closing])
    assert closing.cancelled()


async def test_a_database_that_fails_once_does_not_end_it(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[datetime] = []
    twice = asyncio.Event()

    async def expire(now: datetime) -> list[Approval]:
        tries.append(now)
        if len(tries) == 1:
            raise OperationalError("BEGIN", {}, Exception("locked"))
        twice.set()
        return []

    monkeypatch.setattr(ledger.approvals, "expire", expire)
    closing = asyncio.create_task(inbox.close_late(ledger, every=0.01))
    async with asyncio.timeout(10):
        await twice.wait()
    closing.cancel()
    await asyncio.wait([closing])
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        "approvals could not be closed; the next round tries again"
    ]
