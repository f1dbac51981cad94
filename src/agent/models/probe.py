"""What an endpoint really does, found out with a few tiny calls. It costs tokens, so only people start it.

The calls go out as plain HTTP, one habit each, without the client that would adapt them. A capability holds,
does not hold (the endpoint refused the request or ignored it), or is unknown (the call failed otherwise).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from agent.models.endpoint import Endpoint
from agent.offline.shape import parsed, record, records
from agent.profile import GENERIC, PROFILES, Profile

Capability = Literal[
    "models",
    "chat",
    "stream usage",
    "tools",
    "forced tool choice",
    "json_schema",
    "json_object",
    "max_completion_tokens",
]

_OPENAI = "https://api.openai.com/v1"
_SECONDS = 60.0
_LIMIT = 300  # tokens; models that think first need some
_REFUSED = frozenset({400, 404, 405, 415, 422, 501})
_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "report_number",
        "description": "Report a whole number.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
            "additionalProperties": False,
        },
    },
}
_SCHEMA: Mapping[str, Any] = {"name": "number", "schema": _TOOL["function"]["parameters"]}
_FORCED: Mapping[str, Any] = {"type": "function", "function": {"name": "report_number"}}
_ASKED = "Say the word ready."
_CALLED = "Call the tool report_number with the number 7."
_JSON = 'Answer with this JSON object: {"number": 7}'


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a capability holds (`None`: unknown), and what was seen."""

    capability: Capability
    holds: bool | None
    seen: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One call: what is sent beside model and messages, what is asked, and how success looks."""

    capability: Capability
    text: str
    fields: Mapping[str, Any]


TRIALS: tuple[Trial, ...] = (
    Trial("chat", _ASKED, {}),
    Trial("stream usage", _ASKED, {"stream": True, "stream_options": {"include_usage": True}}),
    Trial("tools", _CALLED, {"tools": [_TOOL]}),
    Trial("forced tool choice", _CALLED, {"tools": [_TOOL], "tool_choice": _FORCED}),
    Trial("json_schema", _JSON, {"response_format": {"type": "json_schema", "json_schema": _SCHEMA}}),
    Trial("json_object", _JSON, {"response_format": {"type": "json_object"}}),
    Trial("max_completion_tokens", _ASKED, {"max_completion_tokens": _LIMIT}),
)


async def probe(place: Endpoint, *, model: str, marker: str = "") -> list[Finding]:
    """Try every capability of a model, one call each; the key goes nowhere but into the requests.

    Args:
        place: The endpoint.
        model: The model's name without its provider.
        marker: Stands before each question; the tests' endpoint knows its script by it.
    """
    headers = {"Authorization": f"Bearer {place.key}"}
    url = (place.base_url or _OPENAI).rstrip("/")
    async with httpx.AsyncClient(headers=headers, timeout=_SECONDS) as client:
        found = [await _models(client, url)]
        for trial in TRIALS:
            found.append(await _tried(client, url, trial, model=model, marker=marker))
            if trial.capability == "chat" and not found[-1].holds:
                return found
    return found


def fitting(findings: Sequence[Finding], *, known: Profile) -> Profile:
    """The profile to use: `known` if it asks for nothing that does not hold, else the most capable such one.

    Reasoning that must be sent back and calls in the text can't be told by a few calls: profiles with those
    are only kept, never proposed.

    Args:
        findings: Of `probe`.
        known: What host and model's name say; the generic profile says nothing.
    """
    held = {finding.capability for finding in findings if finding.holds}
    if known.name != GENERIC and demands(known) <= held:
        return known
    fit = [profile for profile in PROFILES.values() if demands(profile) <= held]
    fit = [profile for profile in fit if not profile.echo_reasoning and not profile.text_tool_calls]
    return max(fit, key=lambda profile: len(demands(profile)))


def demands(profile: Profile) -> frozenset[Capability]:
    """The capabilities that an endpoint of this profile must have."""
    wanted: dict[Capability, bool] = {
        "stream usage": profile.stream_options,
        "forced tool choice": profile.forced_tool_choice,
        "json_schema": profile.structured == "json_schema",
        "json_object": profile.structured == "json_mode",
        "max_completion_tokens": profile.max_tokens == "max_completion_tokens",
    }
    return frozenset(name for name, asked in wanted.items() if asked)


async def _models(client: httpx.AsyncClient, url: str) -> Finding:
    try:
        answer = await client.get(f"{url}/models")
    except httpx.HTTPError as error:
        return Finding("models", None, _failure(error))
    if not answer.is_success:
        return _unsuccessful("models", answer)
    count = len(records(record(parsed(answer.text)).get("data")))
    return Finding("models", holds=count > 0, seen=f"{count} listed")


async def _tried(client: httpx.AsyncClient, url: str, trial: Trial, *, model: str, marker: str) -> Finding:
    question = f"{marker} {trial.text}".strip()
    body = {"model": model, "messages": [{"role": "user", "content": question}], **trial.fields}
    try:
        answer = await client.post(f"{url}/chat/completions", json=body)
    except httpx.HTTPError as error:
        return Finding(trial.capability, None, _failure(error))
    if not answer.is_success:
        return _unsuccessful(trial.capability, answer)
    return _judged(trial.capability, answer.text)


def _unsuccessful(capability: Capability, answer: httpx.Response) -> Finding:
    refused = answer.status_code in _REFUSED
    seen = f"refused ({answer.status_code})" if refused else f"failed ({answer.status_code})"
    return Finding(capability, False if refused else None, seen)


def _judged(capability: Capability, text: str) -> Finding:
    if capability == "stream usage":
        pieces = [record(parsed(line[5:].strip())) for line in text.splitlines() if line.startswith("data:")]
        found = any(record(piece.get("usage")) for piece in pieces)
        return Finding(capability, holds=found, seen="usage came" if found else "no usage came")
    choices = records(record(parsed(text)).get("choices"))
    message = record(choices[0].get("message")) if choices else {}
    if capability in ("tools", "forced tool choice"):
        called = bool(records(message.get("tool_calls")))
        return Finding(
            capability, holds=called, seen="called the tool" if called else "did not call the tool"
        )
    if capability in ("json_schema", "json_object"):
        given = record(parsed(str(message.get("content"))))
        fits = given == {"number": 7} if capability == "json_schema" else bool(given)
        return Finding(capability, holds=fits, seen="valid" if fits else "the answer is not as asked for")
    answered = bool(choices)
    return Finding(capability, holds=answered, seen="answered" if answered else "no choice in the answer")


def _failure(error: httpx.HTTPError) -> str:
    return "timed out" if isinstance(error, httpx.TimeoutException) else "no connection"
