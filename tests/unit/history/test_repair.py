from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from hypothesis import given, settings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_openai.chat_models.base import (
    _convert_message_to_dict,  # pyright: ignore - private and untyped, and what really goes on the wire
)

from agent.history.calls import UNREADABLE, known
from agent.history.problems import problems
from agent.history.repair import draft, repair
from agent.offline.history import problems as wire_problems
from tests.unit.history.histories import any_history, asking, result, valid_history

ANN, BOB = HumanMessage("first", id="h1"), HumanMessage("second", id="bob")
TO_WIRE = cast("Callable[[BaseMessage], dict[str, Any]]", _convert_message_to_dict)


def same(left: Sequence[BaseMessage], right: Sequence[BaseMessage]) -> bool:
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))


def said(message: BaseMessage) -> dict[str, Any]:
    assert isinstance(message, ToolMessage)
    return json.loads(str(message.content))


@settings(max_examples=400, deadline=None)
@given(any_history)
def test_whatever_a_thread_holds_a_strict_endpoint_takes_the_repair(messages: list[BaseMessage]) -> None:
    repaired = repair(messages)
    assert problems(repaired) == []
    if repaired:
        assert wire_problems([TO_WIRE(message) for message in repaired]) == []


@settings(max_examples=400, deadline=None)
@given(any_history)
def test_a_repair_is_final_and_repeatable_and_changes_nothing_it_was_given(
    messages: list[BaseMessage],
) -> None:
    before = [message.model_copy(deep=True) for message in messages]
    once = repair(messages)
    assert same(repair(once), once)
    assert repair(messages) == once
    assert messages == before


@settings(deadline=None)
@given(valid_history())
def test_a_valid_history_comes_back_object_by_object(messages: list[BaseMessage]) -> None:
    assert len(messages) >= 1
    assert same(repair(messages), messages)


@settings(deadline=None)
@given(valid_history())
def test_what_was_said_survives_any_cut(messages: list[BaseMessage]) -> None:
    for end in range(len(messages)):
        cut = repair([*messages[:end], BOB])
        kept = [message for message in cut if message in messages[:end]]
        assert same(kept, messages[:end])
        assert cut[-1] is BOB
        assert problems(cut) == []


def test_a_call_without_a_result_is_answered_directly_after_its_turn() -> None:
    turn = asking("a", message="1")
    ann, ai, answer, bob = repair([ANN, turn, BOB])
    assert (ann, ai, bob) == (ANN, turn, BOB)
    assert isinstance(answer, ToolMessage)
    assert (answer.tool_call_id, answer.name, answer.status) == ("a", "orders_get", "error")
    assert said(answer)["error"] == "outcome_unknown"


def test_a_known_outcome_is_the_result() -> None:
    repaired = repair([ANN, asking("a", "b", message="1"), BOB], {"b": known("sent")})
    assert said(repaired[2])["error"] == "outcome_unknown"
    assert isinstance(repaired[3], ToolMessage)
    assert (repaired[3].content, repaired[3].status) == ("sent", "success")


def test_unanswered_calls_are_named_by_the_ids_they_will_have() -> None:
    drafted = draft([asking("a", "", message="1"), result("a")])
    (call,) = drafted.unanswered
    assert call["id"] not in ("", "a")
    finished = drafted.finished({str(call["id"]): known("found")})
    assert [m.content for m in finished if isinstance(m, ToolMessage)] == ["done", "found"]


def test_a_finished_sibling_keeps_its_result() -> None:
    repaired = repair([asking("a", "b", message="1"), result("b", "echo"), BOB])
    assert [m.tool_call_id for m in repaired if isinstance(m, ToolMessage)] == ["a", "b"]
    assert repaired[2].content == "echo"


def test_results_stand_in_the_order_of_the_calls() -> None:
    repaired = repair([asking("a", "b", message="1"), result("b", "2"), result("a", "1")])
    assert [message.content for message in repaired[1:]] == ["1", "2"]


def test_a_result_that_came_late_moves_to_its_call() -> None:
    repaired = repair([asking("a", message="1"), BOB, result("a", "late")])
    assert [message.content for message in repaired] == ["", "late", "second"]


def test_results_that_answer_nothing_go() -> None:
    twice = [asking("a", message="1"), result("a", "first"), result("a", "again", message="r2"), result("z")]
    assert [message.content for message in repair(twice)] == ["", "first"]
    early = [result("a", "early"), asking("a", message="1"), result("a", "right", message="r2")]
    assert [message.content for message in repair(early)] == ["", "right"]


def test_an_id_that_an_endpoint_uses_again_is_renamed_with_its_result() -> None:
    repaired = repair(
        [
            asking("call_0", message="1"),
            result("call_0", "one"),
            asking("call_0", message="2"),
            result("call_0", "two", message="r2"),
        ]
    )
    (first,), (second,) = [m.tool_calls for m in repaired if isinstance(m, AIMessage)]
    answers = {m.tool_call_id: m.content for m in repaired if isinstance(m, ToolMessage)}
    assert first["id"] == "call_0"
    assert second["id"] != "call_0"
    assert answers == {"call_0": "one", second["id"]: "two"}


def test_an_id_that_was_left_open_does_not_take_a_later_turns_result() -> None:
    repaired = repair([asking("x", message="1"), BOB, asking("x", message="2"), result("x", "second's")])
    assert said(repaired[1])["error"] == "outcome_unknown"
    assert repaired[-1].content == "second's"


def test_equal_and_empty_ids_within_a_turn_get_their_results_in_order() -> None:
    repaired = repair(
        [asking("", "", message="1"), result("", "one", message="r1"), result("", "two", message="r2")]
    )
    assert isinstance(repaired[0], AIMessage)
    ids = [call["id"] for call in repaired[0].tool_calls]
    assert len(set(ids)) == 2
    assert all(ids)
    assert [(m.tool_call_id, m.content) for m in repaired if isinstance(m, ToolMessage)] == [
        (ids[0], "one"),
        (ids[1], "two"),
    ]


def test_unreadable_calls_are_answered() -> None:
    broken: Any = {"name": "orders_get", "args": "{", "id": "b", "error": "e", "type": "invalid_tool_call"}
    turn, answer, _ = repair([AIMessage("", id="1", invalid_tool_calls=[broken]), BOB])
    assert isinstance(turn, AIMessage)
    assert turn.invalid_tool_calls == []
    assert turn.tool_calls[0]["args"] == {UNREADABLE: "{"}
    assert said(answer)["error"] == "arguments_unreadable"


def test_a_blank_turn_goes_and_the_others_stay() -> None:
    assert repair([ANN, AIMessage(" ", id="1"), BOB]) == [ANN, BOB]


def test_ids_that_are_missing_or_used_twice_are_given_and_the_first_keeps_its_own() -> None:
    repaired = repair([ANN, HumanMessage("x", id="h1"), HumanMessage("y"), HumanMessage("z", id="")])
    ids = [message.id for message in repaired]
    assert ids[0] == "h1"
    assert len(set(ids)) == 4
    assert all(ids)


def test_nothing_is_repaired_in_nothing() -> None:
    assert repair([]) == []
