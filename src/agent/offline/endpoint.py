"""What both modes share: the routes, reading a request, and the frame of a response."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.offline.respond import JsonResponse
from agent.offline.wire import Envelope, event

MODEL = "signalbox-offline"
"""The model that `GET /v1/models` lists, and in every response of the rules whatever was asked for."""


def chat_routes(chat: Callable[[Request], Awaitable[Response]]) -> list[Route]:
    """`POST /v1/chat/completions`, answered by `chat`, and `GET /v1/models`."""

    async def models(_: Request) -> Response:
        entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": "signalbox"}
        return JsonResponse({"object": "list", "data": [entry]})

    return [
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/models", models),
    ]


async def read_body(request: Request) -> object:
    """The request's JSON, `None` when it is not JSON."""
    try:
        return json.loads(await request.body())
    except ValueError:
        return None


def envelope(*, model: str, fingerprint: str) -> Envelope:
    """A response's frame, with an id of its own and the time of now."""
    return Envelope(f"chatcmpl-{uuid4().hex}", model=model, fingerprint=fingerprint, created=int(time.time()))


def events(stream: Sequence[dict[str, Any]]) -> list[bytes]:
    """The chunks as server-sent events, with the mark of the end."""
    return [*(event(chunk) for chunk in stream), event("[DONE]")]
