from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from typing import cast

import pytest
from langchain_openai import ChatOpenAI
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from agent.context import ModelChoice
from agent.errors import ModelUnavailable
from agent.models import Endpoint, Models, candidates, endpoint, model_name, replace_name
from tests.unit.server.listener import listening

pytestmark = pytest.mark.anyio

DEPLOYMENT = {"OPENAI_BASE_URL": "https://models.deployment.example/v1", "OPENAI_API_KEY": "sk-deployment"}
TENANT_URL = "https://models.tenant.example/v1"


def choice(**values: object) -> ModelChoice:
    return ModelChoice.model_validate({"name": "openai:gpt-5-mini", **values})


class Endpoints:
    """An OpenAI-compatible endpoint that keeps what it was sent."""

    def __init__(self) -> None:
        self.headers: list[Mapping[str, str]] = []
        self.bodies: list[Mapping[str, object]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        self.bodies.append(json.loads(body))
        answer = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}
        reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [answer]}
        await JSONResponse(reply)(scope, receive, send)


@pytest.fixture(autouse=True)
def _no_endpoint_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_API_BASE",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
    ):
        monkeypatch.delenv(name, raising=False)


# Where requests go


def test_an_assistant_without_an_endpoint_uses_the_deployment_s() -> None:
    assert endpoint(choice(), DEPLOYMENT) == Endpoint(DEPLOYMENT["OPENAI_BASE_URL"], "sk-deployment")


def test_a_key_alone_means_openai_itself() -> None:
    assert endpoint(choice(), {"OPENAI_API_KEY": "sk-1"}) == Endpoint(None, "sk-1")


def test_an_endpoint_that_needs_no_key_gets_a_word_in_its_place() -> None:
    assert endpoint(choice(), {"OPENAI_BASE_URL": TENANT_URL}) == Endpoint(TENANT_URL, "none")
    assert endpoint(choice(), {"OPENAI_BASE_URL": TENANT_URL, "OPENAI_API_KEY": ""}).key == "none"


def test_the_deployment_s_key_does_not_go_to_an_assistant_s_own_endpoint() -> None:
    found = endpoint(choice(base_url=TENANT_URL), DEPLOYMENT)
    assert found == Endpoint(TENANT_URL, "none")


def test_an_assistant_s_own_endpoint_gets_the_key_that_it_names() -> None:
    found = endpoint(
        choice(base_url=TENANT_URL, api_key="env:ACME_KEY"), {**DEPLOYMENT, "ACME_KEY": "sk-acme"}
    )
    assert found == Endpoint(TENANT_URL, "sk-acme")


def test_the_deployment_s_key_cannot_be_named_for_another_endpoint() -> None:
    for base_url in (TENANT_URL, "https://evil.example/v1"):
        with pytest.raises(ModelUnavailable) as caught:
            endpoint(choice(base_url=base_url, api_key="env:OPENAI_API_KEY"), DEPLOYMENT)
        assert "sk-deployment" not in str(caught.value)


@pytest.mark.parametrize("name", ["SIGNALBOX_SERVER_SECRET", "SIGNALBOX_JWT_SECRET"])
def test_the_server_s_secrets_are_no_keys(name: str) -> None:
    with pytest.raises(ModelUnavailable):
        endpoint(choice(base_url=TENANT_URL, api_key=f"env:{name}"), {**DEPLOYMENT, name: "the secret"})


@pytest.mark.parametrize(
    "reference",
    ["env:ACME_KEY", "env:", "env", "ACME_KEY", "file:/etc/key", "sk-acme", "ENV:SET", "env: SET"],
)
def test_a_reference_that_gives_no_key_is_an_error_that_does_not_fall_back(reference: str) -> None:
    with pytest.raises(ModelUnavailable, match="is not set on the server") as caught:
        endpoint(
            choice(base_url=TENANT_URL, api_key=reference), {**DEPLOYMENT, "SET": "sk-set", "ACME_KEY": ""}
        )
    assert repr(reference) in str(caught.value)
    assert "sk-" not in str(caught.value).replace(reference, "")


@pytest.mark.parametrize("environment", [{}, {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}])
def test_a_deployment_without_an_endpoint_says_what_to_set(environment: dict[str, str]) -> None:
    with pytest.raises(
        ModelUnavailable, match=r"'openai:gpt-5-mini'; set OPENAI_API_KEY, or OPENAI_BASE_URL"
    ):
        endpoint(choice(), environment)


def test_a_key_is_never_printed() -> None:
    found = endpoint(choice(), DEPLOYMENT)
    assert "sk-deployment" not in repr(found)
    assert DEPLOYMENT["OPENAI_BASE_URL"] in repr(found)


# Which model


def test_a_name_is_the_provider_and_the_model() -> None:
    assert model_name("openai:gpt-5-mini") == "gpt-5-mini"
    assert model_name("openai:meta/llama:70b") == "meta/llama:70b"


