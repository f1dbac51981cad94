"""The kinds of text in catalog files, each checked and described once.

A check returns the text as it was written, or raises `ValueError` with what was expected. What may hold a
secret (references, URLs, digests) is never repeated in a message.
"""

from __future__ import annotations

import re
import zoneinfo
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, WithJsonSchema

from agent import predicate
from agent.profile import PROFILES
from assistants.loading import cron, duration
from assistants.loading.suggestion import did_you_mean
from assistants.loading.wording import shown
from assistants.principal import SERVICE

PROVIDERS: Final = ("openai",)
"""The providers of model names; every endpoint is spoken to in OpenAI's protocol (`agent.models`)."""

PLATFORM_VARIABLES: Final = (
    "SIGNALBOX_",
    "LANGGRAPH_",
    "LANGSMITH_",
    "LANGCHAIN_",
    "DATABASE_",
    "REDIS_",
    "OPENAI_",
)
"""How the environment variables begin that hold the platform's own secrets."""

_SLUG: Final = r"[a-z0-9][a-z0-9-]{0,62}"
_NAME: Final = r"[a-z][a-z0-9_]{0,62}"
_VARIABLE: Final = r"[A-Z][A-Z0-9_]{0,126}"
_USER: Final = r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}"
_SHA256: Final = r"[0-9a-f]{64}"
_UPGRADE: Final = rf"stay|thread|turn|idle>{duration.PATTERN}"


def slug(text: str) -> str:
    """A name that is safe in file names, URLs and identities."""
    if not re.fullmatch(_SLUG, text):
        raise ValueError(
            f"expected lower-case letters, digits and '-', at most 63, no '-' first, got {shown(text)}"
        )
    return text


def model_name(text: str) -> str:
    """`provider:model`, with a provider that is known."""
    provider, separator, model = text.partition(":")
    if not separator or not model or re.search(r"\s", text) or len(text) > 200:
        raise ValueError(f"expected provider:model such as openai:gpt-5-mini, got {shown(text)}")
    if provider not in PROVIDERS:
        raise ValueError(f"unknown provider {shown(provider)}{did_you_mean(provider, PROVIDERS)}")
    return text


def profile_name(text: str) -> str:
    """An endpoint profile that there is (`agent.profile`)."""
    if text not in PROFILES:
        raise ValueError(f"unknown profile {shown(text)}{did_you_mean(text, PROFILES)}")
    return text


def base_url(text: str) -> str:
    """An endpoint's URL, which holds no credentials."""
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not text.isascii() or re.search(r"[\s@?#\\\x00-\x1f]", text):
        raise ValueError(
            "expected an http or https URL such as https://models.example.com/v1, without credentials, "
            "query or fragment"
        )
    return text


def secret_name(text: str) -> str:
    """The name of a tenant's secret."""
    if not re.fullmatch(_NAME, text):
        raise ValueError("expected a secret's name: lower-case letters, digits and '_', a letter first")
    return text


def secret_reference(text: str) -> str:
    """`secret:NAME`, a secret of the tenant's file."""
    if not re.fullmatch(rf"secret:{_NAME}", text):
        raise ValueError("expected secret:NAME, naming an entry of secrets in the tenant's file")
    return text


def variable_reference(text: str) -> str:
    """`env:NAME`, an environment variable that is not the platform's."""
    if not re.fullmatch(rf"env:{_VARIABLE}", text):
        raise ValueError("expected env:NAME, naming an environment variable in upper-case letters")
    if text.removeprefix("env:").startswith(PLATFORM_VARIABLES):
        raise ValueError("expected an environment variable of the tenant's own, not one of the platform")
    return text


def digest(text: str) -> str:
    """A sha256 in hexadecimal."""
    if not re.fullmatch(_SHA256, text):
        raise ValueError("expected a sha256: 64 lower-case hexadecimal digits")
    return text


def user_name(text: str) -> str:
    """The user that an API key acts as."""
    if text == SERVICE:
        raise ValueError(f"the user {SERVICE!r} is reserved for schedules; choose another")
    if not re.fullmatch(_USER, text):
        raise ValueError(f"expected letters, digits and . _ @ + -, at most 128, got {shown(text)}")
    return text


def time_zone(text: str) -> str:
    """A time zone of the IANA database."""
    try:
        zoneinfo.ZoneInfo(text)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"unknown time zone {shown(text)}{did_you_mean(text, zoneinfo.available_timezones())}"
        ) from None
    return text


def lifetime(text: str) -> str:
    """A duration such as `24h`."""
    try:
        duration.seconds(text)
    except ValueError as error:
        raise ValueError(f"{error}, got {shown(text)}") from None
    return text


def condition(text: str) -> str:
    """A predicate over a tool's arguments."""
    try:
        predicate.parse(text)
    except predicate.PredicateInvalid as error:
        raise ValueError(f"{error.detail}, in {shown(text)}") from None
    return text


def timetable(text: str) -> str:
    """A cron expression of five fields."""
    try:
        cron.parse(text)
    except ValueError as error:
        raise ValueError(f"{error}, in {shown(text)}") from None
    return text


def upgrade_rule(text: str) -> str:
    """When an idle thread moves to a newer release."""
    if text.startswith("idle>"):
        lifetime(text.removeprefix("idle>"))
    elif text not in ("stay", "thread", "turn"):
        raise ValueError(f"expected stay, thread, turn or idle>DURATION such as idle>24h, got {shown(text)}")
    return text


def _described(pattern: str) -> WithJsonSchema:
    schema: dict[str, Any] = {"type": "string", "pattern": f"^(?:{pattern})$"}
    return WithJsonSchema(schema)


Slug = Annotated[str, AfterValidator(slug), _described(_SLUG)]
ModelName = Annotated[str, AfterValidator(model_name), _described(rf"(?:{'|'.join(PROVIDERS)}):\S+")]
BaseUrl = Annotated[str, AfterValidator(base_url), _described(r"https?://[^\s@?#\\]+")]
ProfileName = Annotated[str, AfterValidator(profile_name), _described("|".join(PROFILES))]
SecretName = Annotated[str, AfterValidator(secret_name), _described(_NAME)]
SecretReference = Annotated[str, AfterValidator(secret_reference), _described(f"secret:{_NAME}")]
VariableReference = Annotated[str, AfterValidator(variable_reference), _described(f"env:{_VARIABLE}")]
Sha256 = Annotated[str, AfterValidator(digest), _described(_SHA256)]
User = Annotated[str, AfterValidator(user_name), _described(_USER)]
TimeZone = Annotated[str, AfterValidator(time_zone)]
Lifetime = Annotated[str, AfterValidator(lifetime), _described(duration.PATTERN)]
Condition = Annotated[str, AfterValidator(condition)]
Timetable = Annotated[str, AfterValidator(timetable)]
Upgrade = Annotated[str, AfterValidator(upgrade_rule), _described(_UPGRADE)]
