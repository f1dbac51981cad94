"""Tool calls in a history: how one that was never answered ended, and in which words that is said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import orjson
from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from agent.history.text import sound

UNREADABLE = "unreadable_arguments"
"""The only argument of a call whose arguments were not JSON; its value is how they began."""

BROKEN = "broken_calls"
"""In `additional_kwargs` of a streamed answer: arguments that are not JSON, by call (`models.assembly`)."""

_PREVIEW = 200  # characters of unreadable arguments that are kept
_LONGEST_NAME = 64
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")  # what providers refuse in the name of a function
_CUT = frozenset({"length", "content_filter"})  # finish reasons of an answer that is not whole

Ending = Literal["known", "failed", "stopped", "unknown", "unreadable"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an unanswered call ended; `text` is what the model reads as its result.

    `known` is the tool's real result, `failed` the recorded reason why there is none, `stopped` a read that
    changed nothing, `unknown` anything that may have taken effect, `unreadable` a call that nobody could
    execute.
    """

    ending: Ending
    text: str


def known(text: str) -> Outcome:
    """The tool did finish, and this is what it returned."""
    return Outcome("known", sound(text))


def failed(text: str) -> Outcome:
    """It is recorded why the call has no result, in these words."""
    return Outcome("failed", sound(text))


def unbegun(call: ToolCall) -> Outcome:
    """The execution of the call never began."""
    return _failed(
        "stopped",
        "tool_not_started",
        f"{call['name']} was stopped before it began: it was not executed and changed nothing.",
    )


def stopped(call: ToolCall) -> Outcome:
    """A reading tool was stopped."""
    return _failed(
        "stopped",
        "tool_stopped",
        f"{call['name']} was stopped before it finished. It only reads, so nothing was changed; call it "
        "again if its result is still needed.",
    )


def unknown(call: ToolCall) -> Outcome:
    """A tool that may change something was interrupted, before, during or after its effect."""
    if UNREADABLE in call["args"]:
        return _failed(
            "unreadable",
            "arguments_unreadable",
            f"{call['name']}: the arguments were not valid JSON, so nothing was executed. Call it again with "
            "a JSON object that fits the schema.",
        )
    return _failed(
        "unknown",
        "outcome_unknown",
        f"{call['name']} was interrupted and its outcome is unknown: it may have taken effect. Check before "
        "repeating it.",
    )


def result(call: ToolCall, outcome: Outcome, *, identity: str) -> ToolMessage:
    """The tool message that answers `call`, under the message id `identity`."""
    return ToolMessage(
        content=outcome.text,
        name=call["name"],
        tool_call_id=call["id"] or "",
        status="success" if outcome.ending == "known" else "error",
        id=identity,
    )


def readable(message: AIMessage) -> AIMessage:
    """The message with calls that can be stored, sent back and answered; unchanged it is the same object.

    A call whose arguments are not whole (broken JSON, an answer that was cut off or filtered) or can't be
    stored (an integer beyond 64 bits, half a surrogate pair) gets `UNREADABLE` as its only argument, so it is
    answered and never executed. Without this an agent's loop sees no call, ends, and the person gets an empty
    answer. A name that providers refuse is spelt as they accept it.
    """
    broken: Mapping[str, str] = message.additional_kwargs.get(BROKEN) or {}
    cut = message.response_metadata.get("finish_reason") in _CUT
    made = [_whole(call, broken.get(call["id"] or ""), cut=cut) for call in message.tool_calls]
    made += [
        _unreadable(call.get("name") or "", call.get("args") or "", call.get("id"))
        for call in message.invalid_tool_calls
    ]
    if made == message.tool_calls:
        return message
    kept = {
        key: value for key, value in message.additional_kwargs.items() if key not in {BROKEN, "tool_calls"}
    }
    return message.model_copy(
        update={"tool_calls": made, "invalid_tool_calls": [], "additional_kwargs": kept}
    )


def _whole(call: ToolCall, raw: str | None, *, cut: bool) -> ToolCall:
    if raw is not None:
        return _unreadable(call["name"], raw, call["id"])
    if UNREADABLE not in call["args"] and (cut or not _storable(call["args"])):
        return _unreadable(call["name"], ascii(call["args"]), call["id"])
    name = _spelt(call["name"])
    return (
        call
        if name == call["name"]
        else ToolCall(name=name, args=call["args"], id=call["id"], type="tool_call")
    )


def _unreadable(name: str, raw: str, identity: str | None) -> ToolCall:
    return ToolCall(name=_spelt(name), args={UNREADABLE: raw[:_PREVIEW]}, id=identity, type="tool_call")


def _storable(arguments: Mapping[str, object]) -> bool:
    """Whether the server's serialiser can store the arguments; a thread that holds others can't be read."""
    try:
        orjson.dumps(arguments)
    except (TypeError, ValueError):
        return False
    return True


def _spelt(name: str) -> str:
    return _NO_NAME.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def _failed(ending: Ending, code: str, text: str) -> Outcome:
    return Outcome(ending, json.dumps({"error": code, "message": text}, ensure_ascii=False))
