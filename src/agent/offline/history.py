"""The rules of a message history that the strictest endpoints demand, checked on OpenAI's wire form.

Every assistant tool call is answered by exactly one tool message before anything else is said, no tool
message stands alone, call ids are unique and not empty, and an assistant without tool calls says something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.offline.content import text_of
from agent.offline.shape import entries, record

FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What a tool's function may be called on the wire."""

ROLES = ("system", "developer", "user", "assistant", "tool")
"""The roles a message may have."""


@dataclass(slots=True)
class _Ledger:
    """The call ids met so far and those that wait for their result; `opener` indexes their message."""

    seen: set[str] = field(default_factory=set[str])
    waiting: dict[str, None] = field(default_factory=dict[str, None])
    opener: int = -1

    def unanswered(self, *, before: str) -> Iterator[str]:
        for call in self.waiting:
            yield (
                f"messages[{self.opener}]: tool call {call!r} has no tool message before {before}; "
                "answer every tool call exactly once, directly after the assistant message"
            )
        self.waiting = {}


def problems(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a strict endpoint would refuse in a history, in its order; an empty list is a valid history.

    Args:
        messages: Messages in OpenAI's wire form: `role`, `content`, `tool_calls`, `tool_call_id`.
    """
    if not messages:
        return ["messages is empty; send at least one message"]
    ledger = _Ledger()
    found: list[str] = []
    for index, message in enumerate(messages):
        found += _one(index, message, ledger)
    found += ledger.unanswered(before="the end of the history")
    return found


def _one(index: int, message: Mapping[str, Any], ledger: _Ledger) -> Iterator[str]:
    role = message.get("role")
    if role == "tool":
        yield from _result(index, message, ledger)
        return
    yield from ledger.unanswered(before=f"messages[{index}]")
    if role not in ROLES:
        yield f"messages[{index}]: role {role!r} is unknown; use one of {', '.join(ROLES)}"
    elif role == "assistant":
        yield from _assistant(index, message, ledger)
    elif not isinstance(message.get("content"), str | list):
        yield f"messages[{index}]: content of a {role} message must be text or a list of parts"


def _result(index: int, message: Mapping[str, Any], ledger: _Ledger) -> Iterator[str]:
    answered = message.get("tool_call_id")
    if not isinstance(answered, str) or not answered.strip():
        yield f"messages[{index}]: tool_call_id {answered!r} is empty; name the call that is answered"
    elif answered not in ledger.waiting:
        why = "was answered before" if answered in ledger.seen else "was never made"
        yield f"messages[{index}]: tool message answers {answered!r}, a call that {why} or is not open here"
    else:
        del ledger.waiting[answered]
    if not isinstance(message.get("content"), str | list):
        yield f"messages[{index}]: content of a tool message must be text or a list of parts"


def _assistant(index: int, message: Mapping[str, Any], ledger: _Ledger) -> Iterator[str]:
    calls = message.get("tool_calls")
    if calls is None:
        if not text_of(message).strip():
            yield f"messages[{index}]: assistant content is null or blank without tool calls; send text"
        return
    if not entries(calls):
        yield f"messages[{index}]: tool_calls must be a list with at least one call; leave the field out"
        return
    ledger.opener = index
    for number, call in enumerate(entries(message["tool_calls"])):
        yield from _call(f"messages[{index}].tool_calls[{number}]", call, ledger)


def _call(where: str, call: object, ledger: _Ledger) -> Iterator[str]:
    entry = record(call)
    function = record(entry.get("function"))
    name, arguments, identity = function.get("name"), function.get("arguments"), entry.get("id")
    if entry.get("type", "function") != "function":
        yield f"{where}: type {entry['type']!r} is unknown; expected 'function'"
    if not isinstance(name, str) or not FUNCTION_NAME.fullmatch(name):
        yield f"{where}: function name {name!r} does not match ^[a-zA-Z0-9_-]{{1,64}}$"
    if not isinstance(arguments, str):
        yield f"{where}: arguments must be text that holds JSON, not {type(arguments).__name__}"
    if not isinstance(identity, str) or not identity.strip():
        yield f"{where}: id {identity!r} is empty; give every call an id of its own"
        return
    if identity in ledger.seen:
        yield f"{where}: id {identity!r} is used twice; give every call an id of its own"
    ledger.seen.add(identity)
    ledger.waiting[identity] = None
