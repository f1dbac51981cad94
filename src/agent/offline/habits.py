"""The habits of endpoints that call themselves compatible: what each of them refuses in a request.

The error texts are ours; the habits were met at real providers (the project's notes on endpoint dialects).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.offline.content import text_of
from agent.offline.refusal import Refusal, context_exceeded, rate_limited
from agent.offline.request import ChatRequest, problems, refuse
from agent.offline.script import Expect, Script
from agent.offline.shape import record, records
from agent.offline.tokens import prompt_tokens


def refusal(script: Script, *, request: ChatRequest, call: int) -> Refusal | None:
    """Why the script's endpoint refuses a request, or `None`.

    Args:
        script: The endpoint's habits.
        request: The request.
        call: Its number in the conversation, from 1.
    """
    limit = script.rate_limit_at
    if limit is not None and limit.call == call:
        return rate_limited(retry_after=limit.retry_after)
    if script.strict and (found := refuse(problems(request))):
        return found
    for switch, broken in _CHECKS.items():
        if getattr(script, switch) and (complaint := broken(request)):
            return Refusal(complaint)
    tokens = prompt_tokens(request.messages, tools=request.tools)
    if script.context_limit is not None and tokens > script.context_limit:
        return context_exceeded(limit=script.context_limit, tokens=tokens, wording=script.context_error)
    return None


def mismatch(expect: Expect, *, request: ChatRequest) -> str | None:
    """What in the request is not as the turn expects, or `None`."""
    offered = request.tool_names()
    if expect.tools is not None and sorted(expect.tools) != sorted(offered):
        return f"expected the tools {sorted(expect.tools)!r} to be offered, got {sorted(offered)!r}"
    role = request.messages[-1].get("role")
    if expect.last_role is not None and expect.last_role != role:
        return f"expected the last message's role to be {expect.last_role!r}, got {role!r}"
    if expect.contains is not None and not any(
        expect.contains in text for message in request.messages for text in _texts(message)
    ):
        return f"expected a message that contains {expect.contains!r}, got none"
    return None


def _null_content(request: ChatRequest) -> str | None:
    where = _first(request, lambda message: message.get("content") is None)
    return where and f"{where}: assistant content must not be null"


def _blank_content(request: ChatRequest) -> str | None:
    where = _first(
        request, lambda message: message.get("content") is not None and not text_of(message).strip()
    )
    return where and f"{where}: assistant content must not be blank"


def _json_schema(request: ChatRequest) -> str | None:
    wanted = (request.response_format or {}).get("type")
    return "This response_format type is unavailable: json_schema" if wanted == "json_schema" else None


def _forced_choice(request: ChatRequest) -> str | None:
    forced = request.tool_choice.mode in ("required", "named")
    return "This model does not support this tool_choice; use 'auto' or 'none'" if forced else None


def _require_reasoning(request: ChatRequest) -> str | None:
    where = _first(
        request, lambda message: bool(message.get("tool_calls")) and not message.get("reasoning_content")
    )
    return where and f"{where}: the reasoning_content of a tool call must be passed back to the API"


def _refuse_reasoning(request: ChatRequest) -> str | None:
    where = _first(request, lambda message: "reasoning_content" in message)
    return where and f"{where}: reasoning_content is not allowed in a request"


def _unknown(parameter: str) -> Callable[[ChatRequest], str | None]:
    def check(request: ChatRequest) -> str | None:
        return f"Unrecognized request argument: {parameter}" if parameter in request.body else None

    return check


def _first(request: ChatRequest, broken: Callable[[Mapping[str, Any]], bool]) -> str | None:
    for index, message in enumerate(request.messages):
        if message.get("role") == "assistant" and broken(message):
            return f"messages[{index}]"
    return None


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    yield text_of(message)
    for call in records(message.get("tool_calls")):
        yield str(record(call.get("function")).get("arguments"))


_CHECKS: Mapping[str, Callable[[ChatRequest], str | None]] = {
    "refuse_null_content": _null_content,
    "refuse_blank_content": _blank_content,
    "refuse_json_schema": _json_schema,
    "refuse_forced_tool_choice": _forced_choice,
    "refuse_parallel_tool_calls": _unknown("parallel_tool_calls"),
    "refuse_stream_options": _unknown("stream_options"),
    "only_max_tokens": _unknown("max_completion_tokens"),
    "require_reasoning": _require_reasoning,
    "refuse_reasoning": _refuse_reasoning,
}
