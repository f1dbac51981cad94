"""What a model call may tell: names and numbers, by OpenTelemetry's conventions for generative AI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from agent.models.usage import ESTIMATED
from agent.telemetry.outcome import OTHER, identifier

Value = str | int | float | bool | tuple[str, ...]

_FINISHES = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answered call used (tokens), and its span's attributes."""

    input_tokens: int = 0
    output_tokens: int = 0
    attributes: Mapping[str, Value] = field(default_factory=dict[str, Value])


def requested(parameters: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Value]:
    """The attributes of a request.

    Args:
        parameters: LangChain's `invocation_params` of the call.
        metadata: Its metadata, with LangChain's `ls_…` keys.
    """
    found = {
        "gen_ai.provider.name": metadata.get("ls_provider"),
        "gen_ai.request.model": parameters.get("model") or metadata.get("ls_model_name"),
        "gen_ai.request.temperature": metadata.get("ls_temperature"),
        "gen_ai.request.max_tokens": metadata.get("ls_max_tokens"),
    }
    return {
        "gen_ai.operation.name": "chat",
        **{key: value for key, value in found.items() if isinstance(value, str | int | float)},
    }


def answered(result: LLMResult) -> Answer:
    """The answer's tokens and attributes; an endpoint that reports no usage is said to be estimated."""
    message = _message(result)
    if message is None:
        return Answer()
    about = message.response_metadata
    attributes: dict[str, Value] = {"signalbox.usage.estimated": bool(about.get(ESTIMATED))}
    if finish := about.get("finish_reason"):
        attributes["gen_ai.response.finish_reasons"] = (finish if finish in _FINISHES else OTHER,)
    if model := about.get("model_name"):
        attributes["gen_ai.response.model"] = identifier(str(model))
    usage = message.usage_metadata
    if usage is None:
        return Answer(attributes=attributes)
    spent, written = usage["input_tokens"], usage["output_tokens"]
    details = {
        "gen_ai.usage.input_tokens": spent,
        "gen_ai.usage.output_tokens": written,
        "gen_ai.usage.cache_read.input_tokens": usage.get("input_token_details", {}).get("cache_read"),
        "gen_ai.usage.reasoning.output_tokens": usage.get("output_token_details", {}).get("reasoning"),
    }
    attributes.update({key: value for key, value in details.items() if value is not None})
    return Answer(spent, written, attributes)


def _message(result: LLMResult) -> AIMessage | None:
    for generations in result.generations:
        for generation in generations:
            if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
                return generation.message
    return None
