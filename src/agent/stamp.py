"""The door's stamp: proof that the server itself admitted this run under this context.

The stamp is an HMAC-SHA256 over run id, thread id, assistant id, principal, roles and the context's digest.
It travels in `AgentContext.stamp` and is checked before the first model call and before every tool call,
so a context that a client wrote, one copied from another run, or a server whose authentication is switched
off by a typo gives no agent.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import rfc8785

from agent.context import AgentContext, Stamp
from agent.errors import RunRefused

_PURPOSE = b"signalbox run stamp 1"


@dataclass(frozen=True, slots=True)
class RunKey:
    """What a stamp is bound to, as text ids. `thread` is empty for a stateless run: it has none yet."""

    run: str
    thread: str
    assistant: str


def secret_from(environment: Mapping[str, str] | None = None) -> bytes:
    """The server's secret: `SIGNALBOX_SERVER_SECRET`, else `SIGNALBOX_JWT_SECRET`.

    Raises:
        RunRefused: Neither is set.
    """
    values = os.environ if environment is None else environment
    secret = values.get("SIGNALBOX_SERVER_SECRET") or values.get("SIGNALBOX_JWT_SECRET")
    if not secret:
        raise RunRefused("The server has no secret to check runs with; set SIGNALBOX_SERVER_SECRET.")
    return secret.encode()


def context_digest(context: AgentContext) -> str:
    """sha256 (hexadecimal) over the RFC 8785 form of the total context without its stamp."""
    values = context.total()
    del values["stamp"]
    return hashlib.sha256(rfc8785.dumps(values)).hexdigest()


def sign(
    context: AgentContext,
    key: RunKey,
    *,
    principal: str,
    roles: Iterable[str] = (),
    unattended: bool,
    secret: bytes,
) -> Stamp:
    """The stamp that admits `context` to the run `key` on behalf of `principal` with these roles."""
    bare = Stamp(principal=principal, roles=tuple(sorted(roles)), unattended=unattended, mac="")
    return bare.model_copy(update={"mac": _mac(context, key, bare, secret=secret)})


def verify(context: AgentContext, key: RunKey, *, secret: bytes) -> Stamp:
    """The context's stamp if it was made for this run.

    A stateless run is stamped before its thread exists; its stamp binds the run id, which is unique.

    Raises:
        RunRefused: There is no stamp, or it belongs to another run, assistant or context.
    """
    stamp = context.stamp
    if stamp is None:
        raise RunRefused(
            "This run carries no stamp of the server's door, so it does not start. Check that 'auth' in "
            "langgraph.json is complete, and run the assistant through the server."
        )
    stateless = RunKey(run=key.run, thread="", assistant=key.assistant)
    for candidate in (key, stateless):
        mac = _mac(context, candidate, stamp, secret=secret)
        if hmac.compare_digest(mac.encode(), stamp.mac.encode(errors="replace")):  # a forged mac is any text
            return stamp
    raise RunRefused(
        "This run's stamp was made for another run, assistant or context, so it does not start; run it anew."
    )


def stateless(context: AgentContext, key: RunKey, *, secret: bytes) -> bool:
    """Whether a verified run was admitted without a thread of its own, whose state is gone when it ends."""
    stamp = context.stamp
    if stamp is None or not key.thread:
        return True
    bare = RunKey(run=key.run, thread="", assistant=key.assistant)
    mac = _mac(context, bare, stamp, secret=secret)
    return hmac.compare_digest(mac, stamp.mac)


def run_key(configurable: Mapping[str, Any]) -> RunKey:
    """The ids of the current run, from the part of the configuration that the server overwrites itself."""
    return RunKey(
        run=str(configurable.get("run_id") or ""),
        thread=str(configurable.get("thread_id") or ""),
        assistant=str(configurable.get("assistant_id") or ""),
    )


def _mac(context: AgentContext, key: RunKey, stamp: Stamp, *, secret: bytes) -> str:
    body = rfc8785.dumps(
        {
            "run": key.run,
            "thread": key.thread,
            "assistant": key.assistant,
            "principal": stamp.principal,
            "roles": list(stamp.roles),
            "unattended": stamp.unattended,
            "context": context_digest(context),
        }
    )
    purpose_key = hmac.new(secret, _PURPOSE, hashlib.sha256).digest()
    return hmac.new(purpose_key, body, hashlib.sha256).hexdigest()
