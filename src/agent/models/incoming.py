"""An answer in OpenAI's terms: what an endpoint wrote in its own way, put right."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall

from agent.offline.shape import Record, parsed, record, records

_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call)?\s*\n(.*?)\n?```", re.DOTALL)


def new_id() -> str:
    """A tool call id that nothing else has."""
    return f"call_{uuid.uuid4().hex}"


def call_ids(messages: Iterable[BaseMessage]) -> frozenset[str]:
    """The ids of every tool call in a history."""
    return frozenset(
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in (*message.tool_calls, *message.invalid_tool_calls)
        if call["id"]
    )


def objects_in(calls: object) -> bool:
    """Whether one of the wire's tool calls has its arguments as an object where text belongs."""
    return any(isinstance(function.get("arguments"), dict) for function in _functions(calls))


def as_text(calls: object) -> None:
    """Write object arguments as JSON text, in place; a missing `index` becomes `None`."""
    for call in records(calls):
        call.setdefault("index", None)
    for function in _functions(calls):
        if isinstance(function.get("arguments"), dict):
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)


def identified(message: AIMessage, *, taken: Collection[str]) -> AIMessage:
    """The message, each tool call with an id that is not empty and not used before.

    Endpoints leave ids out, repeat one in a turn, or count from the beginning in every turn. Idempotency keys
    are made of these ids, so a repeated one would make a second effect look like the first.
    """
    used = set(taken)

    def own(call: Any) -> Any:  # noqa: ANN401 - a valid or an invalid call
        given = call["id"]
        kept = given if given and given not in used else new_id()
        used.add(kept)
        return {**call, "id": kept}

    tool_calls = cast("list[ToolCall]", [own(call) for call in message.tool_calls])
    invalid = cast("list[InvalidToolCall]", [own(call) for call in message.invalid_tool_calls])
    if tool_calls == message.tool_calls and invalid == message.invalid_tool_calls:
        return message
    return message.model_copy(update={"tool_calls": tool_calls, "invalid_tool_calls": invalid})


def offered(tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The names of the tools of a request."""
    return frozenset(str(tool.get("function", {}).get("name")) for tool in tools)


def spoken(message: AIMessage, *, names: Collection[str]) -> AIMessage:
    """The message, with calls that it makes in its text as tool calls.

    Read are `<tool_call>{…}</tool_call>`, a fenced JSON block, and a text that is one JSON object, each with
    `name` and `arguments` (or `parameters`). Only names of offered tools count: other JSON is an answer.
    """
    text = message.content if isinstance(message.content, str) else ""
    if message.tool_calls or message.invalid_tool_calls or not text.strip():
        return message
    pieces = _TAGGED.findall(text) or _FENCED.findall(text) or [text]
    calls = [call for piece in pieces if (call := _call(piece, names)) is not None]
    if not calls or len(calls) < len(pieces):
        return message
    rest = _FENCED.sub("", _TAGGED.sub("", text)).strip() if pieces != [text] else ""
    return message.model_copy(update={"content": rest, "tool_calls": calls})


def _call(text: str, names: Collection[str]) -> ToolCall | None:
    fields = record(parsed(text))
    arguments = fields.get("arguments", fields.get("parameters"))
    if fields.get("name") not in names or not isinstance(arguments, dict):
        return None
    return ToolCall(name=fields["name"], args=cast("dict[str, Any]", arguments), id="", type="tool_call")


def _functions(calls: object) -> list[Record]:
    return records([call.get("function") for call in records(calls)])
