from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agent.context import Limits
from agent.limits import (
    REPEATED,
    Stop,
    Tally,
    fingerprint,
    over_tool_calls,
    repeats_earlier,
    stop,
    tally,
    turn,
)

NOTHING = frozenset[str]()


def asks(*calls: tuple[str, str, dict[str, Any]]) -> AIMessage:
    made: list[Any] = [{"id": i, "name": name, "args": args, "type": "tool_call"} for i, name, args in calls]
    return AIMessage("", tool_calls=made)


def result(call_id: str, *, code: str | None = None) -> ToolMessage:
    content = json.dumps({"error": code} if code else {"ok": True})
    return ToolMessage(content, tool_call_id=call_id, status="error" if code else "success")


ROUND: list[AnyMessage] = [
    HumanMessage("old"),
    AIMessage("old answer"),
    HumanMessage("new"),
    asks(("1", "a", {"x": 1}), ("2", "b", {})),
    result("1"),
    result("2"),
]


def test_a_turn_begins_after_the_newest_message_of_a_person() -> None:
    assert turn(ROUND) == ROUND[3:]
    assert turn([AIMessage("no person at all")]) == [AIMessage("no person at all")]
    assert turn([]) == []


def test_only_the_turn_is_counted() -> None:
    assert tally(ROUND) == Tally(steps=2, model_calls=1, tool_calls=2, repeats=0)
    assert tally([*ROUND, AIMessage("done")]) == Tally(steps=3, model_calls=2, tool_calls=2, repeats=0)
    assert tally([*ROUND, HumanMessage("next")]) == Tally(0, 0, 0, 0)


def test_a_refused_repeat_is_counted_as_one_and_other_errors_are_not() -> None:
    messages = [*ROUND[:4], result("1", code=REPEATED), result("2", code="tool_failed")]
    assert tally(messages).repeats == 1
    quoted = [*ROUND[:4], ToolMessage(json.dumps({"error": REPEATED}), tool_call_id="1"), result("2")]
    assert tally(quoted).repeats == 0
    assert (
        tally([*ROUND[:4], ToolMessage("no json", tool_call_id="1", status="error"), result("2")]).repeats
        == 0
    )


@pytest.mark.parametrize(
    ("limits", "used", "expected"),
    [
        (Limits(), Tally(99, 99, 99, 99), None),
        (Limits(steps=3), Tally(0, 0, 0, 0), None),
        (Limits(steps=2), Tally(0, 0, 0, 0), Stop("steps", 0, 2)),
        (Limits(steps=5), Tally(2, 1, 1, 0), None),
        (Limits(steps=5), Tally(4, 2, 2, 0), Stop("steps", 4, 5)),
        (Limits(model_calls=2), Tally(0, 0, 0, 0), None),
        (Limits(model_calls=2), Tally(2, 1, 1, 0), Stop("model_calls", 1, 2)),
        (Limits(tool_calls=2), Tally(2, 1, 1, 0), None),
        (Limits(tool_calls=2), Tally(2, 1, 2, 0), Stop("tool_calls", 2, 2)),
        (Limits(tool_calls=0), Tally(0, 0, 0, 0), Stop("tool_calls", 0, 0)),
        (Limits(repeats=1), Tally(2, 1, 1, 0), None),
        (Limits(repeats=1), Tally(4, 2, 2, 1), Stop("repeats", 1, 1)),
    ],
)
def test_the_limit_that_ends_a_turn(limits: Limits, used: Tally, expected: Stop | None) -> None:
    assert stop(limits, used) == expected


def test_calls_beyond_the_budget_are_told_by_their_order() -> None:
    messages = [*ROUND, asks(("3", "c", {}), ("4", "d", {}))]
    limits = Limits(tool_calls=3)
    assert [over_tool_calls(limits, messages, call) for call in "1234"] == [False, False, False, True]
    assert not over_tool_calls(Limits(), messages, "4")
    assert not over_tool_calls(limits, messages, "unknown")


def test_a_repeat_is_the_same_tool_with_the_same_arguments_in_the_same_turn() -> None:
    messages = [
        *ROUND,
        asks(("3", "a", {"x": 1}), ("4", "a", {"x": 2}), ("5", "b", {"x": 1}), ("6", "a", {"x": 2})),
    ]
    found = {call: repeats_earlier(messages, call, volatile=NOTHING) for call in "123456"}
    assert found == {"1": False, "2": False, "3": True, "4": False, "5": False, "6": True}
    assert not repeats_earlier(
        [*messages, HumanMessage("next"), asks(("7", "a", {"x": 1}))], "7", volatile=NOTHING
    )


def test_a_failed_call_may_be_made_again_but_not_a_third_time_after_it_worked() -> None:
    again = asks(("2", "a", {}))
    messages: list[AnyMessage] = [
        HumanMessage("x"),
        asks(("1", "a", {})),
        result("1", code="tool_failed"),
        again,
    ]
    assert not repeats_earlier(messages, "2", volatile=NOTHING)
    worked = [*messages, result("2"), asks(("3", "a", {}))]
    assert repeats_earlier(worked, "3", volatile=NOTHING)


ARGUMENTS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3) | st.none(), max_size=4)


@given(ARGUMENTS)
def test_the_order_of_arguments_does_not_matter(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(list(arguments.items())))
    assert fingerprint("t", arguments) == fingerprint("t", turned)
    assert fingerprint("t", arguments) != fingerprint("u", arguments)


def test_volatile_arguments_are_left_out() -> None:
    assert fingerprint("t", {"a": 1, "at": "now"}, volatile=frozenset({"at"})) == fingerprint("t", {"a": 1})
    assert fingerprint("t", {"a": 1, "at": "now"}) != fingerprint("t", {"a": 1})
