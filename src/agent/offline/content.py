"""The text of a message on the wire, whose content is a string, a list of parts, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent.offline.shape import records


def text_of(message: Mapping[str, Any]) -> str:
    """The message's text; text parts are joined by line breaks, other parts are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in records(content)]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def first_human(messages: Iterable[Mapping[str, Any]]) -> str:
    """The text of the first message of a person, or an empty string."""
    return next((text_of(message) for message in messages if message.get("role") == "user"), "")
