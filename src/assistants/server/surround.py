"""ASGI middleware around the whole server: side doors are shut, `/info` tells about the deployment."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SHUT = ("/internal", "/deploy")


class Shield:
    """Answers 404 for the server's unauthenticated side doors.

    `/internal/*` empties the deployment or shows any thread, `/deploy` starts a process; both answer without
    a token even when authentication is on (docs/facts.md, F2).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on everything but the shut paths."""
        if scope["type"] in {"http", "websocket"} and shut(route(scope)):
            await JSONResponse({"detail": "Not Found"}, status_code=404)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def route(scope: Scope) -> str:
    """The path as the server's router sees it: below `root_path`, which a mount or a proxy may set."""
    root, path = scope.get("root_path", ""), str(scope["path"])
    return path[len(root) :] if path.startswith(f"{root}/") else path


def shut(path: str) -> bool:
    """Whether the path leads to a side door, however it is written.

    Routes match before a trailing line break too, so what does not print is left out before comparing.
    """
    printed = "".join(character for character in path.lower() if character.isprintable()).strip()
    plain = "/" + "/".join(part for part in printed.split("/") if part)
    return any(plain == door or plain.startswith(f"{door}/") for door in _SHUT)


class Info:
    """Adds the deployment's facts to the server's own `/info`."""

    def __init__(self, app: ASGIApp, *, extra: Callable[[], dict[str, Any]]) -> None:
        self._app = app
        self._extra = extra

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Rewrite the JSON body of a successful `GET /info`; everything else passes through."""
        if scope["type"] != "http" or route(scope) != "/info" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        start: list[Message] = []
        body = bytearray()

        async def collect(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.append(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await _answer(start[0], bytes(body), self._extra(), send)

        await self._app(scope, receive, collect)


async def _answer(start: Message, body: bytes, extra: dict[str, Any], send: Send) -> None:
    if start["status"] == 200:
        body = json.dumps({**json.loads(body), **extra}).encode()
    headers = [
        (name, str(len(body)).encode() if name.lower() == b"content-length" else value)
        for name, value in start["headers"]
    ]
    await send({**start, "headers": headers})
    await send({"type": "http.response.body", "body": body})
