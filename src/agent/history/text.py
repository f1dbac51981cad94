"""Text that every endpoint and database takes: no null bytes, no lone surrogates, no unwritable numbers.

A pair of surrogates that arrived in two pieces is joined; what cannot be joined becomes U+FFFD, so that a
reader sees that something was lost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

_REPLACEMENT = "\ufffd"
_LEAST, _MOST = -(2**63), 2**64 - 1  # a checkpoint's msgpack holds no larger integers, and the run would end
_BROKEN = re.compile("[\x00\ud800-\udfff]")
_NOT_IN_FUNCTION = re.compile(r"[^a-zA-Z0-9_-]")
_NOT_IN_SPEAKER = re.compile(r"[\s<|\\/>]")  # what OpenAI refuses in the name of a speaker
_NAME_LENGTH = 64
_SPEAKER = re.compile(r"[a-zA-Z0-9-]{1,64}")  # names that are certainly fine
_UNNAMED = "unnamed"

# What langchain-openai would put on the wire from here, past the message's own calls and name.
_SHADOWS = frozenset({"function_call", "tool_calls", "name"})


def sound(value: Any) -> Any:  # noqa: ANN401 - any JSON value in, the same kind out
    """The JSON value with sound text throughout; the very same object when nothing had to change."""
    match value:
        case str():
            return value if _whole(value) else _text(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case int():
            return value if _LEAST <= value <= _MOST else str(value)
        case Mapping():
            return _mapping(cast("Mapping[Any, Any]", value))
        case list() | tuple():
            return _sequence(cast("Sequence[Any]", value))
        case _:
            return value


def function_name(name: object) -> str:
    """The name of a call as `^[a-zA-Z0-9_-]{1,64}$` demands it; other characters become `_`."""
    fit = _NOT_IN_FUNCTION.sub("_", name if isinstance(name, str) else "")[:_NAME_LENGTH]
    return fit or _UNNAMED


def sound_message(message: BaseMessage) -> BaseMessage:
    """The message with sound text in everything that is sent; itself when nothing had to change."""
    if _plain(message):
        return message
    changes: dict[str, Any] = {}

    def change(field: str, new: Any) -> None:  # noqa: ANN401 - by the field
        if new is not getattr(message, field):
            changes[field] = new

    change("content", sound(message.content))
    change("name", _speaker(message.name))
    change("additional_kwargs", sound(_without_shadows(message.additional_kwargs)))
    if isinstance(message, AIMessage):
        change("tool_calls", _each(message.tool_calls, _call))
        change("invalid_tool_calls", _each(message.invalid_tool_calls, sound))
    if isinstance(message, ToolMessage):
        change("tool_call_id", sound(message.tool_call_id))
    return message.model_copy(update=changes) if changes else message


def _plain(message: BaseMessage) -> bool:
    """Whether the message is sound text and nothing else, as most of a long thread is."""
    extra = message.additional_kwargs
    return (
        isinstance(message.content, str)
        and _whole(message.content)
        and (message.name is None or _SPEAKER.fullmatch(message.name) is not None)
        and (not extra or (_SHADOWS.isdisjoint(extra) and not any(extra.values())))
        and not isinstance(message, ToolMessage)
        and not (isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls))
    )


def _whole(text: str) -> bool:
    return "\x00" not in text if text.isascii() else _BROKEN.search(text) is None


def _text(text: str) -> str:
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _BROKEN.sub(_REPLACEMENT, joined)


def _mapping(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    pairs = [(sound(key), sound(item)) for key, item in value.items()]
    same = all(k is key and i is item for (k, i), (key, item) in zip(pairs, value.items(), strict=True))
    return value if same else dict(pairs)


def _sequence(value: Sequence[Any]) -> Sequence[Any]:
    items = [sound(item) for item in value]
    return value if all(new is old for new, old in zip(items, value, strict=True)) else items


def _each(values: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    new = [change(value) for value in values]
    return values if all(a is b for a, b in zip(new, values, strict=True)) else new


def _call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    whole = sound(call)
    name = function_name(whole["name"])
    return whole if name == whole["name"] else {**whole, "name": name}


def _speaker(name: str | None) -> str | None:
    if name is None:
        return None
    fit = _NOT_IN_SPEAKER.sub("_", sound(name))[:_NAME_LENGTH]
    return None if not fit.strip("_") else name if fit == name else fit


def _without_shadows(extra: dict[str, Any]) -> dict[str, Any]:
    if _SHADOWS.isdisjoint(extra):
        return extra
    return {key: value for key, value in extra.items() if key not in _SHADOWS}
