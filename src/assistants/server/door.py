"""The door's decision: may this run start, and with what. A pure function over the request and the catalog.

`@auth.on.threads.create_run` is the one place that every kind of run passes (wait, stream, background, batch,
stateless, cron, MCP, A2A, resume), so everything a client must not decide is decided here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from agent.context import AgentContext
from agent.stamp import RunKey, sign
from agent.tools.registry import Registry
from assistants.loader import Catalog, ResolvedAssistant
from assistants.principal import Principal
from assistants.server.access import Refused
from assistants.server.continuation import Continuation, continuation, visible
from assistants.server.run import NOT_FOUND, RunRequest

GRAPHS_NAMESPACE = uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace of the server's own assistants, one for each graph (langgraph-api 0.16.7, `graph.py`)."""

_STEPS = 50  # super-steps of an assistant whose file sets no limit
_MARGIN = 10  # so that the harness's own limit ends a run before the server's does
_KEPT_CONFIGURABLE = ("__", "langgraph_", "checkpoint_")
_CRON = "cron_id"
_ENGINE = "__pregel_"  # langgraph's own switches; the server lets a client's through (langgraph-api 0.16.7)


@dataclass(frozen=True, slots=True)
class Admitted:
    """The run may start with this context, metadata and configuration; `filter` guards its thread.

    `going` says what has to be recorded before, and what the run resumes with.
    """

    assistant: ResolvedAssistant
    context: AgentContext
    metadata: dict[str, Any]
    recursion_limit: int
    durability: str
    filter: dict[str, Any]
    going: Continuation


def decide(
    request: RunRequest,
    who: Principal,
    catalog: Catalog,
    *,
    secret: bytes,
    graphs: Sequence[str],
    registry: Registry,
    now: datetime,
) -> Admitted | Refused:
    """Admit or refuse a run.

    Args:
        request: The run as asked for.
        who: The authenticated caller; unattended for a schedule.
        catalog: The assistants that may run.
        secret: The server's secret, for the stamp.
        graphs: Ids of the deployment's graphs, whose own assistants are refused by name.
        registry: The deployment's tools, which edited arguments must fit.
        now: The moment, aware; what has expired by then can't be decided.
    """
    if request.assistant in {uuid.uuid5(GRAPHS_NAMESPACE, graph) for graph in graphs}:
        return Refused(
            403, "Graphs can't be run by name; run an assistant of your tenant ('signalbox ids' lists them)."
        )
    assistant = catalog.by_id(request.assistant)
    if assistant is None or not _may_run(who, assistant, request):
        return NOT_FOUND
    refusal = _forged(request, who) or _seatless(request, who)
    if refusal is not None:
        return refusal
    if not visible(request, who, assistant.tenant):
        return NOT_FOUND
    refusal = _elsewhere(request, who, assistant, catalog) or _taken(request, who)
    if refusal is not None:
        return refusal
    going = continuation(request, who, assistant, registry=registry, now=now)
    return going if isinstance(going, Refused) else _admit(request, who, assistant, going, secret)


def _may_run(who: Principal, assistant: ResolvedAssistant, request: RunRequest) -> bool:
    if who.operator:
        return True
    if who.unattended:
        return request.metadata.get("tenant") == assistant.tenant
    return not who.roles.isdisjoint({"user", "approver"}) and who.tenant == assistant.tenant


def _seatless(request: RunRequest, who: Principal) -> Refused | None:
    if who.operator or who.unattended or "user" in who.roles or request.input is None:
        return None
    return Refused(403, "Approvers answer what waits; sending messages takes the role 'user'.")


def _elsewhere(
    request: RunRequest, who: Principal, assistant: ResolvedAssistant, catalog: Catalog
) -> Refused | None:
    """A thread serves one tenant: an operator's test must not carry one tenant's words to another."""
    last = request.facts.assistant if request.facts is not None else None
    if last is None or not (who.operator or request.input is None):
        return None
    if request.input is None and last != request.assistant:
        # A run without input goes on where another assistant's policy stopped the thread.
        return Refused(
            409, "This thread waits under another assistant; go on with that one, or say something."
        )
    earlier = catalog.by_id(last)  # unknown: it has left the catalog, with its tenant
    if earlier is not None and earlier.tenant == assistant.tenant:
        return None
    return Refused(409, "This thread has served another tenant's assistant; start a new thread.")


def _forged(request: RunRequest, who: Principal) -> Refused | None:
    """Why a client may not send this; operators may."""
    if who.operator:
        return None
    return _commanded(request) or _paused(request) or _spoken(request)


