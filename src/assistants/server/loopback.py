"""Calls from the server to itself on behalf of the platform, for facts that no single caller may see."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from assistants.principal import PLATFORM


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


async def last_assistant(thread: str) -> str | None:
    """The id of the assistant that last ran on a thread; `None` where there is no such thread or run."""
    async with platform("door") as client:
        try:
            found = await client.threads.get(thread)
        except NotFoundError:
            return None
    return (found["metadata"] or {}).get("assistant_id")


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
