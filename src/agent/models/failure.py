"""What an endpoint's failure means: whether to ask again, when, and how to say it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

from agent.errors import ModelUnavailable

_TRANSIENT = frozenset({408, 409, 429})
_SPENT = "insufficient_quota"  # OpenAI's code of a 429 that no waiting heals


class AnswerCut(ModelAPIError):
    """The answer ended before it was complete."""


class AnswerStalled(ModelTimeoutError):
    """The answer began and then nothing more came."""


_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (AnswerCut, "broke off its answer"),
    (ModelConnectionError, "could not be reached"),
    (ModelTimeoutError, "took too long"),
    (TimeoutError, "took too long"),
    (ModelRateLimitError, "is over its rate limit"),
    (ModelAuthenticationError, "refused the key; check the endpoint's key on the server"),
    (ModelPermissionDeniedError, "refused the key; check the endpoint's key on the server"),
    (ModelNotFoundError, "does not know the model; check its name in the assistant's file"),
    (ContextOverflowError, "can't read a conversation of this length"),
    (ModelInvalidRequestError, "refused the request; 'signalbox probe' shows which profile fits it"),
)


def unavailable(name: str, error: Exception) -> ModelUnavailable:
    """The failure in words for the person who waits; the provider's own text stays in the log."""
    reason = next((text for kind, text in _REASONS if isinstance(error, kind)), "failed")
    return ModelUnavailable(
        f"The endpoint of model {name!r} {reason}. Nothing is lost: send your message again later."
    )


_CODES: tuple[tuple[type[BaseException], str], ...] = (
    (asyncio.CancelledError, "cancelled"),
    (GeneratorExit, "cancelled"),
    (AnswerCut, "answer_cut"),
    (ModelTimeoutError, "timeout"),
    (APITimeoutError, "timeout"),
    (TimeoutError, "timeout"),
    (ModelConnectionError, "unreachable"),
    (APIConnectionError, "unreachable"),
    (ModelRateLimitError, "rate_limited"),
    (ModelAuthenticationError, "key_refused"),
    (ModelPermissionDeniedError, "key_refused"),
    (ModelNotFoundError, "model_unknown"),
    (ContextOverflowError, "context_overflow"),
    (ModelInvalidRequestError, "request_refused"),
)


def code(error: BaseException) -> str:
    """How a request that failed ended, as one word for the ledger."""
    return next((text for kind, text in _CODES if isinstance(error, kind)), "failed")


def transient(error: Exception) -> bool:
    """Whether the same request may succeed later or with another model.

    True of the statuses 408, 409, 429 and 5xx, of network failures, timeouts and cut answers; never of a
    refused key, a missing permission or an invalid request.
    """
    if isinstance(error, ContextOverflowError):
        return False
    if isinstance(error, APIStatusError):
        return error.status_code in _TRANSIENT or error.status_code >= 500
    if isinstance(error, APIConnectionError) or type(error) is APIError:  # the latter: inside a stream
        return True
    return isinstance(error, ModelError) and error.is_retryable


def repeatable(error: Exception) -> bool:
    """Whether asking the same model again makes sense: `transient`, and not a quota that is used up."""
    spent = isinstance(error, APIError) and error.code == _SPENT
    return transient(error) and not spent


def retry_after(error: Exception, *, now: datetime) -> float | None:
    """Seconds that the endpoint asks to wait (never negative), or `None` when it does not say.

    Read from `retry-after-ms`, then `retry-after` in seconds or as an HTTP date (RFC 9110, section 10.2.3).
    """
    if not isinstance(error, APIStatusError):
        return None
    headers: Mapping[str, str] = error.response.headers
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is None and text is not None:
        seconds = _until(text, now=now)
    return None if seconds is None else max(0.0, seconds)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _until(text: str, *, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    moment = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return (moment - now).total_seconds()
