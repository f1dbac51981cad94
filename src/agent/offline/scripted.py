"""A scripted turn as an HTTP response, with its delay, its gates and its cut."""

from __future__ import annotations

import hashlib
from typing import Any

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent.offline.endpoint import envelope, events
from agent.offline.refusal import Refusal
from agent.offline.reply import Reply
from agent.offline.respond import Attended, CutResponse, EventStream, Hold, JsonResponse, refused
from agent.offline.stage import Cue
from agent.offline.tokens import usage
from agent.offline.wire import Dialect, chunks, completion


def performed(cue: Cue) -> Response:
    """The response of a turn; it begins when the turn's delay is over and its gate open."""

    async def work(scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.sleep(cue.turn.delay)
        for gate in _gates_before(cue):
            if not await cue.conversation.passed(gate):
                withdrawn = Refusal(f"Script {cue.conversation.key!r} was withdrawn at gate {gate!r}.")
                await refused(withdrawn)(scope, receive, send)
                return
        await _response(cue)(scope, receive, send)

    return Attended(work)


def _gates_before(cue: Cue) -> list[str]:
    turn = cue.turn
    whole = turn.gate_after_chunks if not cue.request.stream else None
    return [name for name in (turn.gate, whole and whole.name) if name]


def _response(cue: Cue) -> Response:
    turn, request, script = cue.turn, cue.request, cue.conversation.script
    if turn.status >= 400:
        return refused(turn.failure())
    said = turn.reply(prefix=_prefix(cue))
    frame = envelope(model=request.model, fingerprint="offline-script")
    manner = Dialect(script.tool_ids, script.tool_index)
    counted = _usage(cue, said)
    if request.stream:
        stream = chunks(frame, reply=said, usage=counted, dialect=manner, parts=turn.chunks)
        return EventStream(events(stream), hold=_hold(cue), cut=turn.cut_after_chunks, headers=turn.headers)
    body = completion(frame, reply=said, usage=counted, dialect=manner)
    whole = JsonResponse(body, headers=turn.headers)
    return whole if turn.cut_after_chunks is None else CutResponse(whole)


def _prefix(cue: Cue) -> str:
    digest = hashlib.sha256(cue.conversation.key.encode()).hexdigest()
    return f"call_{digest[:8]}_{cue.number}_"


def _usage(cue: Cue, said: Reply) -> dict[str, Any] | None:
    wanted, request = cue.turn.usage, cue.request
    unasked = request.stream and not request.include_usage
    if wanted is None or cue.conversation.script.no_usage or unasked:
        return None
    if wanted == "counted":
        return usage(request.messages, tools=request.tools, reply=said)
    return wanted.wire()


def _hold(cue: Cue) -> Hold | None:
    gate = cue.turn.gate_after_chunks
    if gate is None:
        return None

    async def hold(number: int) -> bool:
        return number != gate.n or await cue.conversation.passed(gate.name)

    return hold
