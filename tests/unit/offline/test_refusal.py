"""Refusals in the shape of OpenAI's errors."""

from __future__ import annotations

from agent.offline.refusal import Refusal, context_exceeded, rate_limited


def test_refusal_is_an_error_object_as_openai_sends_it() -> None:
    assert Refusal("no", code="c", param="p").body() == {
        "error": {"message": "no", "type": "invalid_request_error", "param": "p", "code": "c"}
    }


def test_rate_limit_says_how_long_to_wait() -> None:
    refusal = rate_limited(retry_after=1.5)

    assert (refusal.status, refusal.code, refusal.kind) == (429, "rate_limit_exceeded", "rate_limit_error")
    assert refusal.headers == {"retry-after": "1.5"}


def test_context_limit_has_one_code_and_two_wordings() -> None:
    current = context_exceeded(limit=10, tokens=12)
    classic = context_exceeded(limit=10, tokens=12, wording="classic")

    assert current.message == (
        "Input tokens exceed the configured limit of 10 tokens. Your messages resulted in 12 tokens. "
        "Please reduce the length of the messages."
    )
    assert classic.message.startswith(
        "This model's maximum context length is 10 tokens. However, your messages"
    )
    assert {current.code, classic.code} == {"context_length_exceeded"}
    assert {current.status, classic.status} == {400}
