"""`/ops/approvals`: what waits for people's decisions, and the way to take them without knowing LangGraph.

A decision on a waiting thread is a resuming run in the caller's own name, so the door judges it like any
other. A proposal of an unattended run has no thread that waits: it is decided here and carried out at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast, get_args

from langgraph_sdk import get_client
from langgraph_sdk.errors import APIStatusError
from starlette.requests import Request
from starlette.responses import JSONResponse

from agent.context import AgentContext, Decision
from agent.errors import ToolFailure
from agent.ledger import Approval, Decided
from agent.ledger.approval import State
from agent.ledger.chain import timestamp
from agent.ledger.identity import stored
from agent.proposal import carry_out
from agent.tools.registry import wire_name
from agent.tools.shipped import ledger, registry
from assistants.identity import assistant_id
from assistants.principal import Principal
from assistants.server.access import Refused
from assistants.server.answers import Judge, closed, objection
from assistants.server.deployment import deployment
from assistants.server.query import Query, QueryRefused, caller, refusal

_KNOWN: Final = ("tenant", "thread", "state", "limit")
_STATES: Final = tuple(str(state) for part in get_args(State) for state in get_args(part))
_ALL: Final = "all"
_MOST: Final = 1000
_PAGE: Final = 200

NOT_FOUND: Final = Refused(404, "Approval not found.")
"""The same words for an id that does not exist and for one that the caller may not know of."""

_ROLES: Final = Refused(403, "Your roles do not allow this; ask an operator.")
_FOREIGN: Final = Refused(
    403, "You may read your own organisation's approvals only; leave the parameter 'tenant' out."
)
_BODY: Final = Refused(
    422,
    'Expected {"decision": "approve" | "edit" | "reject", "arguments"?: {…} with an edit, "reason"?: "…"}.',
)


@dataclass(frozen=True, slots=True)
class Body:
    """A decision as the body of a request says it."""

    decision: str
    arguments: Mapping[str, Any] | None = None
    reason: str | None = None

    def answer(self, wire: str) -> dict[str, Any]:
        """The decision in the form of a resume, for a tool of that wire name."""
        one: dict[str, Any] = {"type": self.decision}
        if self.arguments is not None:
            one["edited_action"] = {"name": wire, "args": dict(self.arguments)}
        if self.reason is not None:
            one["message"] = self.reason
        return {"decisions": [one]}


def body(given: object) -> Body | Refused:
    """A request's body, read strictly."""
    if not isinstance(given, Mapping):
        return _BODY
    fields = cast("Mapping[str, object]", given)
    decision, arguments, reason = (fields.get(name) for name in ("decision", "arguments", "reason"))
    sound = (
        {"decision", "arguments", "reason"}.issuperset(fields)
        and decision in get_args(Decision)
        and isinstance(arguments, Mapping | None)
        and isinstance(reason, str | None)
        and (decision == "edit") == (arguments is not None)
    )
    if not sound:
        return _BODY
    return Body(str(decision), cast("Mapping[str, Any] | None", arguments), cast("str | None", reason))


def shown(approval: Approval, *, now: datetime) -> dict[str, Any]:
    """A record as JSON. `proposal` is true where no thread waits; times are ISO 8601 in UTC."""
    request = approval.request
    return {
        "id": approval.id,
        "state": "expired" if approval.expired(now) else approval.state,
        "proposal": request.interrupt is None,
        "tenant": request.tenant,
        "assistant": request.assistant,
        "release": request.release,
        "thread": request.thread,
        "interrupt": request.interrupt,
        "tool": request.tool,
        "arguments": dict(request.arguments),
        "requester": request.requester,
        "role": request.role,
        "self_approval": request.self_approval,
        "decisions": [*request.decisions],
        "created_at": timestamp(request.created_at),
        "expires_at": None if request.expires_at is None else timestamp(request.expires_at),
        "decided_by": approval.decided_by,
        "decided_at": None if approval.decided_at is None else timestamp(approval.decided_at),
        "edited": None if approval.edited is None else dict(approval.edited),
        "reason": approval.reason,
        "executed_at": None if approval.consumed_at is None else timestamp(approval.consumed_at),
    }


def forbidden(who: Principal, tenants: Iterable[str]) -> Refused | None:
    """Why somebody may not read the approvals of these tenants; whether they exist makes no difference."""
    if who.operator:
        return None
    if not who.roles:
        return _ROLES
    return _FOREIGN if any(tenant != who.tenant for tenant in tenants) else None


def visible(approval: Approval, who: Principal) -> bool:
    """Whether somebody may know of a record: operators all, approvers their tenant's, users their own."""
    request = approval.request
    if who.operator:
        return True
    own = request.requester == stored(who.identity)
    return request.tenant == who.tenant and (own or "approver" in who.roles)


