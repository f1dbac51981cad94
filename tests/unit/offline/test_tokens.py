"""The approximation of tokens."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.offline.reply import Call, Reply
from agent.offline.tokens import completion_tokens, count, pieces, prompt_tokens, truncate, usage
from tests.unit.offline.catalogue import ORDERS_GET
from tests.unit.offline.speech import calls, result, user

TEXTS = st.text(alphabet="ab 1,订单。\n\tкä😀", max_size=40)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("订单", 2),
        ("订单1001", 3),
        ("，。", 2),
        ("こんにちは", 5),
    ],
)
def test_cjk_characters_count_one_and_other_text_by_fours(text: str, expected: int) -> None:
    assert count(text) == expected


@given(TEXTS)
def test_pieces_are_the_text_again(text: str) -> None:
    assert "".join(pieces(text)) == text
    assert all(pieces(text))


def test_pieces_are_words_and_cjk_characters() -> None:
    assert pieces("Order 1001 已发货, ok ") == ["Order", " 1001", " ", "已", "发", "货", ",", " ok", " "]


@given(TEXTS, st.integers(1, 20))
def test_truncated_text_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    kept = truncate(text, limit=limit)

    assert text.startswith(kept)
    assert count(kept) <= limit
    assert kept == text or count(text) > limit


def test_prompt_counts_text_calls_and_schemas() -> None:
    messages = [user("订单"), calls(a=("orders_get", {"number": 1001})), result("a", "shipped")]

    bare = prompt_tokens(messages)

    assert bare == 3 + (4 + 2) + (4 + 3 + 4) + (4 + 2)
    assert prompt_tokens(messages, tools=[ORDERS_GET]) == bare + count(json.dumps([ORDERS_GET]))


def test_reasoning_that_is_sent_back_counts() -> None:
    plain = {"role": "assistant", "content": "ok"}

    assert prompt_tokens([{**plain, "reasoning_content": "12345678"}]) == prompt_tokens([plain]) + 2


def test_completion_counts_text_reasoning_and_calls() -> None:
    reply = Reply("订单", (Call("a", "orders_get", '{"number": 1001}'),), reasoning="well")

    assert completion_tokens(reply) == 2 + 1 + 3 + 4


def test_usage_adds_up() -> None:
    assert usage([user("Hi")], tools=[], reply=Reply("done")) == {
        "prompt_tokens": 8,
        "completion_tokens": 1,
        "total_tokens": 9,
    }
