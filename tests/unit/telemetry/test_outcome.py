"""Outcomes are codes and types, whatever the text says."""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphInterrupt, ParentCommand
from langgraph.types import Command

from agent.errors import ModelUnavailable
from agent.telemetry.outcome import (
    CANCELLED,
    INTERRUPTED,
    OK,
    OTHER,
    Outcome,
    identifier,
    of_exception,
    of_result,
    type_name,
)


def answer(content: str, *, status: str = "error") -> ToolMessage:
    return ToolMessage.model_validate({"content": content, "tool_call_id": "c", "status": status})


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (GraphInterrupt(()), INTERRUPTED),
        (ParentCommand(Command()), OK),
        (asyncio.CancelledError(), CANCELLED),
        (GeneratorExit(), CANCELLED),
        (ValueError("a secret"), Outcome("error", "ValueError")),
        (ModelUnavailable("a secret"), Outcome("error", "agent.errors.ModelUnavailable")),
        (json.JSONDecodeError("a secret", "doc", 0), Outcome("error", "json.decoder.JSONDecodeError")),
    ],
)
def test_an_exception_is_told_by_its_type_alone(error: BaseException, outcome: Outcome) -> None:
    assert of_exception(error) == outcome
    assert "secret" not in repr(of_exception(error))


def test_a_result_without_an_error_is_ok() -> None:
    assert of_result(None) == OK
    assert of_result(answer("fine", status="success")) == OK


def test_a_tools_own_text_is_not_taken_for_a_refusal() -> None:
    assert of_result(answer('{"error": "not_found"}', status="success")) == OK


@pytest.mark.parametrize(
    "content",
    [
        '{"error": "tool_denied", "message": "There is no tool."}',
        '{"error":"tool_denied"}',
        '{"error": "tool_denied", "message": "cut off in the mid',
        json.dumps(
            {
                "reviewer": {"arguments_changed_to": {"error": "kumquat"}, "reason": '{"error": "kumquat"}'},
                "result": {"error": "tool_denied", "message": "no"},
            }
        ),
    ],
)
def test_the_code_of_a_refusal_is_told(content: str) -> None:
    assert of_result(answer(content)) == Outcome("tool_denied", "tool_denied")


@pytest.mark.parametrize(
    "content",
    [
        "Error: ValueError('Ann Smith')",
        '{"error": "Ann Smith owes 5"}',
        '{"message": "x", "error": "kumquat"}',
        '["error", "kumquat"]',
        '{"result": {"error": {"error": "kumquat"}}}',
        '{"result": "kumquat"}',
        f'{{"error": "{"a" * 41}"}}',
        "",
    ],
)
def test_a_failure_without_a_code_is_just_an_error(content: str) -> None:
    assert of_result(answer(content)) == Outcome("error", "error")


def test_names_of_types_have_their_module_unless_they_are_built_in() -> None:
    assert type_name(KeyError) == "KeyError"
    assert type_name(GraphInterrupt) == "langgraph.errors.GraphInterrupt"


@pytest.mark.parametrize("name", ["gpt-5-mini", "org/model:7b@v1", "a" * 128, "0"])
def test_an_id_or_a_name_is_told_as_it_is(name: str) -> None:
    assert identifier(name) == name


@pytest.mark.parametrize("text", ["", "two words", "a\nb", "a" * 129, "naïve", "{}", "a;b"])
def test_what_may_be_a_sentence_is_not_told(text: str) -> None:
    assert identifier(text) == OTHER == "_OTHER"
