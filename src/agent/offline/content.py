"""The text of a message on the wire, whose content is a string, a list of parts, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast


def text_of(message: Mapping[str, Any]) -> str:
    """The message's text; text parts are joined by line breaks, other parts are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_part(part) for part in cast("list[object]", content) if _part(part))


def first_human(messages: Iterable[Mapping[str, Any]]) -> str:
    """The text of the first message of a person, or an empty string."""
    return next((text_of(message) for message in messages if message.get("role") == "user"), "")


def _part(part: object) -> str:
    if not isinstance(part, dict):
        return ""
    text = cast("dict[str, object]", part).get("text")
    return text if isinstance(text, str) else ""
