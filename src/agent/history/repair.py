"""The repair: any list of messages becomes a history that the strictest endpoint takes.

Each call is answered by exactly one result, directly after its turn and in the order of the calls; results
that answer nothing, blank assistant turns and messages without a role go; ids are present and unique. The
repair is pure and its ids follow from what it is given, so the same thread is repaired the same way twice.
A valid history comes back as it is, object by object; a repaired one is valid.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from agent.history.calls import Outcome, readable, result, unknown
from agent.history.problems import SPEAKERS, blank
from agent.history.text import sound_message

_NAMESPACE = uuid.UUID("8e1b7a52-6f0c-4f0e-9d55-2f3a86c1b7d4")
_NOTHING: Mapping[str, Outcome] = {}


@dataclass(slots=True)
class _Slot:
    """A call, the id it was made under, and its result once one is found."""

    call: ToolCall
    asked: str
    opener: int
    result: ToolMessage | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A history whose calls are matched with their results, before the missing results are filled in."""

    _messages: list[BaseMessage]
    _slots: Mapping[int, list[_Slot]] = field(repr=False)

    @property
    def unanswered(self) -> list[ToolCall]:
        """The calls without a result, under the ids that they will have."""
        return [slot.call for slots in self._slots.values() for slot in slots if slot.result is None]

    def finished(self, outcomes: Mapping[str, Outcome] = _NOTHING) -> list[BaseMessage]:
        """The valid history.

        Args:
            outcomes: By call id, how unanswered calls ended; the others' outcome is said to be unknown.
        """
        return list(self._emit(outcomes))

    def _emit(self, outcomes: Mapping[str, Outcome]) -> Iterator[BaseMessage]:
        for index, message in enumerate(self._messages):
            if isinstance(message, AIMessage):
                slots = self._slots.get(index, [])
                yield with_calls(message, [slot.call for slot in slots])
                yield from (_answer(slot, outcomes) for slot in slots)
            elif not isinstance(message, ToolMessage):
                yield message


def draft(messages: Sequence[BaseMessage]) -> Draft:
    """Match calls and results of any history; the messages given are not changed."""
    prepared = [_readable(sound_message(message)) for message in messages if isinstance(message, SPEAKERS)]
    said = _identified([message for message in prepared if not blank(message)])
    slots = _slots(said)
    _match(said, slots)
    return Draft(said, slots)


def repair(messages: Sequence[BaseMessage], outcomes: Mapping[str, Outcome] = _NOTHING) -> list[BaseMessage]:
    """The valid history of any list of messages; see `Draft.finished`."""
    return draft(messages).finished(outcomes)


def with_calls(message: AIMessage, calls: list[ToolCall]) -> AIMessage:
    """The turn with these calls; the turn itself when they are its own."""
    if all(new is old for new, old in zip(calls, message.tool_calls, strict=True)):
        return message
    return message.model_copy(update={"tool_calls": calls})


def renamed(call: ToolCall, identity: str) -> ToolCall:
    """The call under that id; the call itself when it has it."""
    if identity == call["id"]:
        return call
    return ToolCall(name=call["name"], args=call["args"], id=identity, type="tool_call")


def unique(wanted: str | None, *, taken: Container[str], fresh: Callable[[int], str]) -> str:
    """`wanted` unless it is blank or taken, else the first of `fresh(0)`, `fresh(1)`, … that is free."""
    if wanted and wanted.strip() and wanted not in taken:
        return wanted
    return next(name for number in count() if (name := fresh(number)) not in taken)


def _readable(message: BaseMessage) -> BaseMessage:
    return readable(message) if isinstance(message, AIMessage) else message


def _derived(*parts: object) -> str:
    return str(uuid.uuid5(_NAMESPACE, repr(parts)))


def _identified(messages: list[BaseMessage]) -> list[BaseMessage]:
    taken: set[str] = set()
    named: list[BaseMessage] = []
    for index, message in enumerate(messages):

        def fresh(number: int, index: int = index) -> str:
            return _derived("message", index, number)

        identity = unique(message.id, taken=taken, fresh=fresh)
        taken.add(identity)
        same = identity == message.id
        named.append(message if same else message.model_copy(update={"id": identity}))
    return named


def _slots(messages: list[BaseMessage]) -> dict[int, list[_Slot]]:
    taken: set[str] = set()
    slots: dict[int, list[_Slot]] = {}
    turns = [(index, message) for index, message in enumerate(messages) if isinstance(message, AIMessage)]
    for index, turn in turns:
        for place, call in enumerate(turn.tool_calls):

            def fresh(number: int, turn: AIMessage = turn, place: int = place) -> str:
                return f"call_{_derived('call', turn.id, place, number).replace('-', '')}"

            identity = unique(call["id"], taken=taken, fresh=fresh)
            taken.add(identity)
            named = renamed(call, identity)
            slots.setdefault(index, []).append(_Slot(named, call["id"] or "", index))
    return slots


def _match(messages: list[BaseMessage], slots: Mapping[int, list[_Slot]]) -> None:
    waiting: dict[str, list[_Slot]] = {}
    for index, message in enumerate(messages):
        for slot in slots.get(index, []):
            waiting.setdefault(slot.asked, []).append(slot)
        if isinstance(message, ToolMessage) and (open_slots := waiting.get(message.tool_call_id)):
            # An endpoint may use an id again: the result belongs to the latest turn that asked under it.
            latest = open_slots[-1].opener
            slot = next(slot for slot in open_slots if slot.opener == latest)
            open_slots.remove(slot)
            slot.result = message


def _answer(slot: _Slot, outcomes: Mapping[str, Outcome]) -> ToolMessage:
    identity = slot.call["id"] or ""
    if slot.result is None:
        outcome = outcomes.get(identity) or unknown(slot.call)
        return result(slot.call, outcome, identity=_derived("result", identity))
    if slot.result.tool_call_id == identity:
        return slot.result
    return slot.result.model_copy(update={"tool_call_id": identity})
