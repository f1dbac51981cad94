"""The server's authentication and authorisation, as `langgraph.json` names it: `auth`.

Thin on purpose: who asks is decided in `authenticate`, what they may do in `access`, whether a run starts in
`door`. Here those answers are put into the form that LangGraph Server takes. Everything that no handler
allows is denied.
"""

from __future__ import annotations

import logging
import uuid
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from langgraph_sdk import Auth

from agent.ledger import Event
from agent.tools.shipped import ledger, registry
from assistants.graphs import GRAPHS
from assistants.principal import SERVICE, Principal, principal
from assistants.server import access, door, inbox
from assistants.server.authenticate import Headers, Unauthenticated
from assistants.server.authenticate import authenticate as identify
from assistants.server.deployment import control_engine, deployment
from assistants.server.loopback import busy_threads, held_message_ids, waiting_runs
from assistants.server.quota import Exceeded, Quota
from assistants.server.run import NOT_FOUND, RunRequest

logger = logging.getLogger(__name__)
auth = Auth()
_HTTP = Auth.exceptions.HTTPException
_QUEUE = 5  # runs that may wait on a thread where the tenant's file says nothing; they hold the queue's front
_quota = Quota(control_engine)


@dataclass(frozen=True, slots=True)
class _Started:
    """A run that the door let in during this very request."""

    assistant: uuid.UUID
    thread: str | None


_STARTED: ContextVar[_Started | None] = ContextVar("signalbox_started", default=None)

Context = Auth.types.AuthContext
Value = Any  # one typed dict of langgraph-sdk for each action; the server reads what is changed in place


@auth.authenticate
async def authenticate(headers: Headers, scope: dict[str, Any]) -> Auth.types.MinimalUserDict:
    """Identity and roles of the caller, or 401 with a hint."""
    here = deployment()
    try:
        who = await identify(
            headers,
            scope,
            catalog=here.catalog,
            tokens=here.tokens,
            development=here.settings.development,
        )
    except Unauthenticated as refused:
        raise _HTTP(status_code=401, detail=str(refused)) from None
    return {"identity": who.identity, "permissions": sorted(who.roles)}


@auth.on
async def deny(ctx: Context, value: Value) -> bool:
    """Default deny: what no handler below allows is refused."""
    logger.warning("denied by default", extra={"resource": ctx.resource, "action": ctx.action})
    return False


@auth.on.threads.create
async def create_thread(ctx: Context, value: Value) -> access.Filter:
    """Mark the thread as the caller's, whatever the client said."""
    who = _who(ctx)
    found = _allow(access.threads(who, "create", value))
    metadata = value.setdefault("metadata", {})
    for key in access.RESERVED_THREAD_KEYS - {"graph_id"}:
        metadata.pop(key, None)
    metadata.update(access.ownership(who))
    return found


@auth.on.threads.read
async def read_thread(ctx: Context, value: Value) -> access.Filter:
    """Read a thread, its state, history, runs and streams."""
    who = _who(ctx)
    waiting = "approver" in who.roles and await _answerable(who, str(value.get("thread_id")))
    return _allow(access.threads(who, "read", value, waiting=waiting))


@auth.on.threads.update
async def update_thread(ctx: Context, value: Value) -> access.Filter:
    """Change a thread's metadata, cancel its runs; write its state (operators)."""
    return _allow(access.threads(_who(ctx), "update", value))


@auth.on.threads.delete
async def delete_thread(ctx: Context, value: Value) -> access.Filter:
    """Delete a thread or one of its runs."""
    return _allow(access.threads(_who(ctx), "delete", value))


@auth.on.threads.search
async def search_threads(ctx: Context, value: Value) -> access.Filter:
    """Search or count threads; for approvers the marks of what waits are brought up to date before."""
    who = _who(ctx)
    if "approver" in who.roles and not who.operator:
        await inbox.refresh(ledger, who.tenant, now=datetime.now(UTC))
    return _allow(access.threads(who, "search", value))


