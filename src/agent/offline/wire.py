"""A reply in the forms of OpenAI's chat completions: one object, or the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any, Literal

from agent.offline.reply import Call, Reply
from agent.offline.tokens import pieces

Json = dict[str, Any]
ToolIds = Literal["normal", "empty", "repeated", "per_chunk"]
ToolIndex = Literal["normal", "missing", "same"]

_ARGUMENT_PIECE = 12  # characters; short, so that arguments always arrive in several chunks


@dataclass(frozen=True, slots=True)
class Envelope:
    """What every chunk repeats; `created` is in seconds since 1970."""

    id: str
    model: str
    fingerprint: str
    created: int

    def wrap(self, kind: Literal["chat.completion", "chat.completion.chunk"], **fields: object) -> Json:
        """An object of that kind with `fields` in it."""
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            **fields,
        }


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an endpoint writes tool calls.

    Ids may be left `empty`, be the same in every call (`repeated`), or change with every chunk
    (`per_chunk`); the stream's `index` may be `missing` or the `same` in every call.
    """

    tool_ids: ToolIds = "normal"
    tool_index: ToolIndex = "normal"


def completion(
    envelope: Envelope, *, reply: Reply, usage: Json | None, dialect: Dialect | None = None
) -> Json:
    """The reply as one `chat.completion`; `usage` is left out when it is `None`."""
    manner = dialect or Dialect()
    message: Json = {"role": "assistant", "content": reply.content}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": _id(call, reply.calls, manner),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.calls
        ]
    choice: Json = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": reply.finish_reason,
    }
    return envelope.wrap("chat.completion", choices=[choice], **({"usage": usage} if usage else {}))


def chunks(
    envelope: Envelope,
    *,
    reply: Reply,
    usage: Json | None,
    dialect: Dialect | None = None,
    parts: int | None = None,
) -> list[Json]:
    """The reply as `chat.completion.chunk` objects, in order.

    The role comes first, then reasoning, text, tool calls (index, id and name before their arguments), the
    finish reason, and, when `usage` is given, a last chunk without choices that carries it.

    Args:
        envelope: What every chunk repeats.
        reply: What is said.
        usage: The usage object for the last chunk; `None` sends none.
        dialect: How tool calls are written.
        parts: Into how many chunks the text is cut; by default a word or a CJK character each.
    """
    deltas: list[Json] = [{"role": "assistant", "content": "" if reply.content is not None else None}]
    deltas += [{"reasoning_content": piece} for piece in pieces(reply.reasoning or "")]
    deltas += [{"content": piece} for piece in _cut(reply.content or "", parts=parts)]
    deltas += [{"tool_calls": [entry]} for entry in _calls(reply.calls, dialect or Dialect())]
    unsettled: Json = {"usage": None} if usage else {}
    stream = [_choice(envelope, delta, None, unsettled) for delta in deltas]
    stream.append(_choice(envelope, {}, reply.finish_reason, unsettled))
    if usage:
        stream.append(envelope.wrap("chat.completion.chunk", choices=[], usage=usage))
    return stream


def event(value: Json | Literal["[DONE]"]) -> bytes:
    """A server-sent event; the JSON is ASCII, so that lone surrogates survive the way."""
    return f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()


def _choice(envelope: Envelope, delta: Json, finish_reason: str | None, extra: Json) -> Json:
    choice: Json = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return envelope.wrap("chat.completion.chunk", choices=[choice], **extra)


def _cut(text: str, *, parts: int | None) -> list[str]:
    if parts is None or not text:
        return pieces(text)
    bounds = [round(len(text) * part / parts) for part in range(parts + 1)]
    return [text[start:end] for start, end in pairwise(bounds)]


def _calls(calls: Sequence[Call], dialect: Dialect) -> Iterator[Json]:
    for number, call in enumerate(calls):
        where: Json = {} if dialect.tool_index == "missing" else {"index": number}
        if dialect.tool_index == "same":
            where = {"index": 0}
        head: Json = {"id": _id(call, calls, dialect), "type": "function"}
        yield {**where, **head, "function": {"name": call.name, "arguments": ""}}
        for count, piece in enumerate(_slices(call.arguments), start=1):
            again = {"id": f"{call.id}-{count}"} if dialect.tool_ids == "per_chunk" else {}
            yield {**where, **again, "function": {"arguments": piece}}


def _id(call: Call, calls: Sequence[Call], dialect: Dialect) -> str:
    if dialect.tool_ids == "empty":
        return ""
    return calls[0].id if dialect.tool_ids == "repeated" else call.id


def _slices(text: str) -> list[str]:
    starts = range(0, len(text), _ARGUMENT_PIECE)
    return [text[start:end] for start, end in zip_longest(starts, starts[1:])]
