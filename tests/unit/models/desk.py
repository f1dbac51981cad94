"""What the tests of the model clients share: clients of a dialect, answers, and endpoints that are odd."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from pydantic import BaseModel, SecretStr
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agent.models.dialect import DialectChat
from agent.profile import PROFILES, Profile

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tell the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


class Route(BaseModel):
    """Where a message goes."""

    worker: str
    urgent: bool = False


def profile(name: str, **changes: Any) -> Profile:
    """A profile of the data, with changes."""
    return replace(PROFILES[name], **changes)


def client(url: str, dialect: Profile | str = "scripted", **settings: Any) -> DialectChat:
    """A client as `Models` builds it."""
    spoken = PROFILES[dialect] if isinstance(dialect, str) else dialect
    given: dict[str, Any] = {
        "model": "gpt-5-mini",
        "base_url": url,
        "api_key": SecretStr("sk-test"),
        "max_retries": 0,
        "timeout": 10,
        "use_responses_api": False,
        "stream_usage": spoken.stream_options,
        "disable_streaming": "tool_calling" if spoken.text_tool_calls else False,
        "dialect": spoken,
        **settings,
    }
    return DialectChat(**given)


async def said(model: Any, messages: Sequence[BaseMessage], *, stream: bool) -> AIMessage:
    """The answer, streamed (its chunks added up) or not."""
    if not stream:
        return await model.ainvoke(messages)
    whole: AIMessageChunk | None = None
    async for chunk in model.astream(messages):
        whole = chunk if whole is None else whole + chunk
    assert whole is not None
    return whole


class Odd:
    """An endpoint that gives these answers in turn: JSON values, texts, or lists of events of a stream."""

    def __init__(self, *answers: Any, headers: Mapping[str, str] | None = None) -> None:
        self.answers = list(answers)
        self.headers = dict(headers or {})
        self.bodies: list[dict[str, Any]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.bodies.append({"path": scope["path"], **(json.loads(body) if body else {})})
        await self._answer(self.answers.pop(0))(scope, receive, send)

    def _answer(self, answer: Any) -> Response:
        if isinstance(answer, Response):
            return answer
        if isinstance(answer, str):
            return Response(answer, media_type="text/html", headers=self.headers)
        if isinstance(answer, list):
            given = cast("list[Any]", answer)
            lines = [one if isinstance(one, str) else json.dumps(one) for one in given]
            events = "".join(f"data: {line}\n\n" for line in lines)
            return Response(events, media_type="text/event-stream", headers=self.headers)
        return JSONResponse(answer, headers=self.headers)


def completion(message: Mapping[str, Any], *, finish_reason: str | None = "stop", **more: Any) -> Any:
    """A chat completion."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **more}


def piece(delta: Mapping[str, Any], *, finish_reason: str | None = None, **more: Any) -> Any:
    """A chunk of a stream."""
    choice = {"index": 0, "finish_reason": finish_reason, "delta": delta}
    kind = "chat.completion.chunk"
    return {"id": "c", "object": kind, "created": 1, "model": "m", "choices": [choice], **more}
