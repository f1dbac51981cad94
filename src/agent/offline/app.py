"""The two apps: the rules that answer without a key, and the script that answers in tests."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from agent.offline.control import control_routes
from agent.offline.endpoint import MODEL, chat_routes, envelope, events, read_body
from agent.offline.refusal import Refusal
from agent.offline.request import ChatRequest, parse, problems, refuse
from agent.offline.respond import Attended, EventStream, Hold, JsonResponse, refused
from agent.offline.rules.answering import reply
from agent.offline.scripted import performed
from agent.offline.stage import Stage
from agent.offline.tokens import usage
from agent.offline.wire import chunks, completion


def rules_app(*, pace: float | None = None) -> Starlette:
    """The offline model: `/v1/chat/completions` and `/v1/models`, answered by rules.

    Args:
        pace: Tokens per second of a stream; `None` sends as fast as the client reads.
    """

    async def chat(request: Request) -> Response:
        asked = parse(await read_body(request))
        if isinstance(asked, Refusal):
            return refused(asked)
        refusal = refuse(problems(asked))
        return refused(refusal) if refusal else _ruled(asked, pace=pace)

    return Starlette(routes=chat_routes(chat))


def script_app() -> Starlette:
    """The tests' endpoint: the same API, answered by the scripts that the control routes put."""
    stage = Stage()

    async def chat(request: Request) -> Response:
        body = await read_body(request)
        cue = stage.answer(parse(body), body=body, headers=dict(request.headers))
        return refused(cue) if isinstance(cue, Refusal) else performed(cue)

    return Starlette(routes=[*chat_routes(chat), *control_routes(stage)])


def _ruled(asked: ChatRequest, *, pace: float | None) -> Response:
    said = reply(
        asked.messages,
        tools=asked.tools,
        tool_choice=asked.tool_choice,
        response_format=asked.response_format,
        parallel=asked.parallel,
        max_tokens=asked.max_tokens,
        today=datetime.now(UTC).date(),
    )
    counted = usage(asked.messages, tools=asked.tools, reply=said)
    frame = envelope(model=MODEL, fingerprint="offline-rules")
    if not asked.stream:
        return JsonResponse(completion(frame, reply=said, usage=counted))
    stream = chunks(frame, reply=said, usage=counted if asked.include_usage else None)
    return Attended(EventStream(events(stream), hold=_paced(pace)).__call__)


def _paced(pace: float | None) -> Hold | None:
    if pace is None:
        return None

    async def hold(_: int) -> bool:
        await anyio.sleep(1 / pace)
        return True

    return hold
