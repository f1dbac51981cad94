from __future__ import annotations

from typing import Any, cast

import pytest
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - untyped saver
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver

from agent.state import DeltaConversation, FullConversation, HistoryMode, conversation, history_mode

pytestmark = pytest.mark.anyio

create = cast("Any", create_agent)
MODES: tuple[HistoryMode, ...] = ("delta", "full")


def agent_with(mode: HistoryMode) -> Any:
    answers = iter([AIMessage("one"), AIMessage("two"), AIMessage("three")])
    return create(
        GenericFakeChatModel(messages=answers),
        tools=[],
        state_schema=conversation(mode),
        checkpointer=InMemorySaver(),
    )


def kinds_of(agent: Any) -> dict[str, str]:
    return {name: type(channel).__name__ for name, channel in agent.channels.items()}


@pytest.mark.parametrize("value", MODES)
def test_a_mode_is_what_it_is_called(value: HistoryMode) -> None:
    assert history_mode(value) == value


@pytest.mark.parametrize("value", ["Delta", "FULL", "none", " delta", "1"])
def test_any_other_mode_is_an_error_that_names_the_two(value: str) -> None:
    with pytest.raises(ValueError, match=r"SIGNALBOX_MESSAGES is .*; expected 'delta' or 'full'") as caught:
        history_mode(value)
    assert repr(value) in str(caught.value)


def test_the_mode_comes_from_the_environment_and_is_delta_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIGNALBOX_MESSAGES", raising=False)
    assert history_mode() == "delta"
    assert conversation() is DeltaConversation
    monkeypatch.setenv("SIGNALBOX_MESSAGES", "full")
    assert history_mode() == "full"
    assert conversation() is FullConversation
    assert history_mode("delta") == "delta"
    assert conversation("delta") is DeltaConversation


def test_a_wrong_mode_in_the_environment_keeps_the_graph_from_loading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SIGNALBOX_MESSAGES", "deltas")
    with pytest.raises(ValueError, match="'deltas'"):
        conversation()


def test_the_agent_s_history_is_a_delta_channel_in_delta_mode_only() -> None:
    assert isinstance(agent_with("delta").channels["messages"], DeltaChannel)
    full = agent_with("full").channels["messages"]
    assert isinstance(full, BinaryOperatorAggregate)
    assert not isinstance(full, DeltaChannel)


@pytest.mark.parametrize("mode", MODES)
def test_no_other_channel_of_the_agent_changes(mode: HistoryMode) -> None:
    plain = create(GenericFakeChatModel(messages=iter([AIMessage("x")])), tools=[])
    ours, others = kinds_of(agent_with(mode)), kinds_of(plain)
    assert "jump_to" in ours
    assert ours.pop("messages") == {"delta": "DeltaChannel", "full": "BinaryOperatorAggregate"}[mode]
    others.pop("messages")
    assert ours == others


@pytest.mark.parametrize("mode", MODES)
async def test_a_thread_keeps_its_history_over_turns_and_another_has_none(mode: HistoryMode) -> None:
    agent = agent_with(mode)
    here, there = ({"configurable": {"thread_id": name}} for name in ("here", "there"))
    await agent.ainvoke({"messages": [{"role": "user", "content": "first"}]}, here)
    await agent.ainvoke({"messages": [{"role": "user", "content": "second"}]}, here)
    state = await agent.aget_state(here)
    messages = cast("list[BaseMessage]", state.values["messages"])
    assert [message.content for message in messages] == ["first", "one", "second", "two"]
    assert (await agent.aget_state(there)).values == {}


@pytest.mark.parametrize("mode", MODES)
async def test_every_message_has_an_id_that_stays(mode: HistoryMode) -> None:
    agent = agent_with(mode)
    thread = {"configurable": {"thread_id": "t"}}
    await agent.ainvoke({"messages": [("user", "a"), "b", {"role": "user", "content": "c"}]}, thread)
    first, again = [
        [message.id for message in (await agent.aget_state(thread)).values["messages"]] for _ in range(2)
    ]
    assert len(set(first)) == 4
    assert all(first)
    assert first == again
