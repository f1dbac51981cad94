"""Chat models by name: `ChatOpenAI` against any OpenAI-compatible endpoint.

`Endpoint` is where requests of a `ModelChoice` go and with which key; `Models` builds and keeps the clients.
A key never leaves this module: it is looked up when the client is built and is not part of any message.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from agent.context import ModelChoice
from agent.errors import ModelUnavailable

_PROVIDER = "openai"
_DEFAULT_TIMEOUT = 60.0
_PLATFORM = ("OPENAI_", "SIGNALBOX_")  # beginnings of variables that no assistant's endpoint may be sent
_NO_KEY = "none"  # OpenAI's client insists on a key; endpoints that need none ignore it


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model's requests go: `base_url` (`None` is OpenAI's own) and the key, never printed."""

    base_url: str | None
    key: str = field(repr=False)


def endpoint(choice: ModelChoice, environment: Mapping[str, str]) -> Endpoint:
    """The endpoint for `choice`: its own `base_url` and key reference, else the deployment's.

    The deployment's key is only ever sent to the deployment's endpoint.

    Raises:
        ModelUnavailable: No endpoint is configured, or a referenced key is not set.
    """
    if choice.base_url is not None:
        return Endpoint(choice.base_url, _referenced(choice, environment))
    base_url = environment.get("OPENAI_BASE_URL") or None
    key = environment.get("OPENAI_API_KEY") or None
    if base_url is None and key is None:
        raise ModelUnavailable(
            f"No endpoint is configured for model {choice.name!r}; set OPENAI_API_KEY, or OPENAI_BASE_URL "
            "for another OpenAI-compatible endpoint, or start with the offline model."
        )
    return Endpoint(base_url, key or _NO_KEY)


def model_name(name: str) -> str:
    """`openai:gpt-5-mini` → `gpt-5-mini`.

    Raises:
        ModelUnavailable: Another provider, or no provider.
    """
    provider, separator, model = name.partition(":")
    if provider != _PROVIDER or not separator or not model:
        raise ModelUnavailable(f"Model {name!r} is not usable; expected 'openai:<model>'.")
    return model


class Models:
    """The chat clients of a process, one for each choice and endpoint."""

    def __init__(self) -> None:
        self._clients: dict[str, BaseChatModel] = {}

    async def get(self, choice: ModelChoice) -> BaseChatModel:
        """The client for `choice`; built in a thread, because it reads certificates from disk.

        Raises:
            ModelUnavailable: See `endpoint` and `model_name`.
        """
        place = endpoint(choice, os.environ)
        identity = repr((choice, place.base_url, hashlib.sha256(place.key.encode()).hexdigest()))
        if identity not in self._clients:
            self._clients[identity] = await asyncio.to_thread(_build, choice, place)
        return self._clients[identity]


def candidates(choice: ModelChoice) -> list[ModelChoice]:
    """The choice and then its fallbacks, in order; a fallback keeps every setting but the name."""
    names = (choice.name, *choice.fallbacks)
    return [replace_name(choice, name) for name in dict.fromkeys(names)]


def replace_name(choice: ModelChoice, name: str) -> ModelChoice:
    """The same choice of settings for another model, without fallbacks."""
    return choice.model_copy(update={"name": name, "fallbacks": ()})


def _referenced(choice: ModelChoice, environment: Mapping[str, str]) -> str:
    if choice.api_key is None:
        return _NO_KEY
    scheme, _, name = choice.api_key.partition(":")
    if name.startswith(_PLATFORM):
        raise ModelUnavailable(
            f"The key {choice.api_key!r} of model {choice.name!r} is the platform's; name one of the tenant."
        )
    value = environment.get(name) if scheme == "env" else None
    if not value:
        raise ModelUnavailable(
            f"The key {choice.api_key!r} of model {choice.name!r} is not set on the server."
        )
    return value


def _build(choice: ModelChoice, place: Endpoint) -> BaseChatModel:
    return ChatOpenAI(
        model=model_name(choice.name),
        base_url=place.base_url,
        api_key=SecretStr(place.key),
        temperature=choice.temperature,
        max_completion_tokens=choice.max_tokens,
        timeout=choice.timeout or _DEFAULT_TIMEOUT,
        max_retries=2,
        # Chat Completions everywhere: some model names switch ChatOpenAI to /v1/responses, which most
        # compatible endpoints lack, and without the flag no usage comes from a custom base_url.
        use_responses_api=False,
        stream_usage=True,
    )
