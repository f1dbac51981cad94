from __future__ import annotations

from typing import Any

import httpx
import pytest
from inline_snapshot import snapshot
from langchain_core.exceptions import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from openai import APIConnectionError, OpenAIError

from agent.context import AgentContext, ModelChoice
from agent.errors import ModelUnavailable, RunRefused
from agent.history.calls import UNREADABLE, readable
from agent.middleware.model import Unbound, unavailable
from agent.tools.registry import Registry
from tests.unit.agent import contexts
from tests.unit.agent.stage import SECRET, Cast, Speaker, run

pytestmark = pytest.mark.anyio

INTERNAL = "Error code: 500 at https://internal.example/v1 with key sk-123"


@pytest.fixture(autouse=True)
def _server_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNALBOX_SERVER_SECRET", SECRET)


def invalid(**values: Any) -> dict[str, Any]:
    return {
        "name": "orders_get",
        "args": "{",
        "id": "call-1",
        "error": None,
        "type": "invalid_tool_call",
        **values,
    }


def context(*fallbacks: str, **values: Any) -> AgentContext:
    return contexts.context(**{"model": ModelChoice(name="openai:one", fallbacks=fallbacks), **values})


# Unreadable calls


def test_an_unreadable_call_becomes_a_call_that_can_be_answered() -> None:
    broken = AIMessage("", id="m-1", invalid_tool_calls=[invalid(args='{"number": 10')])
    message = readable(broken)
    assert isinstance(message, AIMessage)
    assert message.tool_calls == [
        {"name": "orders_get", "args": {UNREADABLE: '{"number": 10'}, "id": "call-1", "type": "tool_call"}
    ]
    assert message.invalid_tool_calls == []
    assert message.id == "m-1"


def test_the_message_that_was_given_is_not_changed() -> None:
    broken = AIMessage("", invalid_tool_calls=[invalid()])
    readable(broken)
    assert len(broken.invalid_tool_calls) == 1
    assert broken.tool_calls == []


def test_readable_calls_stay_and_come_first() -> None:
    good = {"name": "kb_search", "args": {"query": "x"}, "id": "call-0", "type": "tool_call"}
    message = readable(AIMessage("", tool_calls=[good], invalid_tool_calls=[invalid()]))
    assert isinstance(message, AIMessage)
    assert [call["id"] for call in message.tool_calls] == ["call-0", "call-1"]
    assert message.tool_calls[0] == good


def test_a_call_without_a_name_gets_one() -> None:
    broken = AIMessage(
        "", invalid_tool_calls=[invalid(name=None, id=None, args=None), invalid(id="", name="")]
    )
    message = readable(broken)
    assert isinstance(message, AIMessage)
    first, second = message.tool_calls
    assert (first["name"], first["args"]) == ("unnamed", {UNREADABLE: ""})
    assert second["name"] == "unnamed"


def test_only_the_beginning_of_unreadable_arguments_is_kept() -> None:
    message = readable(AIMessage("", invalid_tool_calls=[invalid(args="x" * 10_000)]))
    assert isinstance(message, AIMessage)
    assert message.tool_calls[0]["args"] == {UNREADABLE: "x" * 200}


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("hello"),
        AIMessage("", tool_calls=[{"name": "kb_search", "args": {}, "id": "call-0", "type": "tool_call"}]),
    ],
)
def test_a_message_without_unreadable_calls_is_passed_on_as_it_is(message: AIMessage) -> None:
    assert readable(message) is message


# Failures in words


def test_each_kind_of_failure_has_its_words_and_none_of_the_provider_s() -> None:
    kinds = (
        ModelConnectionError,
        ModelTimeoutError,
        ModelRateLimitError,
        ModelAuthenticationError,
        ModelPermissionDeniedError,
        OpenAIError,
        ValueError,
    )
    said = {kind.__name__: unavailable("openai:one", kind(INTERNAL)).detail for kind in kinds}
    assert all("internal.example" not in text and "sk-123" not in text for text in said.values())
    assert all(text.startswith("The endpoint of model 'openai:one' ") for text in said.values())
    assert {
        kind: text.partition("'openai:one' ")[2].partition(". ")[0] for kind, text in said.items()
    } == snapshot(
        {
            "ModelConnectionError": "could not be reached",
            "ModelTimeoutError": "took too long",
            "ModelRateLimitError": "is over its rate limit",
            "ModelAuthenticationError": "refused the key; check the endpoint's key on the server",
            "ModelPermissionDeniedError": "refused the key; check the endpoint's key on the server",
            "OpenAIError": "failed",
            "ValueError": "failed",
        }
    )


