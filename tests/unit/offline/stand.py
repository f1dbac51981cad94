"""The offline servers as the tests meet them: over HTTP, with the client that the product uses."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from agent.offline.script import Script, SeenRequests, Turn

API_KEY = "sk-test-1234"


def chat_model(url: str, **options: Any) -> ChatOpenAI:
    """The client of the product: Chat Completions, usage in streams; without retries unless asked for."""
    settings: dict[str, Any] = {"max_retries": 0, "timeout": 10, **options}
    return ChatOpenAI(
        model="gpt-5-mini",
        base_url=url,
        api_key=SecretStr(API_KEY),
        use_responses_api=False,
        stream_usage=True,
        **settings,
    )


async def streamed(model: Any, messages: Sequence[BaseMessage]) -> AIMessageChunk:
    """The answer of a stream, its chunks added up."""
    whole: AIMessageChunk | None = None
    async for chunk in model.astream(messages):
        whole = chunk if whole is None else whole + chunk
    assert whole is not None
    return whole


async def answered(model: Any, messages: Sequence[BaseMessage], *, stream: bool) -> AIMessage:
    """The answer, streamed or not."""
    return await streamed(model, messages) if stream else await model.ainvoke(messages)


@dataclass(frozen=True, slots=True)
class Stand:
    """A script server: `url` is its `/v1`, `http` a client of its root."""

    url: str
    http: httpx.AsyncClient

    async def put(self, *turns: Turn, key: str | None = None, **habits: Any) -> str:
        """Put a script; its key, which has to occur in the first human message."""
        name = key or f"case-{uuid4().hex[:8]}"
        script = Script(turns=turns, **habits)
        response = await self.http.put(f"/script/{name}", json=script.model_dump(mode="json"))
        assert response.status_code == 200, response.text
        return name

    async def seen(self, key: str, *, wait_for: int = 0) -> SeenRequests:
        """The requests of a conversation, once there are `wait_for` of them."""
        response = await self.http.get(f"/script/{key}/requests", params={"wait_for": wait_for})
        assert response.status_code == 200, response.text
        return SeenRequests.model_validate(response.json())

    async def open(self, key: str, gate: str) -> None:
        """Open a gate."""
        response = await self.http.post(f"/script/{key}/gate/{gate}")
        assert response.status_code == 200, response.text

    async def post(self, body: object, **headers: str) -> httpx.Response:
        """A chat request without a client library."""
        return await self.http.post("/v1/chat/completions", json=body, headers=headers)


@asynccontextmanager
async def client_of(url: str) -> AsyncGenerator[httpx.AsyncClient]:
    """An HTTP client of the root above `url`."""
    async with httpx.AsyncClient(base_url=url.removesuffix("/v1"), timeout=10) as client:
        yield client
