"""A long text by its head and tail, and tool results in a view cut to size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from langchain_core.messages import BaseMessage, ToolMessage

from agent.tokens import beside, of_message, of_text

Message = TypeVar("Message", bound=BaseMessage)

_LEAST = 40  # tokens of a text that are kept whatever the room


def excerpt(text: str, *, tokens: int) -> str:
    """The text when it has at most that many tokens, else its head and tail and how much is missing."""
    whole = of_text(text)
    room = max(tokens, _LEAST)
    if whole <= room:
        return text
    half = _characters(text, whole=whole, room=room) // 2
    kept = _joined(text, half)
    while half > 1 and of_text(kept) > room:
        half = half * 9 // 10
        kept = _joined(text, half)
    return kept


def cut(message: Message, *, tokens: int) -> Message:
    """The message with its text cut to a number of tokens; itself when it fits. Parts that are no text go.

    A result's text may be longer in its frame than it is (`agent.framing.neutral`), and is cut to fit there.
    """
    limit = max(tokens, _LEAST) + beside(message)
    if of_message(message) <= limit:
        return message
    text, kept = str(message.text), message
    while of_message(kept) > limit:
        kept = message.model_copy(update={"content": excerpt(text, tokens=tokens)})
        if tokens <= _LEAST:
            break
        tokens = tokens * 9 // 10
    return kept


def cut_results(messages: Sequence[BaseMessage], *, tokens: int) -> list[BaseMessage]:
    """The messages with each tool result cut to a number of tokens."""
    return [
        cut(message, tokens=tokens) if isinstance(message, ToolMessage) else message for message in messages
    ]


def _characters(text: str, *, whole: int, room: int) -> int:
    return len(text) * room // whole


def _joined(text: str, half: int) -> str:
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