@pytest.mark.parametrize(
    "name", ["gpt-5-mini", "openai:", "openai", ":gpt-5", "anthropic:claude", "", "OpenAI:x"]
)
def test_another_provider_or_none_is_an_error(name: str) -> None:
    with pytest.raises(ModelUnavailable, match="expected 'openai:<model>'"):
        model_name(name)


def test_fallbacks_come_after_the_choice_once_each_and_keep_its_settings() -> None:
    asked = choice(
        temperature=0.5,
        base_url=TENANT_URL,
        fallbacks=("openai:b", "openai:gpt-5-mini", "openai:b", "openai:c"),
    )
    found = candidates(asked)
    assert [one.name for one in found] == ["openai:gpt-5-mini", "openai:b", "openai:c"]
    for one in found:
        assert one == choice(name=one.name, temperature=0.5, base_url=TENANT_URL)


def test_a_choice_without_fallbacks_is_its_only_candidate() -> None:
    assert candidates(choice()) == [choice()]


def test_another_name_keeps_everything_but_the_fallbacks() -> None:
    asked = choice(max_tokens=5, api_key="env:A", fallbacks=("openai:b",))
    assert replace_name(asked, "openai:z") == choice(name="openai:z", max_tokens=5, api_key="env:A")
    assert asked.fallbacks == ("openai:b",)


# The clients


async def built(models: Models, asked: ModelChoice) -> ChatOpenAI:
    return cast("ChatOpenAI", await models.get(asked))


async def test_a_client_has_the_choice_s_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-deployment")
    client = await built(
        Models(), choice(name="openai:gpt-4.1-mini", temperature=0.2, max_tokens=7, timeout=3.0)
    )
    assert (client.model_name, client.temperature, client.max_tokens) == ("gpt-4.1-mini", 0.2, 7)
    assert (client.request_timeout, client.use_responses_api, client.stream_usage) == (3.0, False, True)


async def test_a_client_gives_up_after_a_minute_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-deployment")
    client = await built(Models(), choice())
    assert client.request_timeout == 60.0
    assert client.max_retries == 0


async def test_a_client_is_built_once_for_a_choice_and_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    models = Models()
    first = await built(models, choice())
    assert await built(models, choice()) is first
    other = await built(models, choice(temperature=0.1))
    assert other is not first
    monkeypatch.setenv("OPENAI_API_KEY", "sk-two")
    renewed = await built(models, choice())
    assert renewed is not first
    monkeypatch.setenv("OPENAI_BASE_URL", TENANT_URL)
    moved = await built(models, choice())
    assert moved is not renewed
    assert moved.openai_api_base == TENANT_URL
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    assert await built(models, choice()) is first


async def test_many_who_ask_at_once_get_working_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    models = Models()
    found = await asyncio.gather(*(built(models, choice()) for _ in range(8)))
    assert {client.model_name for client in found} == {"gpt-5-mini"}
    assert await built(models, choice()) in found


async def test_a_client_is_not_built_on_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    threads: list[int] = []
    build = ChatOpenAI.__init__

    def noted(self: ChatOpenAI, *args: object, **values: object) -> None:
        threads.append(threading.get_ident())
        build(self, *args, **values)

    monkeypatch.setattr(ChatOpenAI, "__init__", noted)
    await built(Models(), choice())
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


async def test_a_key_is_in_no_representation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-deployment")
    models = Models()
    client = await built(models, choice())
    assert client.openai_api_key is not None
    for text in (repr(client), str(client), str(vars(models)), json.dumps(client.lc_attributes, default=str)):
        assert "sk-deployment" not in text


async def test_a_choice_that_cannot_be_served_builds_nothing() -> None:
    models = Models()
    with pytest.raises(ModelUnavailable, match="No endpoint is configured"):
        await models.get(choice())
    with pytest.raises(ModelUnavailable, match="expected 'openai:<model>'"):
        await models.get(choice(name="claude", base_url=TENANT_URL))


async def test_each_endpoint_is_sent_its_own_key_and_never_the_other_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = Endpoints(), Endpoints()
    monkeypatch.setenv("ACME_KEY", "sk-acme")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-deployment")
    async with listening(ours) as url, listening(theirs) as tenant_url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        models = Models()
        for asked in (
            choice(),
            choice(base_url=f"{tenant_url}/v1", api_key="env:ACME_KEY"),
            choice(base_url=f"{tenant_url}/v1"),
        ):
            client = await models.get(asked)
            assert (await client.ainvoke("hello?")).content == "hello"
    assert [sent["authorization"] for sent in ours.headers] == ["Bearer sk-deployment"]
    assert [sent["authorization"] for sent in theirs.headers] == ["Bearer sk-acme", "Bearer none"]
    assert "sk-deployment" not in json.dumps([theirs.headers, theirs.bodies])
    assert "sk-acme" not in json.dumps([ours.headers, ours.bodies])
    assert [body["model"] for body in theirs.bodies] == ["gpt-5-mini", "gpt-5-mini"]
