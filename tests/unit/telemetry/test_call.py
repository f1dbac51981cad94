"""Tool calls are recognised in the tasks that serve them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from agent.telemetry.call import Call, only_call, result_of

TOOLS = frozenset({"orders_get"})
CALL = {"type": "tool_call", "name": "orders_get", "args": {"secret": 1}, "id": "call_1"}


@pytest.mark.parametrize(
    "given", [[CALL], CALL, {"__type": "tool_call_with_context", "tool_call": CALL, "state": {}}]
)
def test_a_task_for_one_call_is_that_call(given: Any) -> None:
    call = only_call(given, tools=TOOLS)
    assert call == Call("orders_get", "call_1")
    assert Call("orders_get", "call_1").attributes() == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "orders_get",
        "gen_ai.tool.call.id": "call_1",
    }


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "tool_call",
        {"messages": [CALL]},
        [CALL, CALL],
        [AIMessage("")],
        {"__type": "tool_call_with_context", "tool_call": None},
    ],
)
def test_every_other_task_is_none(given: Any) -> None:
    assert only_call(given, tools=TOOLS) is None


def test_a_name_that_the_model_made_up_is_not_told() -> None:
    made_up = {**CALL, "name": "refund_Ann_Smith", "id": "for Ann Smith"}
    call = only_call([made_up], tools=TOOLS)
    assert call is not None
    assert set(call.attributes().values()) == {"execute_tool", "_OTHER"}


def test_a_call_without_an_id_tells_none() -> None:
    call = only_call({**CALL, "id": None}, tools=TOOLS)
    assert call == Call("orders_get", "")
    assert "gen_ai.tool.call.id" not in Call("orders_get", "").attributes()


def test_the_answer_of_a_call_is_found_in_whatever_a_task_gives_back() -> None:
    mine, other = ToolMessage("mine", tool_call_id="call_1"), ToolMessage("x", tool_call_id="call_2")
    for output in (
        mine,
        [other, mine],
        {"messages": [other, mine]},
        Command(update={"messages": [other, mine]}),
        [Command(goto="x"), {"messages": (mine,)}],
    ):
        assert result_of("call_1", output) is mine
    for output in (None, other, {"messages": [other]}, Command(), "call_1", {}):
        assert result_of("call_1", output) is None
