"""The values of a script: what they become, and what is refused when a script is put."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from agent.offline.reply import Call, Reply
from agent.offline.script import ChunkGate, Script, ScriptedCall, TokenDetails, Turn, UsageFigures


def test_turn_becomes_a_reply_with_ids_for_calls_that_have_none() -> None:
    turn = Turn(
        content="I look.",
        reasoning="hm",
        tool_calls=(
            ScriptedCall(name="orders_get", args={"number": 1001}),
            ScriptedCall(name="kb_search", raw_arguments="not json", id="mine"),
        ),
    )

    assert turn.reply(prefix="call_x_") == Reply(
        "I look.",
        (Call("call_x_0", "orders_get", '{"number": 1001}'), Call("mine", "kb_search", "not json")),
        reasoning="hm",
        finish_reason="tool_calls",
    )


@pytest.mark.parametrize(
    ("finish", "expected"),
    [("auto", "stop"), ("length", "length"), (None, None), ("tool_calls", "tool_calls")],
)
def test_finish_reason_follows_or_is_given(finish: Any, expected: str | None) -> None:
    assert Turn(content="x", finish_reason=finish).reply(prefix="").finish_reason == expected


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "invalid_request_error", None),
        (429, "rate_limit_error", "rate_limit_exceeded"),
        (503, "server_error", None),
    ],
)
def test_error_turn_becomes_a_refusal(status: int, kind: str, code: str | None) -> None:
    refusal = Turn(status=status, headers={"retry-after": "1"}).failure()

    assert (refusal.status, refusal.kind, refusal.code) == (status, kind, code)
    assert refusal.message == f"scripted error {status}"
    assert refusal.headers == {"retry-after": "1"}
    assert Turn(status=status, error="no paper").failure().message == "no paper"


def test_usage_is_summed_unless_the_total_is_given() -> None:
    details = TokenDetails(cached_tokens=5)
    figures = UsageFigures(prompt_tokens=10, completion_tokens=2, prompt_tokens_details=details)

    assert figures.wire() == {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 5},
    }
    assert UsageFigures(prompt_tokens=1, completion_tokens=1, total_tokens=99).wire()["total_tokens"] == 99


def test_gates_of_all_turns_are_known() -> None:
    script = Script(
        turns=(
            Turn(content="a", gate="first"),
            Turn(content="b", gate_after_chunks=ChunkGate(name="second", n=1)),
            Turn(content="c"),
        )
    )

    assert script.gates() == {"first", "second"}


def test_script_survives_the_way_over_http() -> None:
    script = Script(
        turns=(Turn(content="", usage=None, finish_reason=None), Turn(status=500)), tool_ids="repeated"
    )

    assert Script.model_validate(script.model_dump(mode="json")) == script


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"turns": [{"content": None}]}, "a turn needs 'content'"),
        ({"turns": [{"content": "x", "colour": "red"}]}, "Extra inputs are not permitted"),
        ({"turns": [{"content": "x", "error": "no"}]}, "'error' needs a 'status' of 400 to 599"),
        ({"turns": [{"content": "x", "status": 302}]}, "status 302 is neither 200 nor an error"),
        ({"turns": [{"content": "x", "chunks": 0}]}, "greater than or equal to 1"),
        ({"turns": [{"content": "x", "delay": 61}]}, "less than or equal to 60"),
        ({"turns": [{"content": "x", "finish_reason": "bored"}]}, "Input should be"),
        ({"turns": [{"tool_calls": [{"args": {"a": 1}}]}]}, "Field required"),
        ({"turns": [{"tool_calls": [{"name": "f", "args": {"a": 1}, "raw_arguments": "x"}]}]}, "not both"),
        ({"turns": [{"content": "x", "expect": {"role": "tool"}}]}, "Extra inputs are not permitted"),
        ({"tool_ids": "odd"}, "Input should be 'normal', 'empty', 'repeated' or 'per_chunk'"),
        ({"strictly": True}, "Extra inputs are not permitted"),
        ({"require_reasoning": True, "refuse_reasoning": True}, "exclude each other"),
        ({"rate_limit_at": {"call": 0, "retry_after": 1}}, "greater than or equal to 1"),
    ],
)
def test_wrong_script_is_refused(value: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Script.model_validate(value)

    assert text in str(refused.value)
