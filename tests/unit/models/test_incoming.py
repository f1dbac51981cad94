from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agent.models.incoming import as_text, call_ids, identified, new_id, objects_in, offered, spoken

NAMES = frozenset({"weather", "time"})


def call(identifier: str | None, name: str = "weather") -> Any:
    return {"name": name, "args": {}, "id": identifier, "type": "tool_call"}


def invalid(identifier: str | None) -> Any:
    return {"name": "weather", "args": "{", "id": identifier, "error": None, "type": "invalid_tool_call"}


def tagged(name: str, city: str) -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {{"city": "{city}"}}}}</tool_call>'


def ids(message: AIMessage) -> list[Any]:
    return [one["id"] for one in (*message.tool_calls, *message.invalid_tool_calls)]


def test_the_ids_of_a_history_are_those_of_all_its_calls() -> None:
    history = [
        HumanMessage("go"),
        AIMessage("", tool_calls=[call("a"), call("")], invalid_tool_calls=[invalid("b"), invalid(None)]),
        ToolMessage("x", tool_call_id="a"),
        AIMessage("done"),
    ]
    assert call_ids(history) == {"a", "b"}


def test_new_ids_differ_and_are_safe_on_every_wire() -> None:
    made = {new_id() for _ in range(50)}
    assert len(made) == 50
    assert all(len(one) == 37 and one.startswith("call_") and one[5:].isalnum() for one in made)


def test_a_message_whose_ids_are_sound_is_the_same_object() -> None:
    message = AIMessage("", tool_calls=[call("a"), call("b")])
    assert identified(message, taken={"c"}) is message
    plain = AIMessage("hello")
    assert identified(plain, taken=()) is plain


def test_empty_repeated_and_taken_ids_are_replaced_and_the_first_is_kept() -> None:
    message = AIMessage(
        "",
        id="m",
        tool_calls=[call("a"), call("a"), call(""), call("old")],
        invalid_tool_calls=[invalid(None)],
    )
    found = identified(message, taken={"old"})
    assert ids(found)[0] == "a"
    assert len(set(ids(found)) - {"", None, "old"}) == 5
    assert (found.id, ids(message)) == ("m", ["a", "a", "", "old", None])


def test_object_arguments_become_text_in_place() -> None:
    calls = [
        {"index": 0, "function": {"name": "weather", "arguments": {"city": "Köln"}}},
        {"function": {"name": "time", "arguments": "{}"}},
        "nonsense",
        {"index": 2},
    ]
    assert objects_in(calls)
    as_text(calls)
    assert not objects_in(calls)
    assert calls == [
        {"index": 0, "function": {"name": "weather", "arguments": '{"city": "Köln"}'}},
        {"index": None, "function": {"name": "time", "arguments": "{}"}},
        "nonsense",
        {"index": 2},
    ]


@pytest.mark.parametrize("calls", [None, [], "text", [{"function": None}], {"a": 1}])
def test_what_is_no_list_of_calls_is_left_alone(calls: Any) -> None:
    assert not objects_in(calls)
    as_text(calls)


def test_offered_names_come_from_the_wire_s_tools() -> None:
    assert offered([{"type": "function", "function": {"name": "weather"}}]) == {"weather"}
    assert offered([]) == frozenset()


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        ('<tool_call>{"name": "weather", "arguments": {"city": "Ulm"}}</tool_call>', ["Ulm"], ""),
        (
            f"I look.\n{tagged('weather', 'Ulm')}\n{tagged('weather', 'Bonn')}",
            ["Ulm", "Bonn"],
            "I look.",
        ),
        ('Sure:\n```json\n{"name": "weather", "arguments": {"city": "Ulm"}}\n```', ["Ulm"], "Sure:"),
        ('```\n{"name": "weather", "parameters": {"city": "Ulm"}}\n```', ["Ulm"], ""),
        ('{"name": "weather", "arguments": {"city": "Ulm"}}', ["Ulm"], ""),
    ],
)
def test_calls_in_a_text_are_read(text: str, calls: list[str], rest: str) -> None:
    found = spoken(AIMessage(text, id="m"), names=NAMES)
    assert [one["args"]["city"] for one in found.tool_calls] == calls
    assert (found.content, found.id) == (rest, "m")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is sunny.",
        '{"name": "delete_everything", "arguments": {}}',
        '{"name": "weather"}',
        '{"name": "weather", "arguments": "Ulm"}',
        '["weather"]',
        '<tool_call>{"name": "weather", "arguments": {</tool_call>',
        tagged("weather", "Ulm") + tagged("rm", "Ulm"),
        '```json\n{"worker": "writer"}\n```',
    ],
)
def test_other_text_is_an_answer(text: str) -> None:
    message = AIMessage(text)
    assert spoken(message, names=NAMES) is message


def test_a_message_that_calls_properly_is_not_read_again() -> None:
    text = '{"name": "weather", "arguments": {}}'
    for message in (
        AIMessage(text, tool_calls=[call("a")]),
        AIMessage(text, invalid_tool_calls=[invalid("a")]),
        AIMessage([{"type": "text", "text": text}]),
    ):
        assert spoken(message, names=NAMES) is message
