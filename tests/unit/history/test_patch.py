from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import (
    REMOVE_ALL_MESSAGES,
    _messages_delta_reducer,  # pyright: ignore[reportPrivateUsage] - the reducer of the thread's channel
    add_messages,
)

from agent.history.patch import writes
from agent.history.repair import repair
from tests.unit.history.histories import any_history, asking, result, valid_history

A, B, C, D = (HumanMessage(name, id=name) for name in "abcd")


def added(state: Sequence[BaseMessage], parts: Sequence[list[BaseMessage]]) -> list[Any]:
    merged: Any = list(state)
    for part in parts:
        merged = add_messages(merged, list[Any](part))
    return merged


def replayed(state: Sequence[BaseMessage], parts: Sequence[list[BaseMessage]]) -> list[Any]:
    return _messages_delta_reducer(list[Any](state), list[Any](parts))


@settings(max_examples=300, deadline=None)
@given(any_history)
def test_both_reducers_arrive_at_the_repair(messages: list[BaseMessage]) -> None:
    repaired = repair(messages)
    parts = writes(messages, repaired)
    assert replayed(messages, parts) == repaired
    assert added([message.model_copy() for message in messages], parts) == repaired


@settings(deadline=None)
@given(valid_history())
def test_a_valid_history_writes_nothing(messages: list[BaseMessage]) -> None:
    assert writes(messages, repair(messages)) == []


@pytest.mark.parametrize("apply", [added, replayed])
def test_the_tail_behind_an_insertion_is_removed_and_appended_with_the_same_ids(apply: Any) -> None:
    before, after = [A, C, D], [A, B, C, D]
    parts = writes(before, after)
    assert parts == [[RemoveMessage(id="c"), RemoveMessage(id="d")], [B, C, D]]
    assert apply(before, parts) == after


def test_a_change_in_place_is_written_alone() -> None:
    changed = HumanMessage("new", id="b")
    assert writes([A, B, C], [A, changed, C]) == [[changed]]


def test_an_edit_before_an_insertion_is_written_with_it() -> None:
    edited = HumanMessage("new", id="a")
    assert writes([A, C], [edited, B, C]) == [[edited, RemoveMessage(id="c")], [B, C]]


def test_a_removal_at_the_end_appends_nothing() -> None:
    assert writes([A, B], [A]) == [[RemoveMessage(id="b")]]


def test_an_addition_at_the_end_removes_nothing() -> None:
    turn, answer = asking("x", message="t"), result("x")
    assert writes([A, turn], [A, turn, answer]) == [[answer]]


@pytest.mark.parametrize("before", [[A, A], [A, HumanMessage("no id")], [A, HumanMessage("blank", id="")]])
def test_a_thread_whose_ids_cannot_be_told_apart_is_written_anew(before: list[BaseMessage]) -> None:
    after = repair(before)
    parts = writes(before, after)
    assert parts == [[RemoveMessage(id=REMOVE_ALL_MESSAGES), *after]]
    assert replayed(before, parts) == after
    assert added(before, parts) == after


def test_a_blank_turn_is_removed() -> None:
    before: list[BaseMessage] = [A, AIMessage("", id="x"), B]
    assert replayed(before, writes(before, repair(before))) == [A, B]
