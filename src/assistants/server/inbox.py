"""The inbox: which threads wait for a person, kept true between the ledger and the server's threads."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from agent.errors import AgentError
from agent.ledger import Approval, Decided, Ledger
from assistants.server.access import Refused
from assistants.server.answers import named, objection
from assistants.server.continuation import Continuation
from assistants.server.loopback import mark_waiting, thread_facts
from assistants.server.run import RunRequest
from assistants.server.waiting import ThreadFacts, stale

logger = logging.getLogger(__name__)

_EVERY: Final = 60.0


async def standing(
    ledger: Ledger, tenant: str, thread: str, *, resume: object, look: bool, now: datetime
) -> tuple[ThreadFacts | None, tuple[Approval, ...]]:
    """A thread and what was asked for on it; requests that it waits for no longer are withdrawn.

    Args:
        ledger: The deployment's ledger.
        tenant: Whose requests.
        thread: The thread.
        resume: What a run is to be resumed with, if it is.
        look: Whether the thread is to be read even where nothing is pending.
        now: The moment, aware.

    Returns:
        The thread, or `None` where there is none or it was not read; the records newest first (`RunRequest`).
    """
    pending = await ledger.approvals.search(tenant, thread=thread, states=["pending"])
    if not look and all(record.request.interrupt is None for record in pending):
        return None, ()
    facts = await thread_facts(thread)
    gone = {record.id for record in stale(pending, facts)}
    if gone:
        await ledger.approvals.withdraw(tenant, thread=thread, now=now, only=gone)
    interrupts = (*(facts.interrupts if facts is not None else ()), *named(resume))
    under = await ledger.approvals.search(tenant, thread=thread, interrupts=interrupts)
    known = {record.id for record in under}
    return facts, (*under, *(record for record in pending if record.id not in known | gone))


async def take(
    ledger: Ledger, tenant: str, request: RunRequest, going: Continuation, *, now: datetime
) -> Refused | None:
    """Record what a run brings: its decisions, all or none, and what its message withdraws.

    Returns:
        Why the decisions do not count, where somebody else was faster since they were judged.
    """
    if going.verdicts:
        rulings = await ledger.approvals.decide_all(tenant, going.verdicts, now=now)
        for record in request.records:
            ruling = rulings.get(record.id)
            if ruling is not None and not isinstance(ruling, Decided):
                return objection(ruling, record)
    if going.withdrawn and request.thread is not None:
        await ledger.approvals.withdraw(tenant, thread=request.thread, now=now, only=going.withdrawn)
    return None


async def waits(ledger: Ledger, tenant: str, thread: str, *, now: datetime) -> bool:
    """Whether the tenant's thread waits for a person's decision."""
    pending = await ledger.approvals.pending(tenant, now=now, thread=thread)
    return any(record.request.interrupt is not None for record in pending)


async def refresh(ledger: Ledger, tenant: str, *, now: datetime) -> None:
    """Bring the marks on the tenant's threads up to date; requests of threads that are gone are withdrawn."""
    pending = await ledger.approvals.pending(tenant, now=now)
    threads = {record.request.thread for record in pending if record.request.interrupt is not None}
    for thread in await mark_waiting(tenant, threads):
        await ledger.approvals.withdraw(tenant, thread=thread, now=now)


async def close_late(ledger: Ledger, *, every: float = _EVERY) -> None:
    """Close what nobody decided in time, again and again until cancelled."""
    while True:
        try:
            closed = await ledger.approvals.expire(datetime.now(UTC))
        except (SQLAlchemyError, AgentError):
            logger.exception("approvals could not be closed; the next round tries again")
        else:
            if closed:
                logger.info("approvals expired", extra={"count": len(closed)})
        await asyncio.sleep(every)
