"""The history check: what it refuses, and that it lets every valid history pass."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.offline.history import problems
from tests.unit.offline.speech import Message, assistant, calls, result, system, user

Draw = st.DrawFn
WORDS = st.text(alphabet="abc 订单", min_size=1, max_size=8).filter(lambda text: bool(text.strip()))


@st.composite
def histories(draw: Draw, *, least: int = 0) -> list[Message]:
    """Valid histories: rounds of a person, `least` or more tool rounds with parallel calls, an answer."""
    messages: list[Message] = [system("Be brief.")] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(user(draw(WORDS)))
        for _ in range(draw(st.integers(least, 2))):
            ids = [f"call_{number + offset}" for offset in range(draw(st.integers(1, 3)))]
            number += len(ids)
            messages.append(calls(**{id_: ("orders_get", {"number": 1}) for id_ in ids}))
            messages += [result(id_, draw(WORDS)) for id_ in draw(st.permutations(ids))]
        if draw(st.booleans()):
            messages.append(assistant(draw(WORDS)))
    return messages


@given(histories())
def test_valid_histories_have_no_problem(messages: list[Message]) -> None:
    assert problems(messages) == []


@given(histories(least=1), st.data())
def test_every_lost_result_is_a_problem(messages: list[Message], data: st.DataObject) -> None:
    places = [index for index, message in enumerate(messages) if message["role"] == "tool"]
    lost = data.draw(st.sampled_from(places))
    id_ = messages[lost]["tool_call_id"]

    found = problems([*messages[:lost], *messages[lost + 1 :]])

    assert len(found) == 1
    assert f"tool call {id_!r} has no tool message" in found[0]


@given(histories(least=1), st.data())
def test_every_repeated_result_is_a_problem(messages: list[Message], data: st.DataObject) -> None:
    places = [index for index, message in enumerate(messages) if message["role"] == "tool"]
    place = data.draw(st.sampled_from(places))

    found = problems([*messages[: place + 1], *messages[place:]])

    assert any("a call that was answered before" in problem for problem in found)


@given(histories(least=1), st.data())
def test_nothing_may_stand_between_a_call_and_its_results(
    messages: list[Message], data: st.DataObject
) -> None:
    places = [index for index, message in enumerate(messages) if message["role"] == "tool"]
    place = data.draw(st.sampled_from(places))
    between = data.draw(st.sampled_from([user("wait"), assistant("hm"), system("note")]))

    assert problems([*messages[:place], between, *messages[place:]])


@given(histories(), st.data())
def test_every_blank_answer_is_a_problem(messages: list[Message], data: st.DataObject) -> None:
    blank = {"role": "assistant", "content": data.draw(st.sampled_from([None, "", " \n", []]))}

    found = problems([*messages, blank])

    assert found == [
        f"messages[{len(messages)}]: assistant content is null or blank without tool calls; send text"
    ]


@given(histories())
def test_history_is_not_changed_by_the_check(messages: list[Message]) -> None:
    before = copy.deepcopy(messages)
    problems(messages)
    assert messages == before


def test_empty_history_is_a_problem() -> None:
    assert problems([]) == ["messages is empty; send at least one message"]


def test_every_dangling_call_is_named_at_the_end() -> None:
    found = problems([user("Hi"), calls(a=("orders_get", {}), b=("kb_search", {})), result("b", "ok")])

    expected = (
        "messages[1]: tool call 'a' has no tool message before the end of the history; "
        "answer every tool call exactly once, directly after the assistant message"
    )
    assert found == [expected]


def test_result_without_a_call_is_an_orphan() -> None:
    assert problems([user("Hi"), result("ghost", "boo")]) == [
        "messages[1]: tool message answers 'ghost', a call that was never made or is not open here"
    ]


@pytest.mark.parametrize("id_", ["", "  ", None])
def test_empty_call_id_is_a_problem(id_: str | None) -> None:
    call = calls(a=("orders_get", {}))
    call["tool_calls"][0]["id"] = id_

    found = problems([user("Hi"), call])

    assert found == [f"messages[1].tool_calls[0]: id {id_!r} is empty; give every call an id of its own"]


def test_empty_id_of_a_result_is_a_problem() -> None:
    found = problems([user("Hi"), calls(a=("orders_get", {})), result("", "ok"), result("a", "ok")])

    assert found == ["messages[2]: tool_call_id '' is empty; name the call that is answered"]


def test_call_id_may_not_come_again_in_a_later_turn() -> None:
    round_ = [calls(a=("orders_get", {})), result("a", "ok")]

    found = problems([user("Hi"), *round_, user("again"), *round_])

    assert found == ["messages[4].tool_calls[0]: id 'a' is used twice; give every call an id of its own"]


@pytest.mark.parametrize("name", ["orders.get", "", "x" * 65, "get order", "订单", None])
def test_function_name_that_providers_refuse_is_a_problem(name: str | None) -> None:
    call = calls(a=("orders_get", {}))
    call["tool_calls"][0]["function"]["name"] = name

    found = problems([user("Hi"), call, result("a", "ok")])

    assert found == [
        f"messages[1].tool_calls[0]: function name {name!r} does not match ^[a-zA-Z0-9_-]{{1,64}}$"
    ]


def test_longest_function_name_is_fine() -> None:
    assert problems([user("Hi"), calls(a=("x" * 64, {})), result("a", "ok")]) == []


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "robot", "content": "x"}, "role 'robot' is unknown"),
        ({"content": "x"}, "role None is unknown"),
        ({"role": "user", "content": None}, "content of a user message must be text or a list of parts"),
        (
            {"role": "assistant", "content": "x", "tool_calls": []},
            "tool_calls must be a list with at",
        ),
        (
            {"role": "assistant", "content": "x", "tool_calls": "no"},
            "tool_calls must be a list with at",
        ),
        ({"role": "tool", "tool_call_id": "a", "content": None}, "content of a tool message must be text"),
    ],
)
def test_malformed_message_is_a_problem(message: Message, text: str) -> None:
    opening = [user("Hi"), calls(a=("orders_get", {}))] if message.get("role") == "tool" else [user("Hi")]

    found = problems([*opening, message])

    assert len(found) == 1
    assert text in found[0]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"type": "custom"}, "type 'custom' is unknown; expected 'function'"),
        ({"function": {"name": "f", "arguments": {}}}, "arguments must be text that holds JSON, not dict"),
        ({"function": None}, "function name None does not match"),
    ],
)
def test_malformed_call_is_a_problem(change: dict[str, Any], text: str) -> None:
    call = calls(a=("orders_get", {}))
    call["tool_calls"][0] |= change

    found = problems([user("Hi"), call, result("a", "ok")])

    assert any(text in problem for problem in found)


def test_call_that_is_no_object_is_a_problem() -> None:
    found = problems([user("Hi"), {"role": "assistant", "content": None, "tool_calls": ["x"]}])

    assert [problem.split(":")[0] for problem in found] == ["messages[1].tool_calls[0]"] * 3


def test_text_in_parts_is_text() -> None:
    parts = [{"type": "text", "text": "ok"}]

    assert problems([user("Hi"), {"role": "assistant", "content": parts}]) == []
    assert problems([{"role": "user", "content": parts}]) == []