@auth.on.threads.create_run
async def create_run(ctx: Context, value: Value) -> access.Filter:
    """The door: admit the run with its assistant's context and a stamp, or refuse it."""
    who, here, now = _who(ctx), deployment(), datetime.now(UTC)
    request = await _run_request(who, value, now)
    verdict = door.decide(
        request, who, here.catalog, secret=here.secret, graphs=GRAPHS, registry=registry, now=now
    )
    if isinstance(verdict, access.Refused):
        await _alert_unattended(who, request, verdict, now)
        raise _HTTP(status_code=verdict.status, detail=verdict.detail)
    await _spend(verdict.assistant.tenant, request.thread)
    late = await inbox.take(ledger, verdict.assistant.tenant, request, verdict.going, now=now)
    if late is not None:
        raise _HTTP(status_code=late.status, detail=late.detail)
    _write(value, verdict, unattended=who.unattended)
    _STARTED.set(_Started(request.assistant, request.thread))
    return verdict.filter


@auth.on.assistants.create
async def create_assistant(ctx: Context, value: Value) -> access.Filter:
    """Operators only: an assistant outside the catalog is marked as foreign and can't be run."""
    found = _allow(access.assistants(_who(ctx), "create"))
    metadata = value.setdefault("metadata", {})
    metadata.pop("created_by", None)
    if metadata.get("managed_by") != "signalbox":
        metadata["kind"] = access.FOREIGN
    return found


@auth.on.assistants.read
async def read_assistant(ctx: Context, value: Value) -> access.Filter:
    """Read an assistant, its schemas, graph and versions; the server asks again for each run that starts."""
    started = _STARTED.get()
    starting = started is not None and started.assistant == value.get("assistant_id")
    return _allow(access.assistants(_who(ctx), "read", starting=starting))


@auth.on.assistants.update
async def update_assistant(ctx: Context, value: Value) -> access.Filter:
    """Operators only."""
    found = _allow(access.assistants(_who(ctx), "update"))
    (value.get("metadata") or {}).pop("created_by", None)
    return found


@auth.on.assistants.delete
async def delete_assistant(ctx: Context, value: Value) -> access.Filter:
    """Operators only."""
    return _allow(access.assistants(_who(ctx), "delete"))


@auth.on.assistants.search
async def search_assistants(ctx: Context, value: Value) -> access.Filter:
    """Search assistants: the server's own, one for each graph, are hidden from everybody."""
    return _allow(access.assistants(_who(ctx), "search"))


@auth.on.crons.create
async def create_cron(ctx: Context, value: Value) -> access.Filter:
    """Operators only: the cron carries its assistant's tenant, and no identity of the client's choice."""
    found = _allow(access.crons(_who(ctx), "create"))
    payload: dict[str, Any] = value.get("payload") or {}
    assistant = deployment().catalog.by_id(_uuid(payload.get("assistant_id")))
    if assistant is None:
        raise _HTTP(status_code=404, detail=NOT_FOUND.detail)
    config: dict[str, Any] = payload.get("config") or {}
    configurable: dict[str, Any] = config.get("configurable") or {}
    for key in [key for key in configurable if key.startswith("langgraph_")]:
        del configurable[key]
    metadata: dict[str, Any] = value.setdefault("metadata", {})
    metadata["tenant"] = assistant.tenant
    return found


@auth.on.crons.read
async def read_cron(ctx: Context, value: Value) -> access.Filter:
    """Read a cron."""
    return _allow(access.crons(_who(ctx), "read"))


@auth.on.crons.update
async def update_cron(ctx: Context, value: Value) -> access.Filter:
    """Operators only; the tenant of a cron stays."""
    found = _allow(access.crons(_who(ctx), "update"))
    (value.get("metadata") or {}).pop("tenant", None)
    return found


@auth.on.crons.delete
async def delete_cron(ctx: Context, value: Value) -> access.Filter:
    """Operators only."""
    return _allow(access.crons(_who(ctx), "delete"))


@auth.on.crons.search
async def search_crons(ctx: Context, value: Value) -> access.Filter:
    """Search or count crons."""
    return _allow(access.crons(_who(ctx), "search"))


@auth.on.store
async def use_store(ctx: Context, value: Value) -> None:
    """Every store action happens in the caller's own namespace."""
    who = _who(ctx)
    _allow(access.store(who))
    value["namespace"] = access.namespace(who, tuple(value.get("namespace") or ()))


def _who(ctx: Context) -> Principal:
    try:
        return principal(str(ctx.user.identity), ctx.permissions or ())
    except ValueError as error:
        raise _HTTP(status_code=403, detail="The caller's identity is not of this server's form.") from error


def _allow(verdict: access.Verdict) -> access.Filter:
    if isinstance(verdict, access.Refused):
        raise _HTTP(status_code=verdict.status, detail=verdict.detail)
    return verdict.filter


