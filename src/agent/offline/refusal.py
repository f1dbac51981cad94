"""A request that an endpoint refuses, in the shape of OpenAI's errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Wording = Literal["current", "classic"]
"""How it is said that a request is too long: `current` by OpenAI's newer models, `classic` by others."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request gets no completion; `status` is the HTTP status, `headers` go with the response."""

    message: str
    status: int = 400
    code: str | None = None
    param: str | None = None
    kind: str = "invalid_request_error"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def body(self) -> dict[str, Any]:
        """`{"error": {"message", "type", "param", "code"}}`, as OpenAI answers."""
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}


def rate_limited(*, retry_after: float) -> Refusal:
    """A 429 that asks to wait `retry_after` seconds."""
    return Refusal(
        f"Rate limit reached: wait {retry_after:g} seconds and send the request again.",
        status=429,
        code="rate_limit_exceeded",
        kind="rate_limit_error",
        headers={"retry-after": f"{retry_after:g}"},
    )


def context_exceeded(*, limit: int, tokens: int, wording: Wording = "current") -> Refusal:
    """A 400 for a request of `tokens` tokens where the model takes `limit`.

    Both wordings are met in the wild and carry the same code; langchain-openai 1.7.4 with openai 3.57 makes
    a `ContextOverflowError` of the `current` one only.
    """
    if wording == "current":
        text = f"Input tokens exceed the configured limit of {limit} tokens. Your"
    else:
        text = f"This model's maximum context length is {limit} tokens. However, your"
    return Refusal(
        f"{text} messages resulted in {tokens} tokens. Please reduce the length of the messages.",
        code="context_length_exceeded",
        param="messages",
    )