def test_a_failure_carries_a_code_that_clients_may_rely_on() -> None:
    failure = unavailable("openai:one", ModelTimeoutError("slow"))
    assert isinstance(failure, RuntimeError)
    assert str(failure).endswith("send your message again later. [model_unavailable]")


# The model of a run


async def test_the_run_is_answered_by_its_assistant_s_model_with_its_prompt() -> None:
    one, two = Speaker(lines=[AIMessage("from one")]), Speaker(lines=[AIMessage("from two")])
    messages = await run(Registry(), Cast(one=one, two=two), context(prompt="You help."))
    assert [message.content for message in messages] == ["please", "from one"]
    assert one.heard == [[SystemMessage("You help."), *messages[:1]]]
    assert two.heard == []


async def test_an_assistant_without_a_prompt_sends_none() -> None:
    one = Speaker(lines=[AIMessage("hi")])
    await run(Registry(), Cast(one=one), context())
    assert [type(message) for message in one.heard[0]] == [HumanMessage]


async def test_an_assistant_without_a_model_is_refused() -> None:
    cast = Cast()
    with pytest.raises(RunRefused, match="Assistant 'support' has no model"):
        await run(Registry(), cast, context(model=None))
    assert cast.asked == []


@pytest.mark.parametrize("failure", [ModelRateLimitError, ModelTimeoutError, ModelConnectionError])
async def test_a_failure_that_another_model_may_not_have_moves_on(failure: type[Exception]) -> None:
    one, two = Speaker(lines=[failure(INTERNAL)]), Speaker(lines=[AIMessage("from two")])
    cast = Cast(one=one, two=two)
    messages = await run(Registry(), cast, context("openai:two"))
    assert messages[-1].content == "from two"
    assert cast.asked == ["one", "two"]


@pytest.mark.parametrize("failure", [ModelAuthenticationError, ModelPermissionDeniedError])
async def test_a_refused_key_does_not_move_on(failure: type[Exception]) -> None:
    one, two = Speaker(lines=[failure(INTERNAL)]), Speaker(lines=[AIMessage("from two")])
    cast = Cast(one=one, two=two)
    with pytest.raises(ModelUnavailable, match="'openai:one' refused the key"):
        await run(Registry(), cast, context("openai:two"))
    assert cast.asked == ["one"]


async def test_a_plain_error_of_the_client_does_not_move_on() -> None:
    one, two = Speaker(lines=[OpenAIError(INTERNAL)]), Speaker(lines=[AIMessage("from two")])
    with pytest.raises(ModelUnavailable, match="'openai:one' failed"):
        await run(Registry(), Cast(one=one, two=two), context("openai:two"))
    assert two.heard == []


async def test_when_every_model_fails_the_last_one_is_named_and_nothing_is_answered() -> None:
    one, two = Speaker(lines=[ModelTimeoutError(INTERNAL)]), Speaker(lines=[ModelRateLimitError(INTERNAL)])
    with pytest.raises(ModelUnavailable, match="'openai:two' is over its rate limit") as caught:
        await run(Registry(), Cast(one=one, two=two), context("openai:two"))
    assert "sk-123" not in str(caught.value)


async def test_an_error_that_is_not_the_endpoint_s_is_not_dressed_up() -> None:
    one, two = Speaker(lines=[ZeroDivisionError("ours")]), Speaker(lines=[AIMessage("from two")])
    with pytest.raises(ZeroDivisionError):
        await run(Registry(), Cast(one=one, two=two), context("openai:two"))
    assert two.heard == []


async def test_a_connection_that_fails_in_the_client_is_a_connection_that_fails() -> None:
    request: Any = httpx.Request("POST", "http://127.0.0.1:1/v1/chat/completions")
    one = Speaker(lines=[APIConnectionError(request=request)])
    with pytest.raises(ModelUnavailable, match="'openai:one'"):
        await run(Registry(), Cast(one=one), context())


async def test_the_model_that_graphs_are_built_with_answers_nobody() -> None:
    unbound = Unbound()
    with pytest.raises(RunRefused, match="run one of the assistants of the catalog"):
        await unbound.ainvoke("hello")
    assert unbound.bind_tools([]) is unbound
    with pytest.raises(RunRefused):
        await unbound.bind_tools([{"name": "x"}], tool_choice="any").ainvoke("hello")
