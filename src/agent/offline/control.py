"""The control routes of script mode; loopback is their only protection."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.offline.refusal import Refusal
from agent.offline.respond import JsonResponse, refused
from agent.offline.script import Script, SeenRequest, SeenRequests
from agent.offline.stage import Conversation, Stage

_LONGEST_WAIT = 60.0  # seconds
_WAIT = 10.0


def control_routes(stage: Stage) -> list[Route]:
    """The routes that put, watch and withdraw scripts.

    * `PUT /script/{key}`: a `Script`; replaces the one of that key, and forgets the requests it saw.
    * `DELETE /script/{key}`
    * `GET /script/{key}/requests?wait_for=n&timeout=s`: `SeenRequests`, at once, or when there are `n` of
      them (504 after `timeout` seconds, 10 by default).
    * `POST /script/{key}/gate/{name}`: open a gate of the script, also in advance.
    * `GET /requests`: `SeenRequests` of the whole server.
    """
    control = _Control(stage)
    return [
        Route("/script/{key}", control.put, methods=["PUT"]),
        Route("/script/{key}", control.delete, methods=["DELETE"]),
        Route("/script/{key}/requests", control.requests),
        Route("/script/{key}/gate/{name}", control.gate, methods=["POST"]),
        Route("/requests", control.everything),
    ]


@dataclass(frozen=True, slots=True)
class _Control:
    stage: Stage

    async def put(self, request: Request) -> Response:
        key = _key(request)
        try:
            script = Script.model_validate(json.loads(await request.body()))
        except ValueError as error:  # broken JSON, or a value that the models refuse
            return refused(Refusal(f"Script {key!r} is not valid: {_reason(error)}", param="script"))
        conversation = self.stage.put(key, script=script)
        return JsonResponse({"key": key, "turns": conversation.left})

    async def delete(self, request: Request) -> Response:
        return JsonResponse({}) if self.stage.remove(_key(request)) else _missing(_key(request))

    async def requests(self, request: Request) -> Response:
        conversation = self.stage.conversations.get(_key(request))
        if conversation is None:
            return _missing(_key(request))
        try:
            count = int(request.query_params.get("wait_for", 0))
            timeout = min(float(request.query_params.get("timeout", _WAIT)), _LONGEST_WAIT)
        except ValueError as error:
            return refused(Refusal(f"'wait_for' and 'timeout' must be numbers: {error}."))
        with anyio.move_on_after(timeout):
            await self.stage.arrived(conversation.key, count=count)
            return _seen(self.stage.requests(conversation.key), conversation)
        return _too_few(len(self.stage.requests(conversation.key)), conversation.key, count, timeout)

    async def gate(self, request: Request) -> Response:
        conversation, name = self.stage.conversations.get(_key(request)), str(request.path_params["name"])
        if conversation is None:
            return _missing(_key(request))
        if name not in conversation.gates:
            known = sorted(conversation.gates)
            return refused(
                Refusal(f"Script {conversation.key!r} has no gate {name!r}, only {known!r}.", status=404)
            )
        conversation.gates[name].set()
        return JsonResponse({})

    async def everything(self, _: Request) -> Response:
        return _seen(self.stage.requests())


def _key(request: Request) -> str:
    return str(request.path_params["key"])


def _missing(key: str) -> Response:
    return refused(Refusal(f"There is no script {key!r}; put it with PUT /script/{key}.", status=404))


def _too_few(seen: int, key: str, count: int, timeout: float) -> Response:
    text = f"Script {key!r} saw {seen} requests in {timeout:g} seconds, expected {count}."
    return refused(Refusal(text, status=504))


def _seen(requests: Sequence[SeenRequest], conversation: Conversation | None = None) -> Response:
    left = conversation.left if conversation else None
    return JsonResponse(SeenRequests(requests=tuple(requests), left=left).model_dump())


def _reason(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{'.'.join(str(part) for part in each['loc']) or 'script'}: {each['msg']}" for each in error.errors()
    )
