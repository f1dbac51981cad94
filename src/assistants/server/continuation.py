"""What a run continues: as whom it acts, which answers it brings, and what it finds waiting. Pure.

A run without a new message goes on with a turn that somebody began, and acts for that person: an approver
lends a decision, not a name (B-24).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agent.ledger import Verdict
from agent.tools.registry import Registry
from assistants.loader import ResolvedAssistant
from assistants.principal import SERVICE, IdentityInvalid, Principal, principal
from assistants.server import access
from assistants.server.access import Refused
from assistants.server.answers import Judge, Question, named
from assistants.server.run import RunRequest
from assistants.server.waiting import live, message, of_interrupts


@dataclass(frozen=True, slots=True)
class Continuation:
    """How a run goes on.

    `acting` is whom it acts for, `filter` what its thread must match, `resume` the answers by interrupt,
    `verdicts` those that the ledger has to take first, `withdrawn` the requests that a new message ends.
    """

    acting: Principal
    filter: dict[str, Any]
    resume: Mapping[str, object] | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict[str, Verdict])
    withdrawn: tuple[str, ...] = ()


def visible(request: RunRequest, who: Principal, tenant: str) -> bool:
    """Whether the caller may know of the run's thread; who may not is told that there is none.

    An approver sees what waits in the own tenant, a user the own threads, a schedule those of its tenant.
    """
    facts = request.facts
    if who.operator:
        return True
    if facts is None:
        return who.unattended or ("user" in who.roles and request.resume is None)
    if who.unattended:
        return facts.tenant == tenant
    own = "user" in who.roles and (facts.tenant, facts.owner) == (who.tenant, who.identity)
    return own or (_answering(request, who) and facts.tenant == who.tenant and _waits(request))


def continuation(
    request: RunRequest, who: Principal, assistant: ResolvedAssistant, *, registry: Registry, now: datetime
) -> Continuation | Refused:
    """How the run goes on, or why it may not."""
    if request.resume is not None:
        return _resumed(request, who, Judge(who, assistant.context, registry, now))
    guard, facts = _filter(request, who, assistant.tenant), request.facts
    acting = Principal(assistant.tenant, SERVICE, frozenset()) if who.unattended else who
    if request.input is None:
        return Continuation(acting if request.command else _beginner(request, acting), guard)
    met = message(assistant.context, live(request.records, facts, now=now) if facts else ())
    if isinstance(met, Refused):
        return met
    return Continuation(acting, guard, withdrawn=tuple(record.id for record in met))


def _resumed(request: RunRequest, who: Principal, judge: Judge) -> Continuation | Refused:
    waiting = request.facts.interrupts if request.facts is not None else ()
    asked = [*waiting, *named(request.resume)]
    found = judge.answers(request.resume, Question(waiting, of_interrupts(request.records, asked)))
    if isinstance(found, Refused):
        return found
    return Continuation(
        acting=_person(found.requester, found.roles) or _owner(request) or who,
        filter=_filter(request, who, judge.context.tenant),
        resume=found.resume,
        verdicts=found.verdicts,
    )


def _beginner(request: RunRequest, who: Principal) -> Principal:
    """Whose turn a run without a message goes on with; a user's own, where others could act for them."""
    if not (who.operator or "approver" in who.roles):
        return who
    waiting = request.facts.interrupts if request.facts is not None else ()
    asked = of_interrupts(request.records, waiting).values()
    found = next((record.request for record in asked), None)
    beginner = _person(found.requester, found.requester_roles) if found is not None else None
    return beginner or _owner(request) or who


def _filter(request: RunRequest, who: Principal, tenant: str) -> dict[str, Any]:
    if who.operator:
        return {}
    if who.unattended or _answering(request, who):  # a schedule may run on a person's thread
        return {"tenant": tenant}
    return {**access.ownership(who)}


def _answering(request: RunRequest, who: Principal) -> bool:
    return "approver" in who.roles and request.input is None


def _waits(request: RunRequest) -> bool:
    """Whether somebody was asked for what the thread waits for, or for what it is about to wait for."""
    waiting = request.facts.interrupts if request.facts is not None else ()
    pending = any(record.state == "pending" and record.request.interrupt for record in request.records)
    return pending or bool(of_interrupts(request.records, waiting))


def _owner(request: RunRequest) -> Principal | None:
    return _person(request.facts.owner, ()) if request.facts is not None else None


def _person(identity: str, roles: tuple[str, ...]) -> Principal | None:
    try:
        return principal(identity, roles)
    except IdentityInvalid:
        return None
