"""A request as it goes out: what OpenAI's client wrote, in the endpoint's dialect, tool results in frames.

Every request of every graph passes here, so this is where text from outside gets its frame
(`agent.framing`); the thread keeps it as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from agent.framing import framed_messages, ruled
from agent.profile import Profile

REASONING = "reasoning_content"
"""The key of `additional_kwargs` under which a message keeps its model's reasoning; the wire's may differ."""

UNRECORDED = "No reasoning was recorded for this step."
"""Stands for the reasoning of a message that another model wrote, where the endpoint insists on one."""

_FREE_CHOICES = ("auto", "none")


def adapted(
    payload: Mapping[str, Any], *, messages: Sequence[BaseMessage], profile: Profile
) -> dict[str, Any]:
    """The request's payload in the endpoint's dialect; what the endpoint does not know is left out.

    Results of tools are framed. A request with tools or results says in its system message what frames are;
    it is the same text each time, at the end, so that a cached prompt stays one.

    Args:
        payload: As `ChatOpenAI` builds it for chat completions; not changed.
        messages: The messages that `payload["messages"]` was made of, in the same order.
        profile: The dialect.
    """
    sent = dict(payload)
    if "max_completion_tokens" in sent:
        sent[profile.max_tokens] = sent.pop("max_completion_tokens")
    if not profile.parallel_tool_calls:
        sent.pop("parallel_tool_calls", None)
    if not profile.stream_options:
        sent.pop("stream_options", None)
    if not profile.forced_tool_choice and sent.get("tool_choice", "auto") not in _FREE_CHOICES:
        del sent["tool_choice"]
    wires: Sequence[Mapping[str, Any]] = sent["messages"]
    told = [
        _calling(wire, message, profile) if wire.get("tool_calls") else wire
        for wire, message in zip(wires, messages, strict=True)
    ]
    framed = framed_messages(told, names=[message.name for message in messages])
    results = any(wire.get("role") == "tool" for wire in framed)
    sent["messages"] = ruled(framed) if results or sent.get("tools") else framed
    return sent


def _calling(wire: Mapping[str, Any], message: BaseMessage, profile: Profile) -> dict[str, Any]:
    """An assistant message that calls tools: its content and its reasoning as the endpoint wants them."""
    content = wire.get("content")
    blank = content is None or (isinstance(content, str) and not content.strip())
    told = {**wire, "content": _content(wire["tool_calls"], profile) if blank else content}
    if profile.echo_reasoning and profile.reasoning_field is not None:
        told[profile.reasoning_field] = message.additional_kwargs.get(REASONING) or UNRECORDED
    return told


def _content(calls: Sequence[Mapping[str, Any]], profile: Profile) -> str | None:
    if profile.call_content == "null":
        return None
    if profile.call_content == "empty":
        return ""
    return f"Calling {', '.join(str(call['function']['name']) for call in calls)}."
