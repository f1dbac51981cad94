"""Token counts by approximation: no tokenizer is downloaded, and Chinese text counts as it costs.

A CJK character is one token, other text four characters a token (rounded up). A message costs four tokens
beside its text, the reply's beginning three: the overhead that OpenAI documents for chat models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

from agent.offline.content import text_of
from agent.offline.reply import Reply
from agent.offline.shape import record, records

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_PIECE = re.compile(rf"{_CJK.pattern}|\s*[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\uffef]+|\s+")
_CHARACTERS_PER_TOKEN = 4
_PER_MESSAGE = 4
_PRIMING = 3


def count(text: str) -> int:
    """Tokens of a text: one a CJK character, one for each four other characters."""
    cjk = len(_CJK.findall(text))
    return cjk + ceil((len(text) - cjk) / _CHARACTERS_PER_TOKEN)


def pieces(text: str) -> list[str]:
    """The text cut into words and CJK characters; joined, they are the text again."""
    return _PIECE.findall(text)


def truncate(text: str, *, limit: int) -> str:
    """The longest beginning, in whole pieces, of at most `limit` tokens."""
    kept = ""
    for piece in pieces(text):
        if count(kept + piece) > limit:
            return kept
        kept += piece
    return text


def prompt_tokens(messages: Iterable[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """Tokens of a request: messages with their tool calls, and the schemas of the offered tools."""
    schemas = count(json.dumps(tools, ensure_ascii=False)) if tools else 0
    return _PRIMING + schemas + sum(_message(message) for message in messages)


def completion_tokens(reply: Reply) -> int:
    """Tokens of a reply: its text, its reasoning, and the names and arguments of its tool calls."""
    spoken = count(reply.content or "") + count(reply.reasoning or "")
    return spoken + sum(count(call.name) + count(call.arguments) for call in reply.calls)


def usage(
    messages: Iterable[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]], reply: Reply
) -> dict[str, Any]:
    """OpenAI's usage object for a request and its reply."""
    prompt, completion = prompt_tokens(messages, tools=tools), completion_tokens(reply)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _message(message: Mapping[str, Any]) -> int:
    functions = [record(call.get("function")) for call in records(message.get("tool_calls"))]
    called = sum(count(str(each.get("name"))) + count(str(each.get("arguments"))) for each in functions)
    return (
        _PER_MESSAGE + count(text_of(message)) + count(str(message.get("reasoning_content") or "")) + called
    )