async def _answerable(who: Principal, thread: str) -> bool:
    """Whether an approver may read the thread: it waits, or this request has just answered it."""
    started = _STARTED.get()
    if started is not None and started.thread == thread:
        return True
    return await inbox.waits(ledger, who.tenant, thread, now=datetime.now(UTC))


async def _run_request(who: Principal, value: Value, now: datetime) -> RunRequest:
    kwargs = value["kwargs"]
    thread = str(value["thread_id"]) if value.get("thread_id") else None
    request = RunRequest(
        run=str(value["run_id"]),
        thread=thread,
        assistant=_uuid(value["assistant_id"]),
        input=kwargs.get("input"),
        command=kwargs.get("command"),
        metadata=value.get("metadata") or {},
        pauses=bool(kwargs.get("interrupt_before") or kwargs.get("interrupt_after")),
    )
    assistant = deployment().catalog.by_id(request.assistant)
    if thread is None or assistant is None or not (_anywhere(who) or who.tenant == assistant.tenant):
        return request  # the door lets it in without looking at a thread, or not at all
    named = bool(door.message_ids(request.input))
    facts, records = await inbox.standing(
        ledger,
        assistant.tenant,
        thread,
        resume=request.resume,
        look=named or who.operator or request.input is None,
        now=now,
    )
    taken = await held_message_ids(thread) if named and not who.operator else frozenset[str]()
    return replace(request, facts=facts, records=records, taken=taken)


def _anywhere(who: Principal) -> bool:
    return who.operator or who.unattended


async def _spend(tenant: str, thread: str | None) -> None:
    ceilings = deployment().catalog.tenants[tenant].ceilings
    queue = _QUEUE if ceilings.queue_per_thread is None else ceilings.queue_per_thread
    if thread is not None and await waiting_runs(thread, most=queue + 1) > queue:
        detail = f"This thread has {queue} messages waiting already; wait for an answer first."
        raise _HTTP(status_code=429, detail=detail, headers={"retry-after": "1"})
    limit = ceilings.concurrent_runs
    if limit is not None and await busy_threads(tenant) >= limit:
        detail = f"Your organisation may have {limit} conversations answered at once and has; try again."
        raise _HTTP(status_code=429, detail=detail, headers={"retry-after": "1"})
    try:
        await _quota.take(tenant, ceilings.runs_per_minute)
    except Exceeded as exceeded:
        raise _HTTP(
            status_code=429, detail=str(exceeded), headers={"retry-after": str(exceeded.retry_after)}
        ) from None


def _write(value: Value, verdict: door.Admitted, *, unattended: bool) -> None:
    """Put the decision into the run; the server keeps what is changed in place."""
    kwargs = value["kwargs"]
    if verdict.going.resume is not None:
        kwargs["command"]["resume"] = dict(verdict.going.resume)
    kwargs["context"] = verdict.context.total()
    # A run without a thread has no checkpointer, and langgraph 1.2.24 fails on `sync` without one.
    kwargs["durability"] = "async" if kwargs.get("temporary") else verdict.durability
    config = kwargs["config"]
    kept = door.cleaned(config.get("configurable") or {}, unattended=unattended)
    config["configurable"].clear()
    config["configurable"].update(kept)
    config["recursion_limit"] = verdict.recursion_limit
    config.pop("metadata", None)
    metadata: dict[str, Any] = value["metadata"]
    for key in access.RESERVED_THREAD_KEYS:
        metadata.pop(key, None)  # a run's metadata becomes that of a thread it creates
    metadata.update(verdict.metadata)


async def _alert_unattended(
    who: Principal, request: RunRequest, verdict: access.Refused, now: datetime
) -> None:
    """Nobody sees the answer to a schedule: its refusal goes to the log and to the tenant's audit."""
    if not who.unattended:
        return
    logger.error("a scheduled run was refused", extra={"status": verdict.status, "detail": verdict.detail})
    tenant = request.metadata.get("tenant")
    if tenant in deployment().catalog.tenants:
        event = Event(
            action="run.refused",
            actor=f"{tenant}/{SERVICE}",
            assistant=str(request.assistant),
            thread=request.thread or "",
            run=request.run,
            facts={"status": verdict.status},
        )
        await ledger.audit.append(str(tenant), event, now=now)


def _uuid(value: object) -> uuid.UUID:
    try:
        return uuid.UUID(str(value))
    except ValueError:
        return uuid.UUID(int=0)
