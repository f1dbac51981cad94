"""Model calls tell names and numbers."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult

from agent.models.usage import ESTIMATED
from agent.telemetry.chat import Answer, answered, requested


def result(**fields: Any) -> LLMResult:
    message = AIMessage.model_validate({"content": "a secret", **fields})
    return LLMResult(generations=[[ChatGeneration(message=message)]])


def test_a_request_tells_its_model_and_settings() -> None:
    parameters = {"model": "gpt-5-mini", "tools": [{"secret": 1}], "stop": ["secret"]}
    metadata = {"ls_provider": "openai", "ls_temperature": 0.5, "ls_max_tokens": 100, "secret": "secret"}
    assert requested(parameters, metadata) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 100,
    }


def test_a_request_without_settings_tells_what_there_is() -> None:
    assert requested({}, {"ls_model_name": "local", "ls_temperature": None}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "local",
    }


def test_an_answer_tells_its_usage_and_how_it_ended() -> None:
    usage = {
        "input_tokens": 11,
        "output_tokens": 5,
        "total_tokens": 16,
        "input_token_details": {"cache_read": 4},
        "output_token_details": {"reasoning": 2},
    }
    about = {"finish_reason": "stop", "model_name": "gpt-5-mini-2026-01-01", "id": "secret"}
    assert answered(result(usage_metadata=usage, response_metadata=about)) == Answer(
        11,
        5,
        {
            "signalbox.usage.estimated": False,
            "gen_ai.response.finish_reasons": ("stop",),
            "gen_ai.response.model": "gpt-5-mini-2026-01-01",
            "gen_ai.usage.input_tokens": 11,
            "gen_ai.usage.output_tokens": 5,
            "gen_ai.usage.cache_read.input_tokens": 4,
            "gen_ai.usage.reasoning.output_tokens": 2,
        },
    )


def test_an_estimate_says_so() -> None:
    usage = {"input_tokens": 1, "output_tokens": 0, "total_tokens": 1}
    answer = answered(result(usage_metadata=usage, response_metadata={ESTIMATED: True}))
    assert answer.attributes["signalbox.usage.estimated"] is True
    assert (answer.input_tokens, answer.output_tokens) == (1, 0)


def test_what_an_endpoint_makes_up_is_not_told() -> None:
    about = {"finish_reason": "because Ann said so", "model_name": "the model that Ann likes"}
    assert answered(result(response_metadata=about)) == Answer(
        0,
        0,
        {
            "signalbox.usage.estimated": False,
            "gen_ai.response.finish_reasons": ("_OTHER",),
            "gen_ai.response.model": "_OTHER",
        },
    )


@pytest.mark.parametrize(
    "generations",
    [[], [[]], [[Generation(text="x")]], [[ChatGeneration(message=HumanMessage("x"))]]],
)
def test_an_answer_without_a_message_of_a_model_tells_nothing(generations: Any) -> None:
    assert answered(LLMResult(generations=generations)) == Answer()
