"""Where requests of a `ModelChoice` go, and with which key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.context import ModelChoice
from agent.errors import ModelUnavailable

_PROVIDER = "openai"
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