def _commanded(request: RunRequest) -> Refused | None:
    command = request.command or {}
    extra = sorted(key for key in command if key != "resume" and command[key])
    if extra:
        return Refused(422, f"A client can't send command.{extra[0]}; send a message, or command.resume.")
    if command and command.get("resume") is None:
        return Refused(422, "A client's command must resume: {'resume': …}.")
    if command and request.input is not None:
        return Refused(422, "A run resumes or takes a message; send one of command.resume and input.")
    return None


def _paused(request: RunRequest) -> Refused | None:
    if not request.pauses:
        return None
    return Refused(422, "A client can't interrupt a run before or after nodes; cancel it instead.")


def _spoken(request: RunRequest) -> Refused | None:
    if not human_only(request.input):
        return Refused(422, "A client can send human messages only: {'messages': [{'role': 'user', …}]}.")
    return None


def _taken(request: RunRequest, who: Principal) -> Refused | None:
    if who.operator:
        return None
    known = sorted(message_ids(request.input) & request.taken)
    if known:
        return Refused(422, f"Message id {known[0]!r} is already in this thread; send new messages only.")
    return None


def message_ids(value: object) -> frozenset[str]:
    """The ids that the messages of a run's input carry; one that a thread has would replace its message."""
    messages = cast("Mapping[str, object]", value).get("messages") if isinstance(value, Mapping) else None
    several = cast("list[object]", messages) if isinstance(messages, list) else [messages]
    maps = (cast("Mapping[str, object]", one) for one in several if isinstance(one, Mapping))
    return frozenset(str(one["id"]) for one in maps if one.get("id"))


def human_only(value: object) -> bool:
    """Whether a run's input holds nothing but new human messages under `messages` (or other fields)."""
    if not isinstance(value, Mapping):
        return value is None
    fields = cast("Mapping[str, object]", value)
    messages = fields.get("messages", "")
    if not fields or isinstance(messages, str):
        return bool(fields)
    if not isinstance(messages, list):
        return _human(messages)
    return all(_human(message) for message in cast("list[object]", messages))


def _human(message: object) -> bool:
    """One message in any form that langgraph reads: text, (role, text), role or type mapping."""
    if isinstance(message, str):
        return True
    if isinstance(message, list | tuple):
        pair = cast("Sequence[object]", message)
        return len(pair) == 2 and pair[0] in ("user", "human") and isinstance(pair[1], str)
    if not isinstance(message, Mapping):
        return False
    fields = cast("Mapping[str, object]", message)
    named = [fields[key] for key in ("role", "type") if key in fields]
    if not named or any(name not in ("user", "human") for name in named):
        return False
    return _wellformed(fields)


def _wellformed(fields: Mapping[str, object]) -> bool:
    """Whether a human message has the shape that langchain reads: text or content blocks, and no calls."""
    content = fields.get("content")
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    return (
        (
            isinstance(content, str)
            or (bool(blocks) and all(isinstance(block, str | dict) for block in blocks))
        )
        and isinstance(fields.get("name"), str | None)
        and isinstance(fields.get("id"), str | None)
        and isinstance(fields.get("additional_kwargs", {}), dict)
        and isinstance(fields.get("response_metadata", {}), dict)
        and not fields.get("tool_calls")
    )


def _admit(
    request: RunRequest, who: Principal, assistant: ResolvedAssistant, going: Continuation, secret: bytes
) -> Admitted:
    acting = going.acting
    key = RunKey(run=request.run, thread=request.thread or "", assistant=str(request.assistant))
    stamp = sign(
        assistant.context,
        key,
        principal=acting.identity,
        roles=acting.roles,
        unattended=who.unattended,
        secret=secret,
    )
    return Admitted(
        assistant=assistant,
        context=assistant.context.model_copy(update={"stamp": stamp}),
        metadata={
            "tenant": acting.tenant,
            "owner": acting.identity,
            "assistant": f"{assistant.tenant}/{assistant.name}",
            "release": assistant.context.release,
            "release_reason": "stable",
            "rollout": None,
            "stage": None,
        },
        recursion_limit=(assistant.context.limits.steps or _STEPS) + _MARGIN,
        durability=assistant.context.durability,
        filter=going.filter,
        going=going,
    )


def cleaned(configurable: Mapping[str, Any], *, unattended: bool) -> dict[str, Any]:
    """The server's own keys of a run's `configurable`; what a client put there is dropped.

    Only a schedule carries the id of its cron.
    """
    kept = (*_KEPT_CONFIGURABLE, _CRON) if unattended else _KEPT_CONFIGURABLE
    return {
        key: value
        for key, value in configurable.items()
        if key.startswith(kept) and not key.startswith(_ENGINE)
    }
