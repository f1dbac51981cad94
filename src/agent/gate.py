"""The gate: a call that a person decides on first (B-20 to B-27).

What counts is the record in the ledger, bound to the call, its arguments and the release that asks. A resume
value only wakes the graph up: the gate reads the record again, so a forged or stale value executes nothing
and the question stays open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from langchain_core.messages import ToolCall
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt

from agent.context import Approval as Rule
from agent.ledger import Approval, ApprovalRequest, Ledger, Turn, arguments_digest
from agent.policy import Denial
from agent.tools.registry import Tool

REJECTED = "approval_rejected"
EXPIRED = "approval_expired"
PROPOSED = "approval_proposed"
WITHDRAWN = "approval_withdrawn"

_DESCRIPTION = 1_000  # characters of a tool's description that an inbox shows


@dataclass(frozen=True, slots=True)
class Question:
    """A gated call: what is asked, by which rule, on whose behalf and with which roles."""

    tool: Tool
    call: ToolCall
    rule: Rule
    turn: Turn
    run: str
    requester: str
    roles: tuple[str, ...] = ()

    def request(self, *, now: datetime, interrupted: str | None = None) -> ApprovalRequest:
        """The request for a decision; its id does not depend on the moment or the interrupt."""
        rule = self.rule
        return ApprovalRequest(
            tenant=self.turn.tenant,
            assistant=self.turn.assistant,
            release=self.turn.release,
            thread=self.turn.thread,
            turn=self.turn.id,
            run=self.run,
            call_id=self.call["id"] or "",
            interrupt=interrupted,
            tool=self.tool.name,
            arguments=self.call["args"],
            requester=self.requester,
            requester_roles=self.roles,
            role=rule.by,
            self_approval=rule.self_approval,
            decisions=rule.decisions,
            created_at=now,
            expires_at=None if rule.expires is None else now + timedelta(seconds=rule.expires),
        )

    def shown(self, request: ApprovalRequest) -> dict[str, Any]:
        """The interrupt's value: LangChain's form for human-in-the-loop clients, with our record beside."""
        expires = request.expires_at
        return {
            "action_requests": [
                {
                    "name": self.tool.wire,
                    "args": self.call["args"],
                    "description": self.tool.description[:_DESCRIPTION],
                }
            ],
            "review_configs": [
                {"action_name": self.tool.wire, "allowed_decisions": list(self.rule.decisions)}
            ],
            "approval": {
                "id": request.id,
                "by": self.rule.by,
                "expires_at": None if expires is None else expires.isoformat(timespec="seconds"),
            },
        }


@dataclass(frozen=True, slots=True)
class Granted:
    """The call may be executed, with these arguments. `approval` is its record."""

    arguments: Mapping[str, Any]
    approval: Approval


@dataclass(frozen=True, slots=True)
class Withheld:
    """The call is not executed; `denial` says why."""

    denial: Denial
    approval: Approval


class Gate:
    """Asks, waits and answers, by the ledger's records."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def decision(self, question: Question, *, waits: bool, now: datetime) -> Granted | Withheld:
        """What was decided on the call; without a decision the run waits, or leaves a proposal.

        Args:
            question: The call.
            waits: Whether somebody can answer this run.
            now: The moment, aware.

        Raises:
            GraphInterrupt: Nobody has decided yet, and the run waits.
        """
        record = await self.record(question, now=now)
        while record is None or undecided(record, now):
            if not waits:
                proposal = await self._ledger.approvals.request(question.request(now=now))
                return Withheld(proposed(question.tool.name), proposal)
            record = await self._ask(question, now=now)
        return _outcome(question, record, now=now)

    async def record(self, question: Question, *, now: datetime) -> Approval | None:
        """The record of the call under this release and with these arguments, if it was asked for."""
        request = question.request(now=now)
        return await self._ledger.approvals.get(request.tenant, request.id)

    async def consume(self, question: Question, granted: Granted, *, key: str, now: datetime) -> bool:
        """Take the grant right before the execution; false when it does not hold for this key any more."""
        turn = question.turn
        return await self._ledger.approvals.granted(
            turn.tenant,
            thread=turn.thread,
            turn=turn.id,
            call_id=question.call["id"] or "",
            digest=arguments_digest(granted.arguments),
            release=turn.release,
            key=key,
            now=now,
        )

    async def _ask(self, question: Question, *, now: datetime) -> Approval | None:
        """Stop and wait; the record as it stands where the run goes on, by a resume value or a decision."""
        request = question.request(now=now)
        try:
            interrupt(question.shown(request))
        except GraphInterrupt as stop:
            asked = replace(request, interrupt=stop.args[0][0].id)
            record = await self._ledger.approvals.request(asked)
            if open_at(record, now):
                raise
            return record
        return await self.record(question, now=now)


def open_at(record: Approval, now: datetime) -> bool:
    """Whether a decision is still awaited."""
    return record.state == "pending" and not record.expired(now)


def undecided(record: Approval, now: datetime) -> bool:
    """Whether the call has to be asked about, once more where another release took the question over."""
    return record.state == "superseded" or open_at(record, now)


def _outcome(question: Question, record: Approval, *, now: datetime) -> Granted | Withheld:
    if record.state == "approved":
        return Granted(question.call["args"], record)
    if record.state == "edited" and record.edited is not None:
        return Granted(record.edited, record)
    return Withheld(withheld(question.tool.name, record, now=now), record)


def withheld(tool: str, record: Approval, *, now: datetime) -> Denial:
    """Why a call that nobody approved was not executed, in words for the model."""
    if record.state == "rejected":
        reason = f" Their reason: {record.reason}" if record.reason else ""
        return Denial(
            REJECTED,
            f"A person rejected {tool}; it was not executed.{reason} Do not try it again in any form.",
        )
    if record.expired(now):
        return Denial(
            EXPIRED,
            f"Nobody decided on {tool} in time; it was not executed. Tell the user, do not repeat it.",
        )
    if record.state == "pending" and record.request.interrupt is None:
        return proposed(tool)
    return Denial(WITHDRAWN, f"The request to approve {tool} was withdrawn; it was not executed.")


def proposed(tool: str) -> Denial:
    """Why a call that nobody can be asked about now is not executed."""
    return Denial(
        PROPOSED,
        f"{tool} needs a person's approval. Nobody waits for this run, so it was not executed: it lies "
        "as a proposal in the approvals inbox. Go on without its result and mention the proposal.",
    )
