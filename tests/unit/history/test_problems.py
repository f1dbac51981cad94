from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, SystemMessage

from agent.history.problems import blank, problems
from tests.unit.history.histories import asking, result, valid_history

HI = HumanMessage("hi", id="h")
BROKEN: Any = {"name": "t", "args": "{", "id": "b", "error": "e", "type": "invalid_tool_call"}


@given(valid_history())
def test_a_valid_history_has_none(messages: list[BaseMessage]) -> None:
    assert len(messages) >= 1
    assert problems(messages) == []


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([HumanMessage("hi")], "messages[0]: the message has no id"),
        ([HI, HI], "messages[1]: the id 'h' is used twice"),
        ([FunctionMessage(content="x", name="f", id="f")], "messages[0]: a 'function' message has no role"),
        ([HumanMessage("\x00", id="h")], "messages[0]: text, a name or extra fields that endpoints refuse"),
        ([HI, result("a")], "messages[1]: a result for 'a', which is not open here"),
        ([asking("a", message="1"), HI], "messages[1]: call 'a' has no result before this message"),
        ([asking("a", message="1")], "the end: call 'a' has no result"),
        (
            [asking("a", "b", message="1"), result("b"), result("a")],
            "messages[1]: the result for 'b' is not in the order of the calls",
        ),
        ([AIMessage(" \n", id="1")], "messages[0]: a blank assistant turn"),
        (
            [AIMessage("", id="1", invalid_tool_calls=[BROKEN])],
            "messages[0]: call 'b' has unreadable arguments",
        ),
        ([asking(" ", message="1"), result(" ")], "messages[0]: a call without an id"),
        (
            [asking("a", message="1"), result("a"), asking("a", message="2"), result("a", message="r")],
            "messages[2]: the call id 'a' is used twice",
        ),
    ],
)
def test_each_fault_is_found_alone(messages: list[BaseMessage], fault: str) -> None:
    assert problems(messages) == [fault]


def test_only_an_assistant_can_be_blank() -> None:
    assert blank(AIMessage(""))
    assert blank(AIMessage([{"type": "text", "text": " "}]))
    assert not blank(AIMessage("word"))
    assert not blank(asking("a", message="1"))
    assert not blank(AIMessage("", invalid_tool_calls=[BROKEN]))
    assert not blank(HumanMessage(""))
    assert not blank(SystemMessage(""))
