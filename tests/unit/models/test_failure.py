from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from inline_snapshot import snapshot
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, OpenAIError

from agent.models.failure import AnswerCut, AnswerStalled, repeatable, retry_after, transient, unavailable

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def status(code: int, *, body: object = None, **headers: str) -> APIStatusError:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    response: Any = httpx.Response(code, request=request(), headers=sent)
    return APIStatusError("secret text", response=response, body=body)


def request() -> Any:
    return httpx.Request("POST", "http://x")


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_busy_or_broken_endpoint_may_recover(code: int) -> None:
    assert transient(status(code))
    assert repeatable(status(code))


@pytest.mark.parametrize("code", [400, 401, 402, 403, 404, 405, 413, 422])
def test_a_refused_request_or_key_will_be_refused_again(code: int) -> None:
    """B-150: authentication and validation errors are never repeated."""
    assert not transient(status(code))
    assert not repeatable(status(code))


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (APIConnectionError(request=request()), True),
        (APITimeoutError(request=request()), True),
        (APIError("overloaded", request=request(), body=None), True),
        (AnswerCut("cut"), True),
        (AnswerStalled("stalled"), True),
        (ModelRateLimitError("x"), True),
        (ModelAPIError("x"), True),
        (ModelConnectionError("x"), True),
        (ModelTimeoutError("x"), True),
        (ModelAuthenticationError("x"), False),
        (ModelPermissionDeniedError("x"), False),
        (ModelInvalidRequestError("x"), False),
        (ModelNotFoundError("x"), False),
        (ContextOverflowError("x"), False),
        (OpenAIError("x"), False),
        (ValueError("x"), False),
        (TimeoutError("x"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_may_pass(error: Exception, passes: bool) -> None:  # noqa: FBT001
    assert transient(error) is passes
    assert repeatable(error) is passes


def test_a_quota_that_is_used_up_is_for_a_fallback_not_for_patience() -> None:
    spent = status(429, body={"code": "insufficient_quota"})
    assert transient(spent)
    assert not repeatable(spent)
    assert repeatable(status(429, body={"code": "rate_limit_exceeded"}))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "2"}, 2.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after": "0.25"}, 0.25),
        ({"retry_after": "-3"}, 0.0),
        ({"retry_after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry_after": "Mon, 30 Nov 2026 11:59:00 GMT"}, 0.0),
        ({"retry_after": "Mon, 30 Nov 2026 12:00:30 -0000"}, 30.0),
        ({"retry_after": "30 Nov 2026 13:00:05 +0100"}, 5.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": ""}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after_ms": "x", "retry_after": "9"}, 9.0),
        ({}, None),
    ],
)
def test_when_the_endpoint_wants_to_be_asked_again(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(status(429, **headers), now=NOW) == seconds


def test_a_failure_without_a_response_says_no_time() -> None:
    assert retry_after(APIConnectionError(request=request()), now=NOW) is None
    assert retry_after(ModelRateLimitError("x"), now=NOW) is None


def test_each_new_kind_of_failure_has_its_words_and_none_of_the_provider_s() -> None:
    kinds = (AnswerCut, AnswerStalled, ModelNotFoundError, ContextOverflowError, ModelInvalidRequestError)
    said = {kind.__name__: unavailable("openai:one", kind("at https://x sk-123")).detail for kind in kinds}
    assert not any("sk-123" in text for text in said.values())
    assert {
        kind: text.partition("'openai:one' ")[2].partition(". Nothing")[0] for kind, text in said.items()
    } == snapshot(
        {
            "AnswerCut": "broke off its answer",
            "AnswerStalled": "took too long",
            "ModelNotFoundError": "does not know the model; check its name in the assistant's file",
            "ContextOverflowError": "can't read a conversation of this length",
            "ModelInvalidRequestError": "refused the request; 'signalbox probe' shows which profile fits it",
        }
    )


def test_the_turn_s_own_timeout_is_a_timeout() -> None:
    assert "took too long" in unavailable("m", TimeoutError()).detail
