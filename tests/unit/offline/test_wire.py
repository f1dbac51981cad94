"""The forms of a reply on the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.offline.reply import Call, Reply
from agent.offline.wire import Dialect, Envelope, chunks, completion, event

FRAME = Envelope("chatcmpl-1", model="m", fingerprint="f", created=1)
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
CALLS = (Call("a", "orders_get", '{"number": 1001}'), Call("b", "kb_search", "{}"))


def deltas(stream: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the chunks add."""
    return [chunk["choices"][0]["delta"] for chunk in stream if chunk["choices"]]


def test_completion_has_the_frame_the_message_and_the_usage() -> None:
    assert completion(FRAME, reply=Reply("Hi"), usage=USAGE) == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "system_fingerprint": "f",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi"},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": USAGE,
    }


def test_completion_carries_calls_and_reasoning_and_no_usage_unless_given() -> None:
    whole = completion(
        FRAME, reply=Reply(calls=CALLS, reasoning="hm", finish_reason="tool_calls"), usage=None
    )

    message = whole["choices"][0]["message"]
    assert "usage" not in whole
    assert message["content"] is None
    assert message["reasoning_content"] == "hm"
    assert message["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "orders_get", "arguments": '{"number": 1001}'}},
        {"id": "b", "type": "function", "function": {"name": "kb_search", "arguments": "{}"}},
    ]
    assert whole["choices"][0]["finish_reason"] == "tool_calls"


def test_stream_gives_role_text_finish_and_usage_in_that_order() -> None:
    stream = chunks(FRAME, reply=Reply("Hi you"), usage=USAGE)

    assert deltas(stream) == [
        {"role": "assistant", "content": ""},
        {"content": "Hi"},
        {"content": " you"},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in stream[:-1]] == [None, None, None, "stop"]
    assert {chunk["object"] for chunk in stream} == {"chat.completion.chunk"}
    assert [chunk["usage"] for chunk in stream] == [None, None, None, None, USAGE]
    assert stream[-1]["choices"] == []


def test_stream_without_usage_does_not_mention_it() -> None:
    stream = chunks(FRAME, reply=Reply("Hi"), usage=None)

    assert len(stream) == 3
    assert all("usage" not in chunk for chunk in stream)


def test_stream_names_each_call_before_its_arguments() -> None:
    stream = chunks(FRAME, reply=Reply(calls=CALLS, finish_reason="tool_calls"), usage=None)

    assert deltas(stream) == [
        {"role": "assistant", "content": None},
        {"tool_calls": [_head(0, "a", "orders_get")]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"number": 1'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "001}"}}]},
        {"tool_calls": [_head(1, "b", "kb_search")]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
        {},
    ]


def _head(index: int, id_: str, name: str) -> dict[str, Any]:
    return {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}


@pytest.mark.parametrize(
    ("dialect", "ids", "indices"),
    [
        (Dialect(), ["a", "b"], [0, 0, 0, 1, 1]),
        (Dialect(tool_ids="empty"), ["", ""], [0, 0, 0, 1, 1]),
        (Dialect(tool_ids="repeated"), ["a", "a"], [0, 0, 0, 1, 1]),
        (Dialect(tool_ids="per_chunk"), ["a", "a-1", "a-2", "b", "b-1"], [0, 0, 0, 1, 1]),
        (Dialect(tool_index="missing"), ["a", "b"], [None] * 5),
        (Dialect(tool_index="same"), ["a", "b"], [0] * 5),
    ],
)
def test_dialects_change_ids_and_indices_of_a_stream(
    dialect: Dialect, ids: list[str], indices: list[int | None]
) -> None:
    stream = chunks(FRAME, reply=Reply(calls=CALLS), usage=None, dialect=dialect)
    entries = [delta["tool_calls"][0] for delta in deltas(stream) if "tool_calls" in delta]

    assert [entry["id"] for entry in entries if "id" in entry] == ids
    assert [entry.get("index") for entry in entries] == indices
    assert all(("index" in entry) == (dialect.tool_index != "missing") for entry in entries)


@pytest.mark.parametrize(
    ("dialect", "ids"), [(Dialect("empty"), ["", ""]), (Dialect("repeated"), ["a", "a"])]
)
def test_dialects_change_ids_of_a_completion(dialect: Dialect, ids: list[str]) -> None:
    whole = completion(FRAME, reply=Reply(calls=CALLS), usage=None, dialect=dialect)

    assert [call["id"] for call in whole["choices"][0]["message"]["tool_calls"]] == ids


@given(st.text(max_size=30), st.integers(1, 12))
def test_text_is_cut_into_that_many_parts(text: str, parts: int) -> None:
    stream = chunks(FRAME, reply=Reply(text), usage=None, parts=parts)
    texts = [delta["content"] for delta in deltas(stream)[1:-1]]

    assert "".join(texts) == text
    assert len(texts) == (parts if text else 0)


def test_events_are_ascii_and_end_with_a_blank_line() -> None:
    assert event("[DONE]") == b"data: [DONE]\n\n"
    assert event({"a": "订\ud800"}) == b'data: {"a": "\\u8ba2\\ud800"}\n\n'
    assert json.loads(event({"a": "订\ud800"})[6:]) == {"a": "订\ud800"}
