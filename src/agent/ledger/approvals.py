"""Approvals in the database: ask once, decide once, execute once. Every change is in the audit chain too.

Record and audit entry are written in one transaction, so a decision without its entry does not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.ledger.approval import (
    Approval,
    ApprovalRequest,
    Decided,
    Expired,
    Refused,
    Ruling,
    State,
    Undecided,
    Verdict,
    close,
    reopened,
    rule,
)
from agent.ledger.approval_row import approval_of, row_of
from agent.ledger.audit import record
from agent.ledger.chain import Event, code
from agent.ledger.database import LedgerDatabase, insert_new
from agent.ledger.identity import stored
from agent.ledger.tables import APPROVALS

_SYSTEM: Final = "signalbox"  # who closes a request that no person decides
_REASON: Final = 2_000  # characters of a person's words that are kept


class Approvals:
    """The approvals of all tenants; a tenant sees and decides its own only."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database

    async def request(self, request: ApprovalRequest) -> Approval:
        """Ask for a decision, or get the record of the same call, arguments and release.

        A replayed graph may wait under another interrupt id; a pending record follows it. What was pending
        for the same call with other arguments or under another release is superseded. A record that was
        closed in that way, or withdrawn, is pending again.
        """
        asked = Approval(id=request.id, request=request)
        async with self._database.writing() as connection:
            new = await connection.run_sync(insert_new, APPROVALS, row_of(asked))
            found = await _one(connection, asked.id, lock=True) or asked
            again = reopened(found, request)
            if again != found:
                await _write(connection, again)
            if new or again != found:
                await _supersede_others(connection, asked)
                await _tell(connection, "requested", asked, actor=request.requester, now=request.created_at)
            found = again
            if found.state == "pending" and found.request.interrupt != request.interrupt:
                found = replace(found, request=replace(found.request, interrupt=request.interrupt))
                await _write(connection, found)
            return found

    async def get(self, tenant: str | None, identity: str) -> Approval | None:
        """The tenant's approval of that id, or `None`; without a tenant, whoever's it is."""
        async with self._database.reading() as connection:
            found = await _one(connection, identity, lock=False)
            foreign = found is not None and tenant is not None and found.request.tenant != stored(tenant)
            return None if foreign else found

    async def search(
        self,
        tenant: str | None,
        *,
        thread: str | None = None,
        requester: str | None = None,
        interrupts: Collection[str] | None = None,
        states: Collection[State] | None = None,
        limit: int = 200,
    ) -> list[Approval]:
        """The records that match, newest first, at most `limit`.

        Args:
            tenant: Whose; `None` for every tenant's.
            thread: Of one thread.
            requester: Asked for by one person (`tenant/user`).
            interrupts: Under one of these interrupts.
            states: In one of these states as they are written; what is late is `pending` until it is closed.
            limit: How many.
        """
        table = APPROVALS.c
        query = sa.select(APPROVALS).order_by(table.created_at.desc(), table.id).limit(limit)
        for column, value in ((table.tenant, tenant), (table.thread, thread), (table.requester, requester)):
            query = query if value is None else query.where(column == value)
        for column, values in ((table.interrupt, interrupts), (table.state, states)):
            query = query if values is None else query.where(column.in_(values))
        async with self._database.reading() as connection:
            return [approval_of(row) for row in (await connection.execute(query)).mappings()]

    async def pending(self, tenant: str, *, now: datetime, thread: str | None = None) -> list[Approval]:
        """What waits for a decision at `now`, oldest first: of the tenant, or of one of its threads."""
        table = APPROVALS.c
        conditions = [
            table.tenant == tenant,
            table.state == "pending",
            sa.or_(table.expires_at.is_(None), table.expires_at > now),
        ]
        if thread is not None:
            conditions.append(table.thread == thread)
        query = sa.select(APPROVALS).where(*conditions).order_by(table.created_at, table.id)
        async with self._database.reading() as connection:
            return [approval_of(row) for row in (await connection.execute(query)).mappings()]

    async def of_call(self, tenant: str, *, thread: str, call_id: str) -> Approval | None:
        """The newest record of a call on one of the tenant's threads, or `None` when nobody was asked."""
        table = APPROVALS.c
        query = (
            sa.select(APPROVALS)
            .where(table.tenant == tenant, table.thread == thread, table.call_id == call_id)
            .order_by(table.created_at.desc(), table.id)
            .limit(1)
        )
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).mappings().one_or_none()
            return None if row is None else approval_of(row)

    async def decide(self, tenant: str, identity: str, verdict: Verdict, *, now: datetime) -> Ruling:
        """Take a person's decision; of several, the first counts.

        Another tenant's approval is `Refused("unknown")`, like one that does not exist.
        """
        async with self._database.writing() as connection:
            found = await _one(connection, identity, lock=True)
            if found is None or found.request.tenant != stored(tenant):
                return Refused("unknown")
            ruling = rule(found, _bounded(verdict), now=now)
            if isinstance(ruling, Decided):
                await _write(connection, ruling.approval)
                await _tell(connection, ruling.approval.state, ruling.approval, actor=verdict.by, now=now)
            if isinstance(ruling, Expired) and ruling.approval != found:
                await _write(connection, ruling.approval)
                await _tell(connection, "expired", ruling.approval, actor=_SYSTEM, now=now)
            return ruling

    async def decide_all(
        self, tenant: str, verdicts: Mapping[str, Verdict], *, now: datetime
    ) -> dict[str, Ruling]:
        """Take the decisions on several requests of a tenant: all of them, or none.

        Returns:
            By id what became of each. Where one is not `Decided`, nothing was written. The very decision that
            was taken before counts as `Decided` again, and changes nothing.
        """
        rulings: dict[str, Ruling] = {}
        taken: list[tuple[Approval, str]] = []
        async with self._database.writing() as connection:
            for identity in sorted(verdicts):  # in one order, so that two callers can't wait for each other
                verdict = _bounded(verdicts[identity])
                found = await _one(connection, identity, lock=True)
                if found is None or found.request.tenant != stored(tenant):
                    rulings[identity] = Refused("unknown")
                    continue
                rulings[identity] = ruling = rule(found, verdict, now=now, again=True)
                if isinstance(ruling, Decided) and ruling.approval != found:
                    taken.append((ruling.approval, verdict.by))
            if all(isinstance(ruling, Decided) for ruling in rulings.values()):
                for approval, by in taken:
                    await _write(connection, approval)
                    await _tell(connection, approval.state, approval, actor=by, now=now)
        return rulings

    async def withdraw(
        self, tenant: str, *, thread: str, now: datetime, only: Collection[str] | None = None
    ) -> list[Approval]:
        """Close what is pending on a thread that waits no longer, or for which a new message came.

        Args:
            tenant: Whose thread.
            thread: The thread.
            now: The moment, aware.
            only: The ids to close; by default all. Proposals (without an interrupt) stay: no thread waits
                for them.

        Returns:
            What was closed.
        """
        table = APPROVALS.c
        query = sa.select(APPROVALS).where(
            table.tenant == tenant,
            table.thread == thread,
            table.state == "pending",
            table.interrupt.is_not(None),
        )
        if only is not None:
            query = query.where(table.id.in_(only))
        async with self._database.writing() as connection:
            return await _close_all(connection, query, state="withdrawn", now=now)

    async def expire(self, now: datetime) -> list[Approval]:
        """Close what nobody decided in time, in every tenant; what was closed, each once."""
        table = APPROVALS.c
        late = sa.and_(table.state == "pending", table.expires_at <= now)
        async with self._database.reading() as connection:
            tenants = list(
                await connection.scalars(
                    sa.select(table.tenant).where(late).distinct().order_by(table.tenant)
                )
            )
        closed: list[Approval] = []
        for tenant in tenants:
            async with self._database.writing() as connection:
                query = sa.select(APPROVALS).where(late, table.tenant == tenant)
                closed += await _close_all(connection, query, state="expired", now=now)
        return closed

    async def granted(
        self,
        tenant: str,
        *,
        thread: str,
        turn: str,
        call_id: str,
        digest: str,
        release: str,
        key: str,
        now: datetime,
    ) -> bool:
        """Whether the call may be executed now with these arguments; asked right before the execution.

        Args:
            tenant: Whose call.
            thread: Its thread.
            turn: Its turn's id; a model that repeats call ids gains nothing in a later turn.
            call_id: The tool call's id.
            digest: The digest of the arguments that are about to be executed (`agent.ledger.digest`).
            release: The release that executes.
            key: The idempotency key that the tool will use. The first execution consumes the approval for
                this key; the same key is granted again (see `Approval.grants`), another never.
            now: The moment, aware.
        """
        table = APPROVALS.c
        query = sa.select(APPROVALS).where(
            table.tenant == tenant,
            table.thread == thread,
            table.turn == turn,
            table.call_id == call_id,
            table.granted_digest == digest,
        )
        async with self._database.writing() as connection:
            for found in await _locked(connection, query):
                if found.grants(digest=digest, release=release, key=key):
                    await _consume(connection, found, key=key, now=now)
                    return True
        return False


