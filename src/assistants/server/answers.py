"""Answers to approvals: what a resume says, and whether it may count. Pure.

A resume is a map from interrupt id to `{"decisions": [one]}`, LangChain's form for human-in-the-loop clients
with one decision for each question. Everything is judged before the run exists, so a wrong answer leaves the
question as it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast, get_args

from pydantic import ValidationError

from agent.context import AgentContext, Decision
from agent.ledger import AlreadyDecided, Approval, ApprovalRequest, Decided, Expired, Verdict
from agent.ledger import Refused as NotCounted
from agent.ledger.approval import Ruling, rule
from agent.ledger.identity import stored
from agent.policy import Policy
from agent.tools.registry import Registry, wire_name
from agent.verdict import faults
from assistants.principal import Principal
from assistants.server.access import Refused

_SHAPE: Final = (
    'expected {"decisions": [one]} with one of {"type": "approve"}, {"type": "reject", "message": …} and '
    '{"type": "edit", "edited_action": {"name": …, "args": {…}}}'
)
_INTERRUPT: Final = re.compile(r"[0-9a-f]{32}")  # by which langgraph 1.2.24 knows a map of answers
_AFRESH: Final = "run the thread on without input (input: null) to be asked afresh"
_NOTHING: Final = Refused(409, "Nothing waits for an answer on this thread.")


@dataclass(frozen=True, slots=True)
class Question:
    """What a thread waits for: its interrupts, and the record that counts of each that has one."""

    interrupts: tuple[str, ...]
    records: Mapping[str, Approval]


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers that may count: by interrupt as the graph gets them, and by record as the ledger does.

    `requester` is who asked, with the roles that they had.
    """

    resume: Mapping[str, object]
    verdicts: Mapping[str, Verdict]
    requester: str
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """One decision as a client wrote it."""

    decision: Decision
    edited: Mapping[str, Any] | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """Who answers, and by which rules: the serving assistant's context and the deployment's tools."""

    who: Principal
    context: AgentContext
    registry: Registry
    now: datetime

    def answers(self, resume: object, question: Question) -> Answers | Refused:
        """The answers of a resume, all of them or none."""
        told = _by_interrupt(resume, question)
        if isinstance(told, Refused):
            return told
        verdicts: dict[str, Verdict] = {}
        requester, roles = "", tuple[str, ...]()
        for interrupt, answer in sorted(told.items()):
            record = question.records[interrupt]
            foreign = record.request.release != stored(self.context.release)
            verdict = _other_release(record) if foreign else self.verdict(record, answer)
            if isinstance(verdict, Refused):
                return verdict
            verdicts[record.id] = verdict
            requester, roles = record.request.requester, record.request.requester_roles
        return Answers(resume=told, verdicts=verdicts, requester=requester, roles=roles)

    def verdict(self, record: Approval, answer: object) -> Verdict | Refused:
        """The decision that an answer takes on a record, or why it may not count."""
        asked = record.request
        said = parsed(answer, asked)
        if isinstance(said, Refused):
            return said
        verdict = Verdict(said.decision, self.who.identity, self.who.roles, said.edited, said.message)
        ruling = rule(record, verdict, now=self.now, again=True)
        if not isinstance(ruling, Decided):
            return objection(ruling, record)
        return self._unfit(asked, said) or verdict

    def _unfit(self, asked: ApprovalRequest, said: Said) -> Refused | None:
        """Why edited arguments can't be executed: no such tool, not its schema, or beyond the limits."""
        if said.edited is None:
            return None
        policy = Policy.of(self.context, self.registry)
        tool = policy.find(wire_name(asked.tool))
        if tool is None:
            return Refused(
                422, f"{asked.tool} is not among the assistant's tools any more; reject the request."
            )
        try:
            tool.arguments.model_validate(dict(said.edited))
        except ValidationError as error:
            return Refused(422, f"The edited arguments don't fit {asked.tool}: {faults(error)}.")
        excess = policy.excess(tool, said.edited)
        return (
            None if excess is None else Refused(422, f"The edited arguments are not allowed. {excess.text}")
        )


def parsed(answer: object, asked: ApprovalRequest) -> Said | Refused:
    """What an answer to a request says, checked against the form and the name of the tool."""
    decisions = _only(answer, "decisions")
    if not isinstance(decisions, list):
        return Refused(422, f"The answer to {asked.tool} has not the form of one: {_SHAPE}.")
    several = cast("list[object]", decisions)
    if len(several) != 1:
        return Refused(422, f"{asked.tool} asks for one decision; {len(several)} were sent.")
    one = _mapping(several[0])
    kind = one.get("type") if one is not None else None
    if one is None or not isinstance(kind, str):
        return Refused(422, f"The decision on {asked.tool} has not the form of one: {_SHAPE}.")
    if kind not in get_args(Decision):
        return Refused(422, f"{kind!r} is no decision; {_allowed(asked)}.")
    return _said(cast("Decision", kind), one, asked)


