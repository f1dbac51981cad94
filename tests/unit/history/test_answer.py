from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent.history.answer import SILENCE, settled
from agent.history.problems import problems
from agent.history.repair import repair
from tests.unit.history.histories import any_history, asking, result, valid_history

HISTORY: list[BaseMessage] = [HumanMessage("hi", id="h"), asking("call_0", message="a"), result("call_0")]


def one(answer: BaseMessage, history: list[BaseMessage] = HISTORY) -> AIMessage:
    (message,) = settled([answer], history)
    assert isinstance(message, AIMessage)
    return message


def test_a_good_answer_is_the_same_object() -> None:
    for answer in (AIMessage("hello", id="b"), asking("call_1", message="c")):
        assert one(answer) is answer


def test_an_endpoint_that_counts_calls_anew_cannot_name_one_twice() -> None:
    """Its idempotency key would be that of another call, and its effect would be taken for done."""
    turn = one(asking("call_0", "call_0", "", message="b"))
    ids = [call["id"] for call in turn.tool_calls]
    assert len({*ids, "call_0"}) == 4
    assert all(ids)


def test_an_answer_never_replaces_an_earlier_message() -> None:
    turn = one(AIMessage("hello", id="a"))
    assert turn.id not in (None, "a", "h")
    assert turn.content == "hello"


def test_an_answer_without_an_id_gets_one() -> None:
    assert one(AIMessage("hello")).id


def test_unreadable_calls_become_answerable() -> None:
    broken: Any = {"name": "t", "args": "{", "id": None, "error": "e", "type": "invalid_tool_call"}
    turn = one(AIMessage("", id="b", invalid_tool_calls=[broken]))
    assert turn.invalid_tool_calls == []
    assert turn.tool_calls[0]["id"]


def test_silence_becomes_visible_words() -> None:
    """Case 6: never an empty success."""
    assert one(AIMessage(" \n", id="b")).content == SILENCE
    assert one(AIMessage("", id="b", additional_kwargs={"refusal": "I can't."})).content == "I can't."
    assert one(AIMessage("", id="b", additional_kwargs={"refusal": None})).content == SILENCE


def test_text_is_made_sound() -> None:
    assert one(AIMessage("a\x00", id="b")).content == "a\ufffd"


def test_other_messages_of_an_answer_stay() -> None:
    answer = result("call_1", message="r")
    assert settled([answer], HISTORY) == [answer]


@settings(deadline=None)
@given(valid_history(), any_history.flatmap(lambda messages: st.just(repair(messages))))
def test_a_settled_turn_needs_only_its_results(history: list[BaseMessage], other: list[BaseMessage]) -> None:
    for answer in [message for message in other if isinstance(message, AIMessage)]:
        turn = one(answer, history)
        found = problems([*history, turn])
        assert [fault for fault in found if not fault.startswith("the end: ")] == []
        assert len(found) == len(turn.tool_calls)