async def listed(request: Request) -> JSONResponse:
    """What was asked for, newest first; by default what is pending.

    ---
    summary: Approvals
    description: >-
      Operators read every tenant's, approvers their tenant's, users what they asked for themselves.
    parameters:
      - {name: tenant, in: query, schema: {type: string}}
      - {name: thread, in: query, schema: {type: string}}
      - {name: state, in: query, schema: {type: string, default: pending}}
      - {name: limit, in: query, schema: {type: integer, default: 200}}
    responses:
      "200": {description: The approvals}
      "403": {description: The tenant is not the caller's}
      "422": {description: A parameter is wrong}
    """
    who, given, now = caller(request), request.query_params, datetime.now(UTC)
    refused = forbidden(who, given.getlist("tenant"))
    if refused is not None:
        return refusal(refused)
    query = Query(given.multi_items(), known=_KNOWN)
    tenant = query.tenant()
    thread = query.matching("thread", ".{1,1000}", expected="a thread's id", example="…")
    one_of = "|".join((*_STATES, _ALL))
    state = query.matching("state", one_of, expected=f"one of {one_of}", example="pending") or "pending"
    limit = query.number("limit", least=1, most=_MOST, example=_PAGE) or _PAGE
    try:
        query.require_sound()
    except QueryRefused as wrong:
        return refusal(wrong)
    found = await ledger.approvals.search(
        tenant if who.operator else who.tenant,
        thread=thread,
        requester=None if who.operator or "approver" in who.roles else who.identity,
        states=_stored_states(state),
        limit=limit,
    )
    rows = [shown(approval, now=now) for approval in found]
    return JSONResponse({"approvals": [row for row in rows if state in (_ALL, row["state"])]})


async def one(request: Request) -> JSONResponse:
    """One approval.

    ---
    summary: An approval
    responses:
      "200": {description: The approval}
      "404": {description: There is none of that id that the caller may know of}
    """
    found = await _found(request)
    if found is None:
        return refusal(NOT_FOUND)
    return JSONResponse({"approval": shown(found, now=datetime.now(UTC))})


async def decide(request: Request) -> JSONResponse:
    """Decide on an approval: its thread goes on, or the proposal is carried out.

    ---
    summary: Decide on an approval
    responses:
      "200": {description: The approval, and the id of the run that carries it out or the result of the tool}
      "403": {description: The caller lacks the role, or asked for it}
      "404": {description: There is none of that id that the caller may know of}
      "409": {description: It was decided otherwise, has expired, or its thread waits no longer}
      "422": {description: The decision or its arguments are not allowed}
    """
    said = body(await _json(request))
    if isinstance(said, Refused):
        return refusal(said)
    found = await _found(request)
    if found is None:
        return refusal(NOT_FOUND)
    if found.request.interrupt is None:
        return await _proposal(found, said, caller(request))
    answer = {found.request.interrupt: said.answer(wire_name(found.request.tool))}
    return await _resume(request, found, answer)


async def _resume(request: Request, found: Approval, answer: Mapping[str, object]) -> JSONResponse:
    # Imported here: outside a server process langgraph_api refuses to load.
    from langgraph_api.utils import with_user  # noqa: PLC0415

    asked = found.request
    try:
        async with with_user(request.user, request.auth):
            run = await get_client().runs.create(
                asked.thread,
                str(assistant_id(asked.tenant, asked.assistant)),
                command={"resume": dict(answer)},
            )
    except APIStatusError as error:
        over = error.status_code == 404 and found.state != "pending"
        # Whoever may know of the record may know how it was decided, although the thread waits no longer.
        return refusal(objection(closed(found), found)) if over else passed_on(error)
    return await _decided(found, run=str(run["run_id"]))


def passed_on(error: APIStatusError) -> JSONResponse:
    """The server's own refusal, as it said it."""
    try:
        detail = cast("Mapping[str, object]", json.loads(error.response.text))["detail"]
    except (ValueError, KeyError, TypeError):
        detail = "The server refused the run; try again."
    headers = {name: value for name, value in error.response.headers.items() if name == "retry-after"}
    return JSONResponse({"detail": detail}, status_code=error.status_code, headers=headers)


async def _proposal(found: Approval, said: Body, who: Principal) -> JSONResponse:
    """Decide on a proposal and carry it out; said again, it is carried out under the same idempotency key."""
    asked, now = found.request, datetime.now(UTC)
    assistant = deployment().catalog.assistant(asked.tenant, asked.assistant)
    serves = assistant is not None and assistant.context.release == asked.release
    if not serves and said.decision != "reject":
        return refusal(_other_release(found))
    context = assistant.context if assistant is not None else AgentContext()
    verdict = Judge(who, context, registry, now).verdict(found, said.answer(wire_name(asked.tool)))
    if isinstance(verdict, Refused):
        return refusal(verdict)
    taken = (await ledger.approvals.decide_all(asked.tenant, {found.id: verdict}, now=now))[found.id]
    if not isinstance(taken, Decided):
        return refusal(objection(taken, found))
    if said.decision == "reject":
        return await _decided(found)
    try:
        result = await carry_out(taken.approval, context, registry=registry, ledger=ledger, now=now)
    except ToolFailure as failure:
        return refusal(Refused(409, failure.detail))
    return await _decided(found, result=result)


async def _decided(found: Approval, *, run: str | None = None, result: str | None = None) -> JSONResponse:
    current = await ledger.approvals.get(found.request.tenant, found.id) or found
    approval = shown(current, now=datetime.now(UTC))
    return JSONResponse({"approval": approval, "run": run, "result": result})


async def _found(request: Request) -> Approval | None:
    """The approval of the path, if the caller may know of it."""
    who = caller(request)
    identity = request.path_params["approval_id"]
    found = await ledger.approvals.get(None if who.operator else who.tenant, identity)
    return found if found is not None and visible(found, who) else None


async def _json(request: Request) -> object:
    try:
        return await request.json()
    except ValueError:
        return None


def _other_release(found: Approval) -> Refused:
    return Refused(
        409,
        f"{found.request.tool} was proposed under a release that serves no longer, and a decision counts for "
        "that one only; reject it: the assistant proposes it again when it next runs.",
    )


def _stored_states(state: str) -> list[State] | None:
    """The states in the ledger that a query's state covers: what is late is still written as pending."""
    if state == _ALL:
        return None
    return ["expired", "pending"] if state == "expired" else [cast("State", state)]
