"""Messages on the wire, as a client sends them, for the tests of the offline model."""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]


def user(text: str) -> Message:
    """A person's message."""
    return {"role": "user", "content": text}


def system(text: str) -> Message:
    """An instruction."""
    return {"role": "system", "content": text}


def assistant(text: str) -> Message:
    """An answer without tool calls."""
    return {"role": "assistant", "content": text}


def calls(**called: tuple[str, dict[str, Any]]) -> Message:
    """Tool calls by id: `calls(a=("orders_get", {"number": 1}))`."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id_, (name, arguments) in called.items()
        ],
    }


def result(id_: str, content: object) -> Message:
    """A tool's answer; what is no text goes as JSON."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": id_, "content": text}
