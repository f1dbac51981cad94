"""The scripted model endpoint as tests use it: started as a process, driven over its control routes."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from agent.offline.script import Script, SeenRequest, SeenRequests, Turn


@dataclass(frozen=True, slots=True)
class Conversation:
    """One scripted conversation: begin its first message with `key`."""

    key: str
    client: httpx.AsyncClient

    def says(self, text: str) -> str:
        """A first message that the endpoint knows as this conversation's."""
        return f"{self.key} {text}"

    async def requests(self, *, wait_for: int = 0) -> list[SeenRequest]:
        """The requests that the endpoint saw of this conversation; waits until there are `wait_for`."""
        answer = await self.client.get(
            f"/script/{self.key}/requests", params={"wait_for": wait_for, "timeout": 40}
        )
        answer.raise_for_status()
        return list(SeenRequests.model_validate(answer.json()).requests)

    async def left(self) -> int:
        """How many turns the endpoint has not been asked for."""
        answer = await self.client.get(f"/script/{self.key}/requests")
        return int(answer.json()["left"])

    async def open(self, gate: str) -> None:
        """Open a gate of the script."""
        (await self.client.post(f"/script/{self.key}/gate/{gate}")).raise_for_status()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint's base URL for models, and its control client."""

    url: str
    client: httpx.AsyncClient

    async def script(self, *turns: Turn, **switches: Any) -> Conversation:
        """A conversation of its own with these turns."""
        key = f"conversation-{uuid.uuid4().hex[:12]}"
        body = Script(turns=turns, **switches).model_dump(mode="json")
        (await self.client.put(f"/script/{key}", json=body)).raise_for_status()
        return Conversation(key, self.client)


@asynccontextmanager
async def endpoint() -> AsyncGenerator[Endpoint]:
    """The scripted endpoint, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent.offline", "--mode", "script", "--until-eof"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        url = json.loads(await process.stdout.readline())["url"]
        async with httpx.AsyncClient(base_url=url.removesuffix("/v1"), timeout=60.0) as client:
            yield Endpoint(url, client)
    finally:
        process.stdin.close()
        await process.wait()
