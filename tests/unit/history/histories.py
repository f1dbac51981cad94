"""Histories of every kind for property tests: broken ones, and valid ones to compare with."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

CALL_IDS = ["a", "b", "c", "", " "]
texts = st.sampled_from(["", "  \n", "hi", "你好", "a\x00b", "x\ud83dy", "\ud83d\ude00", "ok"])


def _part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


contents: st.SearchStrategy[Any] = st.one_of(texts, st.lists(st.builds(_part, texts), max_size=2))
values = st.one_of(texts, st.floats(), st.integers(), st.none())
arguments = st.dictionaries(texts, values, max_size=2)
# A saver cannot write mappings whose keys hold lone surrogates, nor integers of more than 64 bits.
storable_values = st.one_of(texts, st.floats(), st.integers(-(2**63), 2**64 - 1), st.none())
storable_arguments = st.dictionaries(st.sampled_from(["id", "", "a\x00b"]), storable_values, max_size=2)
message_ids = st.sampled_from([None, "", *(f"m{number}" for number in range(9))])


def _call(name: str, args: dict[str, Any], identity: str | None) -> Any:
    return {"name": name, "args": args, "id": identity, "type": "tool_call"}


def _broken(name: str | None, args: str | None, identity: str | None) -> Any:
    return {"name": name, "args": args, "id": identity, "error": "no JSON", "type": "invalid_tool_call"}


def _calls(args: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["orders_get", "orders.get", "", "n" * 70, "a\x00b"])
    return st.builds(_call, names, args, st.sampled_from([*CALL_IDS, None]))


broken_calls = st.builds(
    _broken, st.sampled_from(["orders_get", None]), texts, st.sampled_from([*CALL_IDS, None])
)


def _turn(content: Any, made: list[Any], broken: list[Any], identity: str | None) -> AIMessage:
    return AIMessage(content, tool_calls=made, invalid_tool_calls=broken, id=identity, name="re act")


def _messages(args: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[list[BaseMessage]]:
    made, broken = st.lists(_calls(args), max_size=3), st.lists(broken_calls, max_size=1)
    results = st.sampled_from(CALL_IDS)
    kinds: list[st.SearchStrategy[BaseMessage]] = [
        st.builds(HumanMessage, contents, id=message_ids, name=st.sampled_from([None, "Ann Lee", "<>"])),
        st.builds(_turn, contents, made, broken, message_ids),
        st.builds(ToolMessage, contents, id=message_ids, tool_call_id=results),
        st.builds(SystemMessage, texts, id=message_ids),
        st.builds(FunctionMessage, texts, name=st.just("f"), id=message_ids),
        st.builds(ChatMessage, texts, role=st.just("critic"), id=message_ids),
    ]
    return st.lists(st.one_of(kinds), max_size=10)


any_history = _messages(arguments)
storable_history = _messages(storable_arguments)


def asking(*identities: str, message: str, name: str = "orders_get") -> AIMessage:
    """An assistant turn that makes these calls."""
    return AIMessage("", tool_calls=[_call(name, {"id": 1}, identity) for identity in identities], id=message)


def result(call: str, text: str = "done", *, message: str | None = None) -> ToolMessage:
    """The result of a call."""
    return ToolMessage(text, tool_call_id=call, name="orders_get", id=message or f"result-{call}")


@st.composite
def valid_history(draw: st.DrawFn, *, turns: int = 6) -> list[BaseMessage]:
    """A history that nothing has to be done to: turns with up to three rounds of up to three calls."""
    messages: list[BaseMessage] = []
    for turn in range(draw(st.integers(1, turns))):
        messages.append(HumanMessage(f"question {turn}", id=f"h{turn}"))
        for step in range(draw(st.integers(0, 3))):
            ids = [f"c{turn}.{step}.{place}" for place in range(draw(st.integers(1, 3)))]
            messages.append(asking(*ids, message=f"a{turn}.{step}"))
            messages += [result(identity, "r" * draw(st.integers(0, 600))) for identity in ids]
        if draw(st.booleans()):
            messages.append(AIMessage(f"answer {turn}", id=f"a{turn}"))
    return messages
