"""The control routes of script mode; served on loopback only, so that whoever is on the machine may use them."""

from __future__ import annotations

import json
from collections.abc import Sequence

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


def control_routes(stage: Stage) -> list[Route]:
    """The routes that put, watch and withdraw scripts.

    * `PUT /script/{key}`: a `Script`; replaces the one of that key.
    * `DELETE /script/{key}`
    * `GET /script/{key}/requests?wait_for=n&timeout=s`: `SeenRequests`, at once, or when there are `n` of them
      (504 after `timeout` seconds, 10 by default).
    * `POST /script/{key}/gate/{name}`: open a gate of the script, also in advance.
    * `GET /requests`: `SeenRequests` of the whole server.
    """

    async def put(request: Request) -> Response:
        key = _key(request)
        try:
            script = Script.model_validate(json.loads(await request.body()))
        except (ValidationError, ValueError) as error:
            return refused(Refusal(f"Script {key!r} is not valid: {_reason(error)}", param="script"))
        conversation = stage.put(key, script=script)
        return JsonResponse({"key": key, "turns": conversation.left})

    async def delete(request: Request) -> Response:
        return JsonResponse({}) if stage.remove(_key(request)) else _missing(_key(request))

    async def requests(request: Request) -> Response:
        conversation = stage.conversations.get(_key(request))
        if conversation is None:
            return _missing(_key(request))
        count = int(request.query_params.get("wait_for", 0))
        timeout = min(float(request.query_params.get("timeout", 10)), _LONGEST_WAIT)
        with anyio.move_on_after(timeout):
            await stage.arrived(conversation.key, count=count)
            return _seen(stage.requests(conversation.key), conversation)
        return refused(
            Refusal(
                f"Script {conversation.key!r} saw {len(stage.requests(conversation.key))} requests in "
                f"{timeout:g} seconds, expected {count}.",
                status=504,
            )
        )

    async def gate(request: Request) -> Response:
        conversation, name = stage.conversations.get(_key(request)), request.path_params["name"]
        if conversation is None:
            return _missing(_key(request))
        if name not in conversation.gates:
            known = sorted(conversation.gates)
            return refused(
                Refusal(f"Script {conversation.key!r} has no gate {name!r}, only {known!r}.", status=404)
            )
        conversation.gates[name].set()
        return JsonResponse({})

    async def everything(_: Request) -> Response:
        return _seen(stage.requests())

    return [
        Route("/script/{key}", put, methods=["PUT"]),
        Route("/script/{key}", delete, methods=["DELETE"]),
        Route("/script/{key}/requests", requests),
        Route("/script/{key}/gate/{name}", gate, methods=["POST"]),
        Route("/requests", everything),
    ]


def _key(request: Request) -> str:
    return str(request.path_params["key"])


def _missing(key: str) -> Response:
    return refused(Refusal(f"There is no script {key!r}; put it with PUT /script/{key}.", status=404))


def _seen(requests: Sequence[SeenRequest], conversation: Conversation | None = None) -> Response:
    left = conversation.left if conversation else None
    return JsonResponse(SeenRequests(requests=tuple(requests), left=left).model_dump())


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{'.'.join(str(part) for part in each['loc']) or 'script'}: {each['msg']}" for each in error.errors()
    )