def objection(ruling: Ruling, record: Approval) -> Refused:
    """Why a decision does not count, in words for the person who took it."""
    name = record.request.tool
    if isinstance(ruling, Expired):
        return Refused(
            409, f"Nobody decided on {name} in time (approval {record.id} has expired); {_AFRESH} or told so."
        )
    if isinstance(ruling, AlreadyDecided):
        found = ruling.approval
        return Refused(
            409, f"{name} was {found.state} by {found.decided_by} already (approval {found.id}); that stands."
        )
    if isinstance(ruling, NotCounted):
        return _not_counted(ruling, record)
    raise TypeError(f"a decision that counts ({ruling!r}) has no objection")


def _not_counted(ruling: NotCounted, record: Approval) -> Refused:
    asked = record.request
    match ruling.reason:
        case "role":
            return Refused(
                403, f"Deciding on {asked.tool} takes the role {asked.role!r}; ask somebody with it."
            )
        case "self_approval":
            return Refused(403, f"You asked for {asked.tool} yourself, so somebody else has to decide on it.")
        case "decision" | "arguments":
            return Refused(422, f"That can't be decided on {asked.tool}; {_allowed(asked)}.")
        case _:
            return Refused(409, f"{asked.tool} waits for no decision any more (approval {record.id}).")


def named(resume: object) -> Mapping[str, object]:
    """The answers of a resume by interrupt id, as far as it names any."""
    given = _mapping(resume) or {}
    return given if all(_INTERRUPT.fullmatch(key) for key in given) else {}


def _by_interrupt(resume: object, question: Question) -> dict[str, object] | Refused:
    """The answers by interrupt; what is no map of interrupt ids is an answer to the one question there is."""
    given = named(resume)
    if not given:
        return _lone(resume, question)
    for interrupt in sorted(given):
        refusal = _unanswerable(interrupt, question)
        if refusal is not None:
            return refusal
    return dict(given)


def _lone(answer: object, question: Question) -> dict[str, object] | Refused:
    match question.interrupts:
        case ():
            return _NOTHING
        case (interrupt,):
            return _unanswerable(interrupt, question) or {interrupt: answer}
        case several:
            ids = ", ".join(several)
            return Refused(
                422,
                f"This thread waits for {len(several)} answers; send a map from interrupt id to answer, for "
                f"any of {ids}.",
            )


def _unanswerable(interrupt: str, question: Question) -> Refused | None:
    record = question.records.get(interrupt)
    if interrupt in question.interrupts:
        return None if record is not None else _unknown_question(interrupt)
    if record is not None and record.state != "pending":
        return objection(closed(record), record)
    if not question.interrupts:
        return _NOTHING
    ids = ", ".join(question.interrupts)
    return Refused(
        409, f"Nothing waits under interrupt {interrupt[:64]!r} any more; this thread waits for {ids}."
    )


def closed(record: Approval) -> Ruling:
    """What any other decision on a record that is pending no longer comes to."""
    match record.state:
        case "expired":
            return Expired(record)
        case "superseded" | "withdrawn":
            return NotCounted(record.state)
        case _:
            return AlreadyDecided(record)


def _unknown_question(interrupt: str) -> Refused:
    return Refused(
        409, f"What waits under interrupt {interrupt!r} has no record, so no answer to it counts; {_AFRESH}."
    )


def _other_release(record: Approval) -> Refused:
    return Refused(
        409,
        f"{record.request.tool} was asked for under another release of the assistant (approval {record.id}), "
        f"and an answer counts for that one only; {_AFRESH}.",
    )


def _said(kind: Decision, one: Mapping[str, object], asked: ApprovalRequest) -> Said | Refused:
    known = {"type", "message", *(["edited_action"] if kind == "edit" else [])}
    message = one.get("message")
    if not known.issuperset(one) or not isinstance(message, str | None):
        return Refused(422, f"The decision on {asked.tool} has not the form of one: {_SHAPE}.")
    if kind != "edit":
        return Said(kind, message=message)
    action = _mapping(one.get("edited_action"))
    name, arguments = (action.get("name"), _mapping(action.get("args"))) if action else (None, None)
    if action is None or arguments is None or set(action) != {"name", "args"}:
        return Refused(422, f"The edit of {asked.tool} has not the form of one: {_SHAPE}.")
    if name != wire_name(asked.tool):
        return Refused(
            422, f"An edit changes arguments, not the tool; the name must be {wire_name(asked.tool)!r}."
        )
    return Said(kind, edited=arguments, message=message)


def _allowed(asked: ApprovalRequest) -> str:
    return f"expected one of {', '.join(asked.decisions)}"


def _only(value: object, key: str) -> object:
    """What a mapping holds under its only key, else `None`."""
    found = _mapping(value)
    return found[key] if found is not None and set(found) == {key} else None


def _mapping(value: object) -> Mapping[str, object] | None:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None
