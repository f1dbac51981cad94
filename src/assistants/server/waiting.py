"""What a thread waits for, and what that means for a run that comes meanwhile. Pure.

The ledger says who was asked, the thread says for what it really stopped. A record counts while both agree:
one whose thread waits no longer is stale and must never lock the thread.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.context import AgentContext
from agent.ledger import Approval
from assistants.server.access import Refused


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """A thread as the server keeps it.

    `tenant` and `owner` are its metadata, `assistant` is the one that last ran on it, `busy` whether a run
    is under way or queued, `interrupts` the ids under which it waits.
    """

    tenant: str
    owner: str
    assistant: uuid.UUID | None
    busy: bool
    interrupts: tuple[str, ...]


def live(records: Iterable[Approval], facts: ThreadFacts, *, now: datetime) -> list[Approval]:
    """The records that still can be answered, and whose thread waits for that answer."""
    return [
        record
        for record in records
        if record.state == "pending"
        and not record.expired(now)
        and record.request.interrupt in facts.interrupts
    ]


def stale(records: Iterable[Approval], facts: ThreadFacts | None) -> list[Approval]:
    """The pending records that nobody waits for: their thread has gone on, or is gone (`None`).

    While the thread is busy none is: a run records what it asks for before it stops. Proposals never are: no
    thread waits for them.
    """
    if facts is not None and facts.busy:
        return []
    waiting = facts.interrupts if facts is not None else ()
    return [
        record
        for record in records
        if record.state == "pending"
        and record.request.interrupt is not None
        and record.request.interrupt not in waiting
    ]


def of_interrupts(records: Iterable[Approval], interrupts: Sequence[str]) -> dict[str, Approval]:
    """By interrupt the record that counts: of several, the newest that was not closed by another question.

    Args:
        records: Newest first.
        interrupts: The interrupts that are asked about.
    """
    found: dict[str, Approval] = {}
    for record in records:
        interrupt = record.request.interrupt
        if interrupt is None or interrupt not in interrupts:
            continue
        known = found.get(interrupt)
        if known is None or (_closed(known) and not _closed(record)):
            found[interrupt] = record
    return found


def message(context: AgentContext, waits: Sequence[Approval]) -> Refused | list[Approval]:
    """What a new message meets on a thread with live records: it is refused, or withdraws them (B-27)."""
    rule = context.concurrency.pending if context.concurrency else "refuse"
    if not waits or rule == "reject":
        return [*waits]
    asked = ", ".join(f"{record.request.tool} (approval {record.id})" for record in waits)
    return Refused(
        409,
        f"This thread waits for a decision on {asked}. Answer it with command.resume, with 'signalbox "
        "approvals' or with POST /ops/approvals/{id}; then send your message again.",
    )


def _closed(record: Approval) -> bool:
    return record.state in ("superseded", "withdrawn")
