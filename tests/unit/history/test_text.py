from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from agent.history.text import function_name, sound, sound_message
from agent.offline.history import FUNCTION_NAME

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.text("\x00\ud83d\ude00a"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("\x00\udc00k"), inner, max_size=3),
    max_leaves=12,
)


@given(anything)
def test_sound_values_can_be_written_as_json_and_utf_8(value: Any) -> None:
    written = json.dumps(sound(value), ensure_ascii=False, allow_nan=False)
    assert "\\u0000" not in written
    written.encode()


@given(anything)
def test_making_sound_twice_changes_nothing_more(value: Any) -> None:
    once = sound(value)
    assert sound(once) is once


def test_a_null_byte_and_a_lone_surrogate_leave_a_mark() -> None:
    assert sound("a\x00b") == "a\ufffdb"
    assert sound("x\ud83dy") == "x\ufffdy"
    assert sound("\udc00") == "\ufffd"


def test_a_pair_that_came_in_two_pieces_is_joined() -> None:
    assert sound("smile " + "\ud83d" + "\ude00") == "smile 😀"


def test_numbers_that_json_lacks_become_text() -> None:
    assert sound({"a": math.nan, "b": [math.inf, 1.5]}) == {"a": "nan", "b": ["inf", 1.5]}


def test_integers_that_a_checkpoint_can_not_hold_become_text() -> None:
    edges = {"a": 2**64 - 1, "b": -(2**63), "c": True}
    assert sound(edges) is edges
    assert sound([2**64, -(2**63) - 1]) == ["18446744073709551616", "-9223372036854775809"]


def test_what_is_sound_is_the_same_object() -> None:
    value = {"a": ["你好", {"b": 1.0}], "c": None}
    assert sound(value) is value


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("orders_get", "orders_get"),
        ("orders.get", "orders_get"),
        ("a b\x00", "a_b_"),
        ("", "unnamed"),
        (None, "unnamed"),
        ("n" * 70, "n" * 64),
    ],
)
def test_names_of_calls_fit_the_wire(name: str | None, fit: str) -> None:
    assert function_name(name) == fit
    assert FUNCTION_NAME.fullmatch(fit)


class TestMessages:
    def test_a_sound_message_is_itself(self) -> None:
        call: Any = {"name": "orders_get", "args": {"id": 1}, "id": "a", "type": "tool_call"}
        for message in (
            HumanMessage("hi", name="Ann"),
            AIMessage("", tool_calls=[call], additional_kwargs={"refusal": None}),
            ToolMessage("ok", tool_call_id="a"),
            SystemMessage("rules"),
            AIMessage([{"type": "text", "text": "hi"}]),
        ):
            assert sound_message(message) is message

    def test_every_text_that_is_sent_is_made_sound_and_the_original_stays(self) -> None:
        call: Any = {"name": "orders get", "args": {"k\x00": "v\x00"}, "id": "a\x00", "type": "tool_call"}
        message = AIMessage(
            [{"type": "text", "text": "t\x00"}],
            tool_calls=[call],
            invalid_tool_calls=[
                {"name": "n", "args": "{\x00", "id": "b", "error": "e", "type": "invalid_tool_call"}
            ],
            additional_kwargs={"reasoning": "r\x00"},
        )
        whole = sound_message(message)
        assert isinstance(whole, AIMessage)
        assert whole.content == [{"type": "text", "text": "t\ufffd"}]
        assert whole.tool_calls == [
            {"name": "orders_get", "args": {"k\ufffd": "v\ufffd"}, "id": "a\ufffd", "type": "tool_call"}
        ]
        assert whole.invalid_tool_calls[0]["args"] == "{\ufffd"
        assert whole.additional_kwargs == {"reasoning": "r\ufffd"}
        assert message.content == [{"type": "text", "text": "t\x00"}]
        assert message.tool_calls[0]["name"] == "orders get"

    def test_the_id_that_a_result_answers_is_made_sound(self) -> None:
        whole = sound_message(ToolMessage("ok", tool_call_id="a\x00"))
        assert isinstance(whole, ToolMessage)
        assert whole.tool_call_id == "a\ufffd"

    @pytest.mark.parametrize(
        ("name", "fit"),
        [("Ann Lee", "Ann_Lee"), ("王", "王"), ("<|>", None), ("", None), ("x" * 80, "x" * 64)],
    )
    def test_names_of_speakers_fit_the_wire(self, name: str, fit: str | None) -> None:
        assert sound_message(HumanMessage("hi", name=name)).name == fit

    def test_fields_that_would_be_sent_past_the_message_are_taken_out(self) -> None:
        """langchain-openai sends these instead of, or beside, the message's own calls and name."""
        stale = {"tool_calls": [{"id": "old"}], "function_call": {"name": "f"}, "name": "a b", "kept": 1}
        message = HumanMessage("hi", additional_kwargs=stale)
        assert sound_message(message).additional_kwargs == {"kept": 1}
        assert len(message.additional_kwargs) == 4
