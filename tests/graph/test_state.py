"""Schemas of the graph's state: what callers see, and that no node writes an undeclared key (B-13)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict, cast

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from agent.context import AgentContext
from agent.offline.script import ScriptedCall, Turn
from agent.reducers import merge_by_id
from tests.graph.conftest import Agent

pytestmark = pytest.mark.anyio

Graph = CompiledStateGraph[Any, Any, Any, Any]


def several(written: Any) -> list[Any]:
    """What a node wrote, as the list of updates that it is or stands for."""
    return cast("list[Any]", written) if isinstance(written, list) else [written]


def watched(graph: Graph) -> tuple[Graph, list[tuple[str, str]], set[str]]:
    """The graph, (node, key) for each key written that no channel declares, and the nodes that wrote.

    langgraph drops such keys in silence, so a test has to look before they are dropped.
    """
    strays: list[tuple[str, str]] = []
    seen: set[str] = set()
    declared = set(cast("dict[str, Any]", graph.channels))

    def check(node: str, written: object) -> None:
        seen.add(node)
        for update in several(written):
            values = cast("Any", update).update if isinstance(update, Command) else update
            if isinstance(values, Mapping):
                keys = {str(key) for key in cast("Mapping[str, object]", values)}
                strays.extend((node, key) for key in sorted(keys - declared))

    copy = graph.copy()
    for name, node in copy.nodes.items():
        bound = cast("Any", node.bound)
        if name == START or not hasattr(bound, "afunc"):
            continue
        inner = bound.afunc or bound.func

        async def spy(*args: Any, _name: str = name, _inner: Any = inner, **kwargs: Any) -> Any:
            result = _inner(*args, **kwargs)
            result = await result if hasattr(result, "__await__") else result
            check(_name, result)
            return result

        bound.afunc = spy
    return copy, strays, seen


class Small(TypedDict):
    items: Annotated[list[Mapping[str, Any]], merge_by_id]


async def test_the_watch_finds_a_key_that_nobody_declared() -> None:
    async def node(state: Small) -> dict[str, object]:
        return {"items": [*state["items"], {"id": 1}], "itmes": 2}

    builder = StateGraph(Small)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    graph, strays, seen = watched(builder.compile())
    assert (await graph.ainvoke({"items": []}))["items"] == [{"id": 1}]
    assert seen == {"node"}
    assert strays == [("node", "itmes")]


async def test_no_node_of_react_writes_an_undeclared_key(agent: Agent) -> None:
    broken = ScriptedCall(name="bench_echo", raw_arguments="{", id="call_b")
    good = ScriptedCall(name="bench_echo", args={"text": "x"}, id="call_g")
    talk = await agent.endpoint.script(Turn(content="", tool_calls=(broken, good)), Turn(content="done"))
    agent.graph, strays, seen = watched(agent.graph)
    messages = await agent.run(talk.says("go"), thread=str(uuid.uuid4()))
    assert [message.type for message in messages] == ["human", "ai", "tool", "tool", "ai"]
    assert seen == {"model", "tools"}
    assert strays == []


def test_callers_send_messages_and_get_messages(agent: Agent) -> None:
    inputs, outputs = agent.graph.get_input_jsonschema(), agent.graph.get_output_jsonschema()
    assert set(inputs["properties"]) == {"messages"}
    assert inputs["required"] == ["messages"]
    assert set(outputs["properties"]) == {"messages", "structured_response"}
    assert "jump_to" not in json.dumps([inputs, outputs])


def test_the_context_schema_is_the_contract(agent: Agent) -> None:
    schema = agent.graph.get_context_jsonschema()
    assert schema is not None
    assert set(schema["properties"]) == set(AgentContext.model_fields)


async def test_private_keys_sent_by_a_caller_do_not_steer_the_graph(agent: Agent) -> None:
    """`jump_to` is the graph's own; as input it is dropped, not obeyed."""
    talk = await agent.endpoint.script(Turn(content="answered"))
    place = str(uuid.uuid4())
    sent: Any = {
        "messages": [HumanMessage(talk.says("hi"))],
        "jump_to": "end",
        "structured_response": {"a": 1},
    }
    result = await agent.invoke(sent, thread=place)
    assert isinstance(result["messages"][-1], AIMessage)
    assert result["messages"][-1].content == "answered"
    assert result.get("structured_response") is None
