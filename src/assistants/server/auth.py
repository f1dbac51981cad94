"""The server's authentication and authorisation, as `langgraph.json` names it: `auth`.

Thin on purpose: who asks is decided in `authenticate`, what they may do in `access`, whether a run starts in
`door`. Here those answers are put into the form that LangGraph Server takes. Everything that no handler
allows is denied.
"""

from __future__ import annotations

import logging
import uuid
from typing import Any

from langgraph_sdk import Auth

from assistants.graphs import GRAPHS
from assistants.principal import Principal, principal
from assistants.server import access, door
from assistants.server.authenticate import Headers, Unauthenticated
from assistants.server.authenticate import authenticate as identify
from assistants.server.deployment import control_engine, deployment
from assistants.server.loopback import busy_threads, held_message_ids, last_assistant, waiting_runs
from assistants.server.quota import Exceeded, Quota

logger = logging.getLogger(__name__)
auth = Auth()
_HTTP = Auth.exceptions.HTTPException
_QUEUE = 5  # runs that may wait on a thread where the tenant's file says nothing; they hold the queue's front
_quota = Quota(control_engine)

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
    return _allow(access.threads(_who(ctx), "read", value))


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
    """Search or count threads."""
    return _allow(access.threads(_who(ctx), "search", value))


@auth.on.threads.create_run
async def create_run(ctx: Context, value: Value) -> access.Filter:
    """The door: admit the run with its assistant's context and a stamp, or refuse it."""
    who, here = _who(ctx), deployment()
    request = await _run_request(who, value)
    verdict = door.decide(request, who, here.catalog, secret=here.secret, graphs=GRAPHS)
    if isinstance(verdict, access.Refused):
        _alert_unattended(who, verdict)
        raise _HTTP(status_code=verdict.status, detail=verdict.detail)
    await _spend(verdict.assistant.tenant, request.thread)
    _write(value, verdict, unattended=who.unattended)
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
    """Read an assistant, its schemas, graph and versions."""
    return _allow(access.assistants(_who(ctx), "read"))


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
        raise _HTTP(status_code=404, detail=door.NOT_FOUND.detail)
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


async def _run_request(who: Principal, value: Value) -> door.RunRequest:
    kwargs = value["kwargs"]
    thread = value.get("thread_id")
    return door.RunRequest(
        run=str(value["run_id"]),
        thread=str(thread) if thread else None,
        assistant=_uuid(value["assistant_id"]),
        input=kwargs.get("input"),
        command=kwargs.get("command"),
        metadata=value.get("metadata") or {},
        thread_assistant=await _last_assistant(str(thread)) if thread and _continues(who, kwargs) else None,
        pauses=bool(kwargs.get("interrupt_before") or kwargs.get("interrupt_after")),
        taken=await _taken(str(thread), kwargs.get("input")) if thread and not who.operator else frozenset(),
    )


async def _taken(thread: str, sent: object) -> frozenset[str]:
    """Ids of the thread's messages; read only where the input names ids, as few clients do."""
    return await held_message_ids(thread) if door.message_ids(sent) else frozenset()


def _continues(who: Principal, kwargs: Value) -> bool:
    """Whether the run depends on what the thread has served: an operator's, or one without new input."""
    return who.operator or kwargs.get("input") is None


async def _last_assistant(thread: str) -> uuid.UUID | None:
    last = await last_assistant(thread)
    return _uuid(last) if last else None


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


def _alert_unattended(who: Principal, verdict: access.Refused) -> None:
    if who.unattended:
        logger.error(
            "a scheduled run was refused", extra={"status": verdict.status, "detail": verdict.detail}
        )


def _uuid(value: object) -> uuid.UUID:
    try:
        return uuid.UUID(str(value))
    except ValueError:
        return uuid.UUID(int=0)
