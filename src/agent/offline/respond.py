"""Responses that can be paced, held at a gate, and cut off in the middle.

A held response ends when its client leaves, so that no request outlives whoever waited for it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent.offline.refusal import Refusal

Hold = Callable[[int], Awaitable[bool]]
"""Awaited before the event of that number (from 0) is sent; false drops the connection instead."""


class JsonResponse(Response):
    """JSON in ASCII: text with lone surrogates is escaped instead of failing."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """The content as JSON bytes."""
        return json.dumps(content).encode()


def refused(refusal: Refusal) -> Response:
    """The refusal as an HTTP response."""
    return JsonResponse(refusal.body(), status_code=refusal.status, headers=dict(refusal.headers))


class Attended(Response):
    """Runs `work`, which answers, for as long as the client is there; no part is sent after it left."""

    def __init__(self, work: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        super().__init__()
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request (ASGI)."""
        async with anyio.create_task_group() as group:
            group.start_soon(_until_gone, receive, group.cancel_scope)
            await self._work(scope, receive, send)
            group.cancel_scope.cancel()


class EventStream(Response):
    """Server-sent events; `hold` is awaited before each, and `cut` ends the connection after that many.

    A cut is an ASGI response without its end: the server drops the connection, and the client sees a broken
    stream.
    """

    def __init__(
        self,
        events: Sequence[bytes],
        *,
        hold: Hold | None = None,
        cut: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", **(headers or {})})
        del self.headers["content-length"]
        self.headers["content-type"] = "text/event-stream; charset=utf-8"
        self._events, self._hold, self._cut = events, hold, cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request (ASGI)."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        for number, each in enumerate(self._events[: self._cut]):
            if self._hold is not None and not await self._hold(number):
                return
            await send({"type": "http.response.body", "body": each, "more_body": True})
        if self._cut is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class CutResponse(Response):
    """The first half of a response's body, then a dropped connection."""

    def __init__(self, whole: Response) -> None:
        super().__init__()
        self._whole = whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request (ASGI)."""
        body = bytes(self._whole.body)
        await send({"type": "http.response.start", "status": 200, "headers": self._whole.raw_headers})
        await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
    scope.cancel()
