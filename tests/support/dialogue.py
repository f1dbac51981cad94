"""Talking to an assistant through langgraph-sdk."""

from __future__ import annotations

from typing import Any, cast

from langgraph_sdk.client import LangGraphClient

from tests.support.server import assistant

Json = Any

SUPPORT = assistant("acme/support")
READER = assistant("acme/reader")


def message(text: str) -> dict[str, Json]:
    """The input of a run: one message of a person."""
    return {"messages": [{"role": "user", "content": text}]}


async def new_thread(client: LangGraphClient) -> str:
    """A fresh thread of the client's user."""
    return str((await client.threads.create())["thread_id"])


async def wait(client: LangGraphClient, thread: str | None, to: str, text: str, **more: Json) -> Json:
    """One run to its end; the values of the thread."""
    run = cast("Json", client.runs.wait)
    return await run(thread, to, input=message(text), **more)


async def ask(client: LangGraphClient, thread: str, text: str, *, to: str = SUPPORT) -> list[Json]:
    """One turn on a thread; all its messages afterwards."""
    values = await wait(client, thread, to, text)
    return values["messages"]
