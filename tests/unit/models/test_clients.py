"""Retries and fallbacks, counted at the endpoint; waits pass on a clock of their own."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from openai import APIStatusError

from agent.context import ModelChoice
from agent.errors import ModelUnavailable
from agent.models import Models, Notice
from agent.models.dialect import DialectChat
from agent.offline.script import RateLimit, Turn
from agent.profile import PROFILES
from tests.support.endpoint import Conversation, Endpoint
from tests.unit.models.test_failure import status
from tests.unit.models.test_retry import Clock

pytestmark = pytest.mark.anyio


def choice(place: Endpoint, *fallbacks: str, **values: Any) -> ModelChoice:
    given: dict[str, Any] = {"name": "openai:main", "base_url": place.url, "fallbacks": fallbacks}
    return ModelChoice.model_validate({**given, **values})


async def answer(models: Models, asked: ModelChoice, talk: Conversation, **more: Any) -> str:
    async def ask(client: BaseChatModel) -> str:
        return str((await client.ainvoke([HumanMessage(talk.says("go"))])).text)

    return await models.answer(asked, ask, **more)


async def asked_models(talk: Conversation) -> list[str]:
    return [request.body["model"] for request in await talk.requests()]


# Which client


@pytest.mark.parametrize(
    ("values", "environment", "profile"),
    [
        ({}, {}, "generic-safe"),
        ({"profile": "ollama"}, {}, "ollama"),
        ({"name": "openai:scripted"}, {}, "scripted"),
        ({"base_url": None}, {"OPENAI_API_KEY": "sk-1"}, "openai"),
        (
            {"base_url": None},
            {"OPENAI_BASE_URL": "http://x/v1", "SIGNALBOX_MODEL_PROFILE": "deepseek"},
            "deepseek",
        ),
        (
            {"base_url": None},
            {"OPENAI_BASE_URL": "http://x/v1", "SIGNALBOX_OFFLINE_MODEL": "running"},
            "scripted",
        ),
        ({}, {"SIGNALBOX_MODEL_PROFILE": "deepseek"}, "generic-safe"),
    ],
)
async def test_a_client_speaks_its_endpoint_s_dialect(
    scripted: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    values: dict[str, Any],
    environment: dict[str, str],
    profile: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    client = cast("DialectChat", await Models().get(choice(scripted, **values)))
    assert client.dialect == PROFILES[profile]
    assert client.stream_usage is PROFILES[profile].stream_options
    assert (client.max_retries, client.use_responses_api) == (0, False)


async def test_silence_ends_an_answer_after_the_choice_s_timeout(scripted: Endpoint) -> None:
    client = cast("DialectChat", await Models().get(choice(scripted, timeout=7.0)))
    assert (client.request_timeout, client.stream_chunk_timeout) == (7.0, 7.0)


async def test_calls_in_the_text_are_not_streamed(scripted: Endpoint) -> None:
    client = cast("DialectChat", await Models().get(choice(scripted, profile="ollama")))
    assert client.disable_streaming == "tool_calling"


async def test_a_changed_profile_makes_another_client(
    scripted: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", scripted.url)
    models, asked = Models(), choice(scripted, base_url=None)
    first = await models.get(asked)
    assert await models.get(asked) is first
    monkeypatch.setenv("SIGNALBOX_MODEL_PROFILE", "deepseek")
    assert await models.get(asked) is not first


async def test_a_profile_that_does_not_exist_is_said(scripted: Endpoint) -> None:
    with pytest.raises(ModelUnavailable, match="no model profile 'opnai'; did you mean 'openai'"):
        await Models().get(choice(scripted, profile="opnai"))


@pytest.mark.parametrize(
    ("profile", "window"), [("ollama", 4096), ("deepseek", 128000), ("compatible", None)]
)
async def test_a_context_window_is_the_endpoint_s_and_not_of_a_namesake_at_openai(
    scripted: Endpoint, profile: str, window: int | None
) -> None:
    client = await Models().get(choice(scripted, name="openai:gpt-4o", profile=profile))
    assert (client.profile or {}).get("max_input_tokens") == window
    namesake = await Models().get(choice(scripted, name="openai:gpt-4o", profile="openai"))
    assert (namesake.profile or {}).get("max_input_tokens") == 128_000


# Repeating


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503])
async def test_a_failure_that_may_pass_is_asked_again(scripted: Endpoint, code: int) -> None:
    clock = Clock()
    talk = await scripted.script(Turn(status=code), Turn(status=code), Turn(content="yes"))
    assert await answer(Models(retry=clock.retry()), choice(scripted), talk) == "yes"
    assert len(await talk.requests()) == 3
    assert clock.waits == [0.5, 1.0]


async def test_three_times_and_no_more(scripted: Endpoint) -> None:
    """Case 87: one retry layer, so three requests are three and not nine."""
    clock = Clock()
    talk = await scripted.script(*[Turn(status=503, error="sk-123")] * 9)
    with pytest.raises(ModelUnavailable, match="'openai:main' failed") as caught:
        await answer(Models(retry=clock.retry()), choice(scripted), talk)
    assert len(await talk.requests()) == 3
    assert "sk-123" not in str(caught.value)
    assert isinstance(caught.value.__cause__, APIStatusError)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
async def test_a_refusal_is_asked_once_and_of_nobody_else(scripted: Endpoint, code: int) -> None:
    """B-150: authentication and validation errors never; case 87: a 400 is not an outage."""
    clock = Clock()
    talk = await scripted.script(Turn(status=code), Turn(content="never"))
    with pytest.raises(ModelUnavailable):
        await answer(Models(retry=clock.retry()), choice(scripted, "openai:spare"), talk)
    assert await asked_models(talk) == ["main"]
    assert clock.waits == []


async def test_the_endpoint_s_retry_after_is_honoured(scripted: Endpoint) -> None:
    clock = Clock()
    limit = RateLimit(call=1, retry_after=7)
    talk = await scripted.script(Turn(content="yes"), rate_limit_at=limit)
    told: list[Notice] = []
    assert await answer(Models(retry=clock.retry()), choice(scripted), talk, notice=told.append) == "yes"
    assert clock.waits == [7.0]
    assert told == [Notice("openai:main", 2, 7.0)]


async def test_a_date_is_honoured_too(scripted: Endpoint) -> None:
    clock = Clock()
    busy = Turn(status=429, headers={"retry-after": "Mon, 30 Nov 2026 12:00:09 GMT"})
    talk = await scripted.script(busy, Turn(content="yes"))
    assert await answer(Models(retry=clock.retry()), choice(scripted), talk) == "yes"
    assert clock.waits == [9.0]


@pytest.mark.parametrize(("patience", "seconds"), [(30.0, None), (None, 30.0), (60.0, 30.0), (None, None)])
async def test_a_wait_that_nobody_has_time_for_goes_to_the_fallback(
    scripted: Endpoint, patience: float | None, seconds: float | None
) -> None:
    """Case 87: the fallback answers now, the limited model would in a minute and a half."""
    clock = Clock()
    busy = Turn(status=429, headers={"retry-after": "90"})
    talk = await scripted.script(busy, Turn(content="spare"))
    asked = choice(scripted, "openai:spare", timeout=patience)
    assert await answer(Models(retry=clock.retry()), asked, talk, seconds=seconds) == "spare"
    assert await asked_models(talk) == ["main", "spare"]
    assert clock.waits == []


@pytest.mark.parametrize("cut", [0, 1, 2])
async def test_a_broken_connection_is_asked_again(scripted: Endpoint, cut: int) -> None:
    clock = Clock()
    talk = await scripted.script(Turn(content="one two three", cut_after_chunks=cut), Turn(content="yes"))
    assert await answer(Models(retry=clock.retry()), choice(scripted), talk) == "yes"
    assert len(await talk.requests()) == 2


# Fallbacks


async def test_fallbacks_are_asked_in_order_each_with_its_attempts(scripted: Endpoint) -> None:
    clock = Clock()
    talk = await scripted.script(*[Turn(status=500)] * 6, Turn(content="third"))
    asked = choice(scripted, "openai:spare", "openai:last")
    assert await answer(Models(retry=clock.retry()), asked, talk) == "third"
    assert await asked_models(talk) == ["main"] * 3 + ["spare"] * 3 + ["last"]


async def test_nobody_but_the_listed_is_asked_and_the_last_failure_is_told(scripted: Endpoint) -> None:
    clock = Clock()
    talk = await scripted.script(*[Turn(status=500)] * 3, *[Turn(status=429)] * 3, Turn(content="never"))
    with pytest.raises(ModelUnavailable, match="'openai:spare' is over its rate limit"):
        await answer(Models(retry=clock.retry()), choice(scripted, "openai:spare"), talk)
    assert await asked_models(talk) == ["main"] * 3 + ["spare"] * 3


async def test_a_used_up_quota_goes_to_the_fallback_at_once(scripted: Endpoint) -> None:
    clock = Clock()
    talk = await scripted.script(Turn(content="spare"))
    models = Models(retry=clock.retry())
    seen: list[str] = []

    async def ask(client: BaseChatModel) -> str:
        seen.append(str(cast("DialectChat", client).model_name))
        if len(seen) == 1:
            raise status(429, body={"code": "insufficient_quota"})
        return str((await client.ainvoke([HumanMessage(talk.says("go"))])).text)

    assert await models.answer(choice(scripted, "openai:spare"), ask) == "spare"
    assert (seen, clock.waits) == (["main", "spare"], [])


# Time


async def test_a_slow_first_byte_is_a_timeout_and_the_fallback_answers(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content="late", gate="slow"), Turn(content="spare"))
    asked = choice(scripted, "openai:spare", timeout=0.3)
    assert await answer(Models(retry=Clock().retry()), asked, talk) == "spare"
    assert await asked_models(talk) == ["main", "spare"]


async def test_a_slow_first_byte_without_a_fallback_is_said(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content="late", gate="slow"))
    with pytest.raises(ModelUnavailable, match="'openai:main' took too long"):
        await answer(Models(retry=Clock().retry(attempts=1)), choice(scripted, timeout=0.3), talk)
    assert len(await talk.requests()) == 1


async def test_the_whole_is_bounded_whatever_the_attempts_do(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content="late", gate="slow"), Turn(content="never"))
    with pytest.raises(ModelUnavailable, match="'openai:main' took too long"):
        await answer(Models(), choice(scripted, "openai:spare"), talk, seconds=0.3)
    assert await asked_models(talk) == ["main"]


async def test_a_timeout_of_the_caller_s_own_is_not_ours(scripted: Endpoint) -> None:
    async def ask(_: BaseChatModel) -> str:
        raise TimeoutError("the caller's")

    with pytest.raises(TimeoutError, match="the caller's"):
        await Models().answer(choice(scripted), ask, seconds=60)


async def test_a_cancelled_call_is_cancelled(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content="late", gate="slow"), Turn(content="never"))
    task = asyncio.create_task(answer(Models(), choice(scripted, "openai:spare"), talk))
    await talk.requests(wait_for=1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asked_models(talk) == ["main"]


async def test_a_fault_of_ours_is_not_dressed_up(scripted: Endpoint) -> None:
    async def ask(_: BaseChatModel) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Models().answer(choice(scripted, "openai:spare"), ask)


async def test_a_model_that_cannot_be_asked_is_said_without_a_call(scripted: Endpoint) -> None:
    with pytest.raises(ModelUnavailable, match="expected 'openai:<model>'"):
        await answer(Models(), choice(scripted, name="claude"), await scripted.script())
