"""Reading a request: what is taken from it, and which shapes are refused."""

from __future__ import annotations

from typing import Any

import pytest

from agent.offline.refusal import Refusal
from agent.offline.request import ChatRequest, ToolChoice, parse, problems, refuse
from tests.unit.offline.catalogue import KB_SEARCH, ORDERS_GET, tool
from tests.unit.offline.speech import user

BODY: dict[str, Any] = {"model": "m", "messages": [user("Hi")]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "A", "schema": {"type": "object"}}}


def read(**fields: Any) -> ChatRequest:
    """A request that is taken."""
    request = parse(BODY | fields)
    assert isinstance(request, ChatRequest), request
    return request


def refusal(**fields: Any) -> Refusal:
    """The refusal of a request."""
    request = parse(BODY | fields)
    assert isinstance(request, Refusal), request
    return request


def test_plain_request_has_modest_defaults() -> None:
    request = read()

    assert request == ChatRequest(
        body=BODY,
        model="m",
        messages=[user("Hi")],
        tools=[],
        tool_choice=ToolChoice("auto"),
        response_format=None,
        stream=False,
        include_usage=False,
        parallel=True,
        max_tokens=None,
    )


def test_every_field_is_read() -> None:
    request = read(
        tools=[ORDERS_GET, KB_SEARCH],
        tool_choice={"type": "function", "function": {"name": "kb_search"}},
        response_format=FORMAT,
        stream=True,
        stream_options={"include_usage": True},
        parallel_tool_calls=False,
        max_completion_tokens=7,
    )

    assert request.tool_names() == ["orders_get", "kb_search"]
    assert request.tool_choice == ToolChoice("named", name="kb_search")
    assert request.response_format == FORMAT
    assert (request.stream, request.include_usage, request.parallel) == (True, True, False)
    assert request.max_tokens == 7


def test_older_name_of_the_limit_is_read() -> None:
    assert read(max_tokens=9).max_tokens == 9


@pytest.mark.parametrize("mode", ["auto", "none", "required"])
def test_tool_choice_by_word_is_read(mode: Any) -> None:
    assert read(tools=[ORDERS_GET], tool_choice=mode).tool_choice == ToolChoice(mode)


@pytest.mark.parametrize("mode", ["auto", "none"])
def test_harmless_tool_choice_needs_no_tools(mode: str) -> None:
    assert read(tool_choice=mode).tools == []


@pytest.mark.parametrize("body", [None, [], "text", 3])
def test_body_that_is_no_object_is_refused(body: object) -> None:
    refused = parse(body)

    assert refused == Refusal("The request body must be a JSON object.")


@pytest.mark.parametrize(
    ("fields", "param", "text"),
    [
        ({"model": None}, "model", "You must provide a model parameter."),
        ({"model": ""}, "model", "You must provide a model parameter."),
        ({"messages": None}, "messages", "'messages' must be a list of at least one message object."),
        ({"messages": []}, "messages", "'messages' must be a list of at least one message object."),
        ({"messages": ["Hi"]}, "messages", "'messages' must be a list of at least one message object."),
        ({"n": 2}, "n", "'n' must be 1"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "only allowed when 'stream' is true"),
        ({"max_tokens": 0}, "max_tokens", "'max_tokens' must be a positive integer, not 0."),
        ({"max_completion_tokens": "9"}, "max_completion_tokens", "must be a positive integer, not '9'."),
        ({"max_tokens": True}, "max_tokens", "must be a positive integer, not True."),
        ({"tools": []}, "tools", "'tools' must be a list of"),
        ({"tools": {}}, "tools", "'tools' must be a list of"),
        ({"tools": [{"type": "function"}]}, "tools", "'tools' must be a list of"),
        ({"tools": [{"type": "web", "function": {"name": "x"}}]}, "tools", "'tools' must be a list of"),
        ({"tool_choice": "any"}, "tool_choice", "'tool_choice' 'any' is not 'auto', 'none', 'required'"),
        ({"tool_choice": {"type": "function"}}, "tool_choice", "is not 'auto', 'none', 'required'"),
        ({"tool_choice": "required"}, "tool_choice", "only allowed when 'tools' are specified"),
        (
            {"tools": [ORDERS_GET], "tool_choice": {"type": "function", "function": {"name": "ghost"}}},
            "tool_choice",
            "'tool_choice' names 'ghost', which is not among the tools.",
        ),
        ({"response_format": "json"}, "response_format", "'response_format' type None is unknown."),
        ({"response_format": {"type": "xml"}}, "response_format", "type 'xml' is unknown."),
        ({"response_format": {"type": "json_schema"}}, "response_format", "needs json_schema.schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": "x"}}},
            "response_format",
            "needs json_schema.schema",
        ),
    ],
)
def test_wrong_shape_is_refused_and_named(fields: dict[str, Any], param: str, text: str) -> None:
    refused = refusal(**fields)

    assert (refused.status, refused.param, refused.kind) == (400, param, "invalid_request_error")
    assert text in refused.message


def test_names_of_offered_tools_are_checked() -> None:
    request = read(tools=[tool("orders.get", "", {}, required=[]), ORDERS_GET, ORDERS_GET])

    assert problems(request) == [
        "tools: function name 'orders.get' does not match ^[a-zA-Z0-9_-]{1,64}$",
        "tools: function name 'orders_get' is offered twice",
    ]


def test_history_and_tools_are_checked_together() -> None:
    request = read(messages=[{"role": "assistant", "content": None}], tools=[ORDERS_GET, ORDERS_GET])

    assert [problem.split(":")[0] for problem in problems(request)] == ["messages[0]", "tools"]


def test_problems_make_one_refusal() -> None:
    assert refuse([]) is None
    assert refuse(["a is wrong", "b is wrong"]) == Refusal(
        "Invalid request: a is wrong; b is wrong.", param="messages"
    )
