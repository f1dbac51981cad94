"""What a strict endpoint or a database would refuse in a thread's messages, in words for the log.

The same rules as `agent.offline.history` has for the wire, on LangChain's messages, and those that only a
stored thread can break: ids of messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agent.history.text import sound_message

SPEAKERS = (SystemMessage, HumanMessage, AIMessage, ToolMessage)
"""The kinds of messages that have a role on the wire."""


@dataclass(slots=True)
class _Ledger:
    ids: set[str] = field(default_factory=set[str])
    calls: set[str] = field(default_factory=set[str])
    waiting: list[str] = field(default_factory=list[str])


def problems(messages: Sequence[BaseMessage]) -> list[str]:
    """Every fault in the history, in its order; an empty list is a valid history."""
    ledger = _Ledger()
    found: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        found += [f"{where}: {fault}" for fault in _faults(message, ledger)]
    return found + [f"the end: call {call!r} has no result" for call in ledger.waiting]


def blank(message: BaseMessage) -> bool:
    """Whether an assistant's turn says nothing and calls nothing."""
    return (
        isinstance(message, AIMessage)
        and not message.tool_calls
        and not message.invalid_tool_calls
        and not (message.content if isinstance(message.content, str) else str(message.text)).strip()
    )


def _faults(message: BaseMessage, ledger: _Ledger) -> Iterator[str]:
    yield from _identity(message, ledger)
    if not isinstance(message, SPEAKERS):
        yield f"a {message.type!r} message has no role"
    if sound_message(message) is not message:
        yield "text, a name or extra fields that endpoints refuse"
    if isinstance(message, ToolMessage):
        yield from _result(message, ledger)
        return
    yield from (f"call {call!r} has no result before this message" for call in ledger.waiting)
    ledger.waiting = []
    if isinstance(message, AIMessage):
        yield from _turn(message, ledger)


def _identity(message: BaseMessage, ledger: _Ledger) -> Iterator[str]:
    if not message.id:
        yield "the message has no id"
    elif message.id in ledger.ids:
        yield f"the id {message.id!r} is used twice"
    ledger.ids.add(message.id or "")


def _result(message: ToolMessage, ledger: _Ledger) -> Iterator[str]:
    if message.tool_call_id not in ledger.waiting:
        yield f"a result for {message.tool_call_id!r}, which is not open here"
        return
    if message.tool_call_id != ledger.waiting[0]:
        yield f"the result for {message.tool_call_id!r} is not in the order of the calls"
    ledger.waiting.remove(message.tool_call_id)


def _turn(message: AIMessage, ledger: _Ledger) -> Iterator[str]:
    if blank(message):
        yield "a blank assistant turn"
    yield from (f"call {call.get('id')!r} has unreadable arguments" for call in message.invalid_tool_calls)
    for call in message.tool_calls:
        identity = call["id"] or ""
        if not identity.strip():
            yield "a call without an id"
        elif identity in ledger.calls:
            yield f"the call id {identity!r} is used twice"
        ledger.calls.add(identity)
        ledger.waiting.append(identity)
