"""Whose run it is: announced by the server, confirmed by the stamped context."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph

from agent.context import AgentContext
from agent.telemetry.identity import Identity

pytestmark = pytest.mark.anyio

ANNOUNCED = Identity("globex", "desk", "e" * 64, "thread-1", "run-1")


class State(TypedDict):
    """Nothing much."""

    number: int


async def confirmed_inside(context: Any, configurable: dict[str, str]) -> Identity:
    """What a node of a run with that context finds."""
    found: list[Identity] = []

    async def node(state: State) -> State:
        found.append(ANNOUNCED.confirmed())
        return state

    graph: Any = StateGraph(State, context_schema=AgentContext)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    await graph.compile().ainvoke({"number": 1}, {"configurable": configurable}, context=context)
    [one] = found
    return one


def test_the_doors_metadata_announce_a_run() -> None:
    metadata = {
        "tenant": "acme",
        "assistant": "acme/support",
        "release": "a" * 64,
        "thread_id": "thread-7",
        "run_id": "run-7",
        "owner": "acme/ann",
    }
    identity = Identity.announced(metadata, run="other")
    assert identity == Identity("acme", "support", "a" * 64, "thread-7", "run-7")
    assert identity.attributes() == {
        "signalbox.tenant": "acme",
        "signalbox.assistant": "support",
        "signalbox.release": "a" * 64,
        "signalbox.thread": "thread-7",
        "signalbox.run": "run-7",
    }


def test_what_is_not_announced_is_left_out() -> None:
    identity = Identity.announced({"tenant": None, "assistant": "support"}, run="run-9")
    assert identity == Identity(assistant="support", run="run-9")
    assert identity.attributes() == {"signalbox.assistant": "support", "signalbox.run": "run-9"}


def test_metadata_that_hold_sentences_are_not_told() -> None:
    metadata: dict[str, Any] = {"tenant": "my name is Ann", "thread_id": ["x"], "assistant": {"a": "b"}}
    assert set(Identity.announced(metadata, run="r").attributes().values()) == {"_OTHER", "r"}


async def test_the_context_of_the_run_has_the_last_word() -> None:
    context = AgentContext(tenant="acme", assistant="support", release="b" * 64)
    found = await confirmed_inside(context, {"thread_id": "thread-2", "run_id": "run-2"})
    assert found == Identity("acme", "support", "b" * 64, "thread-2", "run-2")


async def test_what_the_context_leaves_open_stays_as_announced() -> None:
    found = await confirmed_inside(AgentContext(tenant="acme"), {})
    assert found == Identity("acme", "desk", "e" * 64, "thread-1", "run-1")


async def test_a_run_without_a_context_of_ours_stays_as_announced() -> None:
    assert await confirmed_inside(None, {"thread_id": "thread-2"}) == ANNOUNCED


def test_outside_of_a_run_nothing_is_confirmed() -> None:
    assert ANNOUNCED.confirmed() == ANNOUNCED
