"""Calls from the server to itself on behalf of the platform, for facts that no single caller may see."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from assistants.principal import PLATFORM
from assistants.server.access import WAITING
from assistants.server.waiting import ThreadFacts

_PAGE: Final = 500  # threads that are asked for at once


@asynccontextmanager
async def platform(actor: str) -> AsyncGenerator[LangGraphClient]:
    """A client of this very server that acts as the operator `platform/<actor>`.

    The user is set in the way of the server's own `with_user`, so the access rules
    apply to these calls too.
    """
    # Imported here: outside a server process langgraph_api refuses to load.
    from langgraph_api.auth.custom import SimpleUser  # noqa: PLC0415
    from langgraph_api.utils import with_user  # noqa: PLC0415

    async with with_user(SimpleUser(f"{PLATFORM}/{actor}"), ["operator"]):
        yield get_client()


async def held_message_ids(thread: str) -> frozenset[str]:
    """The ids of the messages that a thread holds; none where there is no such thread."""
    async with platform("door") as client:
        try:
            state = await client.threads.get_state(thread)
        except NotFoundError:
            return frozenset()
    values = cast("Mapping[str, Any]", state["values"] or {})
    messages: Sequence[Mapping[str, Any]] = values.get("messages") or ()
    return frozenset(str(message["id"]) for message in messages if message.get("id"))


async def thread_facts(thread: str) -> ThreadFacts | None:
    """What the door has to know of a thread; `None` where there is none.

    The thread's own record says what it waits for. Where that is silent although the thread has stopped, its
    state is asked as well: what the two say differs after a restart (langgraph-runtime-inmem 0.36.7).
    """
    async with platform("door") as client:
        try:
            found = cast("Mapping[str, Any]", await client.threads.get(thread))
        except NotFoundError:
            return None
        interrupts = _ids(found.get("interrupts"))
        if not interrupts and found["status"] in ("interrupted", "error"):
            state = cast("Mapping[str, Any]", await client.threads.get_state(thread))
            interrupts = tuple(str(each["id"]) for each in state.get("interrupts") or ())
    metadata: Mapping[str, Any] = found.get("metadata") or {}
    return ThreadFacts(
        tenant=str(metadata.get("tenant") or ""),
        owner=str(metadata.get("owner") or ""),
        assistant=_uuid(metadata.get("assistant_id")),
        busy=found["status"] == "busy",
        interrupts=interrupts,
    )


def _ids(by_task: Mapping[str, Sequence[Mapping[str, Any]]] | None) -> tuple[str, ...]:
    """The ids of a thread's interrupts, which it keeps by task."""
    return tuple(str(each["id"]) for task in (by_task or {}).values() for each in task if each.get("id"))


def _uuid(value: object) -> uuid.UUID | None:
    try:
        return uuid.UUID(str(value))
    except ValueError:
        return None


async def mark_waiting(tenant: str, threads: Collection[str]) -> list[str]:
    """Mark these threads of a tenant as waiting, and no others; the ones that do not exist (any more).

    The server can filter by metadata only, so that is where the mark has to be.
    """
    async with platform("inbox") as client:
        marked = await _marked(client, tenant)
        for thread in sorted(marked.difference(threads)):
            await _mark(client, thread, waiting=False)
        return [
            thread
            for thread in sorted(set(threads).difference(marked))
            if not await _mark(client, thread, waiting=True)
        ]


async def _marked(client: LangGraphClient, tenant: str) -> set[str]:
    found: set[str] = set()
    while True:
        page = await client.threads.search(
            metadata={"tenant": tenant, WAITING: True}, limit=_PAGE, offset=len(found), select=["thread_id"]
        )
        found |= {thread["thread_id"] for thread in page}
        if len(page) < _PAGE:
            return found


async def _mark(client: LangGraphClient, thread: str, *, waiting: bool) -> bool:
    try:
        await client.threads.update(thread, metadata={WAITING: waiting})
    except NotFoundError:
        return False
    return True


async def waiting_runs(thread: str, *, most: int) -> int:
    """How many runs wait on a thread, counted up to `most`; none where there is no such thread."""
    async with platform("door") as client:
        try:
            return len(await client.runs.list(thread, status="pending", limit=max(most, 1)))
        except NotFoundError:
            return 0


async def busy_threads(tenant: str) -> int:
    """How many threads of a tenant have a run waiting or under way."""
    async with platform("door") as client:
        return await client.threads.count(metadata={"tenant": tenant}, status="busy")
