"""Approvals: who asks for what, who may decide, and what a decision allows. Pure; `approvals` keeps them.

A record is bound to one call of one turn, to its arguments and to the release that asked. An edit approves
other arguments, whose digest then takes the place of the asked ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

import rfc8785

from agent.context import Decision
from agent.ledger.digest import arguments_digest
from agent.ledger.identity import stored

Undecided = Literal["expired", "superseded", "withdrawn"]
State = Literal["pending", "approved", "edited", "rejected"] | Undecided
Reason = Literal["unknown", "superseded", "withdrawn", "role", "self_approval", "decision", "arguments"]

_STATES: Final[dict[Decision, State]] = {"approve": "approved", "edit": "edited", "reject": "rejected"}


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A gated call that asks for a person's decision.

    `interrupt` is the id under which the graph waits, `None` for a proposal of an unattended run; `requester`
    is `tenant/user` with `requester_roles`, `role` the role that may decide, `expires_at` the moment from
    which nobody may.
    """

    tenant: str
    assistant: str
    release: str
    thread: str
    turn: str
    run: str
    call_id: str
    interrupt: str | None
    tool: str
    arguments: Mapping[str, Any]
    requester: str
    role: str
    self_approval: bool
    decisions: tuple[Decision, ...]
    created_at: datetime
    expires_at: datetime | None
    requester_roles: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of the arguments (`agent.ledger.digest`)."""
        return arguments_digest(self.arguments)

    @property
    def id(self) -> str:
        """sha256 (hexadecimal) over call, arguments and release: asking again gives the same record."""
        parts = (self.tenant, self.thread, self.turn, self.call_id, self.digest, self.release)
        return hashlib.sha256(rfc8785.dumps([stored(part) for part in parts])).hexdigest()


@dataclass(frozen=True, slots=True)
class Verdict:
    """A person's decision: `by` is `tenant/user`, `edited` the new arguments, `reason` their words.

    The caller has checked edited arguments against the tool's schema and policy; the tool stays the same.
    """

    decision: Decision
    by: str
    roles: Collection[str]
    edited: Mapping[str, Any] | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval's record. `granted_digest` is that of the arguments that may be executed, if any."""

    id: str
    request: ApprovalRequest
    state: State = "pending"
    decided_by: str | None = None
    decided_at: datetime | None = None
    edited: Mapping[str, Any] | None = None
    granted_digest: str | None = None
    reason: str | None = None
    consumed_at: datetime | None = None
    consumed_key: str | None = None

    def expired(self, now: datetime) -> bool:
        """Whether nobody has decided in time."""
        limit = self.request.expires_at
        return self.state == "expired" or (self.state == "pending" and limit is not None and limit <= now)

    def grants(self, *, digest: str, release: str, key: str) -> bool:
        """Whether a call with these arguments, under that release, may be executed with that idempotency key.

        The first execution consumes the approval for its key. The same key again is the same effect (after a
        crash between effect and checkpoint), which the service behind the tool recognises; another is not.
        """
        return (
            self.granted_digest == digest
            and self.request.release == stored(release)
            and self.consumed_key in {None, stored(key)}
        )


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision counts; `approval` is the record after it."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class AlreadyDecided:
    """Somebody decided before; `approval` says who and what."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class Expired:
    """The time to decide is over."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class Refused:
    """The decision does not count, and the request stays as it is.

    `unknown`: no such request of this tenant; `superseded`: the call was asked for again with other arguments
    or under another release; `withdrawn`: its thread waits no longer; `role`: the person lacks the role;
    `self_approval`: the person is the requester; `decision`: not one of the allowed ones; `arguments`: an
    edit without arguments, or arguments without one.
    """

    reason: Reason


Ruling = Decided | AlreadyDecided | Expired | Refused


def rule(approval: Approval, verdict: Verdict, *, now: datetime, again: bool = False) -> Ruling:
    """What a verdict does to a request at `now`.

    With `again`, the very decision that was taken is `Decided` with the record as it is: a client sends it
    once more when the run that was to carry it out did not start.
    """
    if approval.state in ("superseded", "withdrawn"):
        return Refused(approval.state)
    if approval.expired(now):
        return Expired(close(approval, state="expired", now=now))
    if approval.state != "pending" and not (again and _same(approval, verdict)):
        return AlreadyDecided(approval)
    objection = _objection(approval.request, verdict)
    if objection is not None:
        return Refused(objection)
    if approval.state != "pending":
        return Decided(approval)
    digest = approval.request.digest if verdict.edited is None else arguments_digest(verdict.edited)
    return Decided(
        replace(
            approval,
            state=_STATES[verdict.decision],
            decided_by=verdict.by,
            decided_at=now,
            edited=verdict.edited,
            granted_digest=None if verdict.decision == "reject" else digest,
            reason=verdict.reason,
        )
    )


def close(approval: Approval, *, state: Undecided, now: datetime) -> Approval:
    """The record of a pending request that nobody will decide any more; others stay as they are."""
    if approval.state != "pending":
        return approval
    return replace(approval, state=state, decided_at=now)


def reopened(approval: Approval, request: ApprovalRequest) -> Approval:
    """The record as `request` asks for it once more, where it was closed without anybody's decision.

    What was superseded or withdrawn is pending again, with its time anew, when the graph comes back to the
    call: after a rollback to the release that asked first, or a repair of the thread. What has expired stays.
    """
    if approval.state not in ("superseded", "withdrawn"):
        return approval
    return Approval(id=approval.id, request=request)


def _same(approval: Approval, verdict: Verdict) -> bool:
    """Whether the verdict is the decision that was taken: the same arguments, whoever says it."""
    if approval.state != _STATES[verdict.decision]:
        return False
    if approval.edited is None or verdict.edited is None:
        return approval.edited is verdict.edited
    return arguments_digest(approval.edited) == arguments_digest(verdict.edited)


def _objection(request: ApprovalRequest, verdict: Verdict) -> Reason | None:
    if request.role not in verdict.roles:
        return "role"
    if not request.self_approval and stored(verdict.by) == stored(request.requester):
        return "self_approval"
    if verdict.decision not in request.decisions:
        return "decision"
    if (verdict.decision == "edit") != (verdict.edited is not None):
        return "arguments"
    return None
