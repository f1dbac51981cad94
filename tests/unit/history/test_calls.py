from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolCall

from agent.history.calls import BROKEN, UNREADABLE, known, readable, result, stopped, unknown

CALL = ToolCall(name="orders_refund", args={"amount": 5}, id="a", type="tool_call")


def test_an_unknown_outcome_is_said_to_be_unknown() -> None:
    outcome = unknown(CALL)
    assert outcome.ending == "unknown"
    assert json.loads(outcome.text) == {
        "error": "outcome_unknown",
        "message": "orders_refund was interrupted and its outcome is unknown: it may have taken effect. "
        "Check before repeating it.",
    }


def test_a_stopped_read_says_that_nothing_was_changed() -> None:
    said = json.loads(stopped(CALL).text)
    assert said["error"] == "tool_stopped"
    assert said["message"].startswith("orders_refund was stopped before it finished. It only reads")


def test_a_call_with_unreadable_arguments_was_not_executed() -> None:
    outcome = unknown(ToolCall(name="orders_get", args={UNREADABLE: "{"}, id="a", type="tool_call"))
    assert outcome.ending == "unreadable"
    assert json.loads(outcome.text)["error"] == "arguments_unreadable"


def test_a_result_answers_its_call() -> None:
    failed, done = (result(CALL, outcome, identity="m") for outcome in (unknown(CALL), known("re\x00funded")))
    assert (failed.tool_call_id, failed.name, failed.id, failed.status) == (
        "a",
        "orders_refund",
        "m",
        "error",
    )
    assert (done.content, done.status) == ("re\ufffdfunded", "success")


def test_unreadable_calls_become_calls_after_the_readable_ones() -> None:
    broken: Any = {"name": None, "args": "{" * 500, "id": "b", "error": "e", "type": "invalid_tool_call"}
    turn = AIMessage("", tool_calls=[CALL], invalid_tool_calls=[broken])
    made = readable(turn)
    assert made.invalid_tool_calls == []
    assert made.tool_calls == [
        CALL,
        {"name": "unnamed", "args": {UNREADABLE: "{" * 200}, "id": "b", "type": "tool_call"},
    ]
    assert turn.invalid_tool_calls == [broken]
    assert readable(made) is made


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_call_of_an_answer_that_is_not_whole_is_unreadable(reason: str) -> None:
    """A cut-off 950 arrives as 9: joined from a stream, it looks like a call with everything it needs."""
    cut = AIMessage("", tool_calls=[CALL], response_metadata={"finish_reason": reason})
    (call,) = readable(cut).tool_calls
    assert set(call["args"]) == {UNREADABLE}
    assert (call["id"], call["name"]) == (CALL["id"], CALL["name"])
    whole = AIMessage("", tool_calls=[CALL], response_metadata={"finish_reason": "tool_calls"})
    assert readable(whole) is whole


def test_a_streamed_call_whose_arguments_were_completed_by_the_client_is_unreadable() -> None:
    other = {**CALL, "id": "other"}
    marked = AIMessage("", tool_calls=[CALL, other], additional_kwargs={BROKEN: {CALL["id"]: '{"amount": 9'}})
    first, second = readable(marked).tool_calls
    assert first["args"] == {UNREADABLE: '{"amount": 9'}
    assert second == other
    assert BROKEN not in readable(marked).additional_kwargs


@pytest.mark.parametrize(
    ("name", "spelt"),
    [("orders.refund", "orders_refund"), ("", "unnamed"), ("查询", "__"), ("x" * 300, "x" * 64)],
)
def test_a_name_that_providers_refuse_is_spelt_as_they_accept_it(name: str, spelt: str) -> None:
    (call,) = readable(AIMessage("", tool_calls=[{**CALL, "name": name}])).tool_calls
    assert (call["name"], call["args"]) == (spelt, CALL["args"])


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_calls_of_an_answer_that_was_cut_off_are_not_whole(reason: str) -> None:
    turn = AIMessage("", tool_calls=[CALL], response_metadata={"finish_reason": reason})
    assert list(readable(turn).tool_calls[0]["args"]) == [UNREADABLE]
    assert readable(readable(turn)) == readable(turn)


@pytest.mark.parametrize("value", [2**64, "half \ud83d"])
def test_a_call_that_no_checkpoint_can_hold_is_answered_and_not_executed(value: object) -> None:
    call = ToolCall(name="orders_get", args={"id": value}, id="a", type="tool_call")
    (made,) = readable(AIMessage("", tool_calls=[call])).tool_calls
    assert list(made["args"]) == [UNREADABLE]


def test_arguments_that_a_stream_left_broken_are_kept_as_they_began() -> None:
    turn = AIMessage("", tool_calls=[CALL], additional_kwargs={BROKEN: {"a": '{"amount": '}, "kept": 1})
    made = readable(turn)
    assert made.tool_calls[0]["args"] == {UNREADABLE: '{"amount": '}
    assert made.additional_kwargs == {"kept": 1}
    assert BROKEN in turn.additional_kwargs


def test_names_of_calls_are_spelt_as_providers_accept_them() -> None:
    call = ToolCall(name="orders.get now", args={}, id="a", type="tool_call")
    assert readable(AIMessage("", tool_calls=[call])).tool_calls[0]["name"] == "orders_get_now"
