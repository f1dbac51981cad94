"""Endpoint profiles: how an endpoint that calls itself OpenAI-compatible differs, as data.

`profiles.json` holds the profiles by name, and patterns that find one by host and model. An assistant may
name a profile itself (`model.profile` in its file); whoever runs the deployment may name one for the
deployment's own endpoint (`SIGNALBOX_MODEL_PROFILE`). An endpoint that nothing matches gets `generic-safe`,
which asks for nothing that some endpoint is known to refuse. `signalbox probe` finds out which profile fits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agent.errors import ModelUnavailable

Structured = Literal["json_schema", "function_calling", "json_mode"]
CallContent = Literal["null", "empty", "words"]
MaxTokens = Literal["max_completion_tokens", "max_tokens"]

GENERIC = "generic-safe"
"""The profile of endpoints about which nothing is known."""

OFFLINE = "scripted"
"""The profile of this project's own endpoints: the offline model and the tests' script."""

_OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Profile:
    """The dialect of an endpoint.

    Attributes:
        structured: The way in which it gives an answer in a schema.
        forced_tool_choice: Whether `tool_choice` may be anything but `auto` and `none`.
        parallel_tool_calls: Whether it knows the parameter of that name.
        call_content: The content of an assistant message that only calls tools: `null`, `""`, or words (for
            endpoints that refuse one of them; words are accepted by all).
        max_tokens: The parameter that limits the answer.
        stream_options: Whether it knows the parameter; without it no usage comes with a stream.
        reasoning_field: Where a message holds the model's reasoning; `None` drops it.
        echo_reasoning: Whether messages that call tools must bring the reasoning back; else it is never sent.
        text_tool_calls: Whether a call may come as text (`<tool_call>…`, a fenced block) and is then read.
        context_window: Tokens that a request may hold; `None` is unknown.
    """

    name: str
    structured: Structured
    forced_tool_choice: bool
    parallel_tool_calls: bool
    call_content: CallContent
    max_tokens: MaxTokens
    stream_options: bool
    reasoning_field: str | None
    echo_reasoning: bool
    text_tool_calls: bool
    context_window: int | None


class _Pattern(BaseModel):
    """Shell patterns for a URL's `host` (or `host:port`) and for a model's name; what is there must match."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: str
    host: str = "*"
    model: str = "*"


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    profiles: dict[str, dict[str, object]]
    endpoints: list[_Pattern] = Field(min_length=1)


def _read() -> tuple[Mapping[str, Profile], tuple[_Pattern, ...]]:
    data = _Data.model_validate_json(files("agent").joinpath("profiles.json").read_text("utf-8"))
    adapter = TypeAdapter(Profile)
    profiles = {
        name: adapter.validate_json(json.dumps({"name": name, **values}), strict=True)
        for name, values in data.profiles.items()
    }
    return profiles, tuple(data.endpoints)


PROFILES, _PATTERNS = _read()


def named(name: str) -> Profile:
    """The profile of that name.

    Raises:
        ModelUnavailable: There is none.
    """
    try:
        return PROFILES[name]
    except KeyError:
        near = get_close_matches(name, PROFILES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {sorted(PROFILES)!r}."
        raise ModelUnavailable(f"There is no model profile {name!r}; {hint}") from None


def matched(base_url: str | None, *, model: str) -> Profile:
    """The profile whose pattern fits first; `generic-safe` when none does.

    Args:
        base_url: The endpoint; `None` is OpenAI's own.
        model: The model's name without its provider.
    """
    parts = urlsplit(base_url or _OPENAI)
    host = (parts.hostname or "").lower()
    hosts = (host, f"{host}:{parts.port}")
    for pattern in _PATTERNS:
        if fnmatchcase(model.lower(), pattern.model) and any(fnmatchcase(h, pattern.host) for h in hosts):
            return PROFILES[pattern.profile]
    return PROFILES[GENERIC]


def chosen(
    profile: str | None,
    *,
    base_url: str | None,
    model: str,
    shared: bool,
    environment: Mapping[str, str],
) -> Profile:
    """The profile of a choice: the one it names, the deployment's, or the one that matches.

    Args:
        profile: What the assistant's file names.
        base_url: The endpoint; `None` is OpenAI's own.
        model: The model's name without its provider.
        shared: Whether the endpoint is the deployment's, for which the environment may speak.
        environment: `SIGNALBOX_MODEL_PROFILE` names a profile; `SIGNALBOX_OFFLINE_MODEL=running` says that
            the offline model answers.

    Raises:
        ModelUnavailable: A profile that does not exist is named.
    """
    if profile is not None:
        return named(profile)
    if shared and (ours := environment.get("SIGNALBOX_MODEL_PROFILE")):
        return named(ours)
    if shared and environment.get("SIGNALBOX_OFFLINE_MODEL") == "running":
        return PROFILES[OFFLINE]
    return matched(base_url, model=model)
