"""A model's answer as it may enter a thread: its own ids, sound text, and never silence.

Ids matter before anything is executed: a reducer replaces the message whose id comes again, and an
idempotency key is made of the call's id, so an endpoint that numbers its calls anew in each answer would
have its second effect taken for its first.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from agent.history.calls import readable
from agent.history.problems import blank
from agent.history.repair import renamed, unique, with_calls
from agent.history.text import sound_message

SILENCE = "The model gave an empty answer. Please ask again."
"""What a person reads instead of an answer without a word."""


def settled(answer: Sequence[BaseMessage], history: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages of an answer, fit to be appended to `history`; unchanged ones are the same objects."""
    ids = {message.id for message in history if message.id}
    calls = {
        call["id"]
        for message in history
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"]
    }
    return [_settled(message, ids, calls) for message in answer]


def _settled(message: BaseMessage, ids: set[str], calls: set[str]) -> BaseMessage:
    whole = sound_message(message)
    identity = unique(whole.id, taken=ids, fresh=lambda _: str(uuid.uuid4()))
    ids.add(identity)
    if identity != whole.id:
        whole = whole.model_copy(update={"id": identity})
    if not isinstance(whole, AIMessage):
        return whole
    turn = readable(whole)
    return _spoken(with_calls(turn, [_named(call, calls) for call in turn.tool_calls]))


def _named(call: ToolCall, taken: set[str]) -> ToolCall:
    identity = unique(call["id"], taken=taken, fresh=lambda _: f"call_{uuid.uuid4().hex}")
    taken.add(identity)
    return renamed(call, identity)


def _spoken(turn: AIMessage) -> AIMessage:
    if not blank(turn):
        return turn
    refusal = turn.additional_kwargs.get("refusal")
    text = refusal if isinstance(refusal, str) and refusal.strip() else SILENCE
    return turn.model_copy(update={"content": text})