async def _consume(connection: AsyncConnection, found: Approval, *, key: str, now: datetime) -> None:
    if found.consumed_key is not None:
        return
    used = replace(found, consumed_at=now, consumed_key=key)
    await _write(connection, used)
    await _tell(connection, "consumed", used, actor=used.request.requester, now=now)


async def _supersede_others(connection: AsyncConnection, asked: Approval) -> None:
    table, request = APPROVALS.c, asked.request
    query = sa.select(APPROVALS).where(
        table.tenant == request.tenant,
        table.thread == request.thread,
        table.turn == request.turn,
        table.call_id == request.call_id,
        table.state == "pending",
        table.id != asked.id,
    )
    await _close_all(connection, query, state="superseded", now=request.created_at)


async def _close_all(
    connection: AsyncConnection, query: sa.Select[Any], *, state: Undecided, now: datetime
) -> list[Approval]:
    closed = [close(found, state=state, now=now) for found in await _locked(connection, query)]
    for approval in closed:
        await _write(connection, approval)
    for approval in closed:
        await _tell(connection, state, approval, actor=_SYSTEM, now=now)
    return closed


async def _locked(connection: AsyncConnection, query: sa.Select[Any]) -> list[Approval]:
    rows = await connection.execute(query.order_by(APPROVALS.c.id).with_for_update())
    return [approval_of(row) for row in rows.mappings()]


async def _one(connection: AsyncConnection, identity: str, *, lock: bool) -> Approval | None:
    query = sa.select(APPROVALS).where(APPROVALS.c.id == identity)
    row = (await connection.execute(query.with_for_update() if lock else query)).mappings().one_or_none()
    return None if row is None else approval_of(row)


async def _write(connection: AsyncConnection, approval: Approval) -> None:
    await connection.execute(
        sa.update(APPROVALS).where(APPROVALS.c.id == approval.id).values(**row_of(approval))
    )


async def _tell(
    connection: AsyncConnection, what: str, approval: Approval, *, actor: str, now: datetime
) -> None:
    request = approval.request
    event = Event(
        action=f"approval.{what}",
        actor=actor,
        assistant=request.assistant,
        release=request.release,
        thread=request.thread,
        turn=request.turn,
        run=request.run,
        facts={
            "approval": approval.id,
            "call": code(request.call_id),
            "tool": code(request.tool),
            "digest": request.digest,
            "granted": approval.granted_digest,
        },
    )
    await connection.run_sync(record, request.tenant, event, now=now)


def _bounded(verdict: Verdict) -> Verdict:
    return replace(verdict, reason=None if verdict.reason is None else verdict.reason[:_REASON])
