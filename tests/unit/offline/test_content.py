"""The text of messages, and JSON of uncertain shape."""

from __future__ import annotations

from typing import Any

import pytest

from agent.offline.content import first_human, text_of
from agent.offline.shape import entries, parsed, record, records
from tests.unit.offline.speech import assistant, system, user


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Hi", "Hi"),
        (None, ""),
        (3, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, "x", {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "text", "text": None}], ""),
    ],
)
def test_text_is_read_from_every_form(content: Any, expected: str) -> None:
    assert text_of({"role": "user", "content": content}) == expected


def test_first_human_message_is_the_first_of_a_person() -> None:
    assert first_human([system("s"), assistant("a"), user("one"), user("two")]) == "one"
    assert first_human([system("s")]) == ""


def test_shapes_that_are_not_there_are_empty() -> None:
    assert record([1]) == {}
    assert entries({"a": 1}) == []
    assert records([{"a": 1}, 2, "x", {"b": 2}]) == [{"a": 1}, {"b": 2}]
    assert records(None) == []


def test_text_that_is_no_json_stays_text() -> None:
    assert parsed('{"a": [1]}') == {"a": [1]}
    assert parsed("{a") == "{a"
