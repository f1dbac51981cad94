"""Messages as a transcript for the summariser, in portions that fit its own request.

No message is left out, whatever the size of the history: an oversized one is cut to its head and tail, and a
long history makes several portions, each summarised together with the summary before it. Each entry begins
with its speaker at the line's beginning; further lines are indented, so that no text speaks for another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agent.compaction.excerpt import excerpt
from agent.compaction.view import escaped
from agent.tokens import of_text

_RESULT = 500  # tokens of a tool result
_INDENT = "  "
_SAID_SHARE = 2  # one message may take this part of a portion


def portions(messages: Sequence[BaseMessage], *, room: int) -> list[str]:
    """Transcripts that hold every message between them, each of about `room` tokens at most."""
    found: list[str] = []
    lines: list[str] = []
    used = 0
    for line in _lines(messages, limit=room // _SAID_SHARE):
        size = of_text(line) + 1
        if lines and used + size > room:
            found.append("\n".join(lines))
            lines, used = [], 0
        lines.append(line)
        used += size
    return [*found, "\n".join(lines)] if lines else found


def _lines(messages: Sequence[BaseMessage], *, limit: int) -> Iterator[str]:
    for message in messages:
        bound = min(limit, _RESULT) if isinstance(message, ToolMessage) else limit
        text = str(message.text).strip()
        if text:
            yield _entry(_speaker(message), text, tokens=bound)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                arguments = json.dumps(call["args"], ensure_ascii=False, default=str)
                yield _entry(f"call of {call['name']}", arguments, tokens=bound)


def _speaker(message: BaseMessage) -> str:
    return f"result of {message.name or 'tool'}" if isinstance(message, ToolMessage) else message.type


def _entry(speaker: str, text: str, *, tokens: int) -> str:
    said = excerpt(_indented(escaped(text)), tokens=tokens)
    return f"{escaped(' '.join(speaker.split()))}: {_indented(said)}"


def _indented(text: str) -> str:
    """The text with every line but the first indented, whatever ends a line."""
    first, *others = text.splitlines()
    return "\n".join([first, *(line if line.startswith(_INDENT) else _INDENT + line for line in others)])
