"""Tokens of what is sent to a model, estimated without a tokenizer and corrected by what endpoints report.

Estimate: a Chinese, Japanese or Korean character is one token, other characters outside ASCII two a token,
ASCII four a token (OpenAI's rule of thumb for English); four tokens a message beside its text and three for
the reply's beginning (the overhead OpenAI documents for chat models); `MEDIA` for a part that is no text. A
tool's result counts as it is sent, in its frame (`agent.framing`).
Correction: an answer carries the estimate of its request beside the endpoint's own count; their ratio scales
the next estimates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agent.framing import RULE, framed, framed_content

ESTIMATE = "estimated_input_tokens"
"""Key in an answer's `response_metadata`: what its request was estimated at, before correction."""

ESTIMATED = "usage_estimated"
"""Key in an answer's `response_metadata`: true where its usage was counted here and not by the endpoint."""

PRIMING = 3
MEDIA = 1_000

_PER_MESSAGE = 4
_ASCII_PER_TOKEN = 4
_OTHER_PER_TOKEN = 2
_LEAST, _MOST = 0.75, 4.0  # a ratio beyond is an endpoint's mistake, not a tokenizer's habit
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_ASCII = re.compile(r"[\x00-\x7f]+")


def of_text(text: str) -> int:
    """Tokens of a text."""
    if text.isascii():
        return ceil(len(text) / _ASCII_PER_TOKEN)
    cjk = len(_CJK.findall(text))
    ascii_length = sum(map(len, _ASCII.findall(text)))
    other = len(text) - cjk - ascii_length
    return cjk + ceil(ascii_length / _ASCII_PER_TOKEN) + ceil(other / _OTHER_PER_TOKEN)


def of_message(message: BaseMessage) -> int:
    """Tokens of a message: its content, a result's frame, and the names and arguments of its calls."""
    if isinstance(message, ToolMessage):
        return _PER_MESSAGE + _content(framed_content(message.content, name=message.name))
    called = 0
    if isinstance(message, AIMessage):
        called = sum(
            of_text(call["name"]) + of_text(json.dumps(call["args"], ensure_ascii=False, default=str))
            for call in message.tool_calls
        )
    return _PER_MESSAGE + _content(message.content) + called


def beside(message: BaseMessage) -> int:
    """Tokens of a message beside its text: its role and such, and the frame of a tool's result."""
    return _PER_MESSAGE + (of_text(framed("", name=message.name)) if isinstance(message, ToolMessage) else 0)


def of_rule(messages: Iterable[BaseMessage], *, tools: bool) -> int:
    """Tokens that a request takes to say what frames are (`agent.framing.RULE`).

    None when there are neither tools nor results, for then it does not say so.

    Args:
        messages: What is sent; without a system message among them the rule is a message of its own.
        tools: Whether tools are offered.
    """
    sent = list(messages)
    if not tools and not any(isinstance(message, ToolMessage) for message in sent):
        return 0
    alone = not any(isinstance(message, SystemMessage) for message in sent)
    return of_text(f"\n\n{RULE}") + (_PER_MESSAGE if alone else 0)


def of_messages(messages: Iterable[BaseMessage]) -> int:
    """Tokens of messages, without the tools and the reply's beginning."""
    return sum(of_message(message) for message in messages)


def of_tool(tool: BaseTool | dict[str, Any]) -> int:
    """Tokens of the schema that a model is shown of a tool."""
    return of_text(json.dumps(convert_to_openai_tool(tool), ensure_ascii=False))


def ratio(messages: Sequence[BaseMessage]) -> float:
    """How many tokens the endpoint counts for one estimated: from the last answer with both, else 1.

    At least 0.75 and at most 4: what an endpoint reports is not trusted blindly.
    """
    for message in reversed(messages):
        if isinstance(message, AIMessage) and (found := _reported(message)) is not None:
            return min(max(found, _LEAST), _MOST)
    return 1.0


def _reported(message: AIMessage) -> float | None:
    if message.response_metadata.get(ESTIMATED):  # the client counted, not the endpoint
        return None
    estimated = message.response_metadata.get(ESTIMATE)
    counted = message.usage_metadata["input_tokens"] if message.usage_metadata else 0
    if not isinstance(estimated, int) or estimated <= 0 or counted <= 0:
        return None
    return counted / estimated


def _content(content: str | list[Any]) -> int:
    return of_text(content) if isinstance(content, str) else sum(_part(part) for part in content)


def _part(part: object) -> int:
    if isinstance(part, str):
        return of_text(part)
    text = cast("dict[str, object]", part).get("text") if isinstance(part, dict) else None
    return of_text(text) if isinstance(text, str) else MEDIA
