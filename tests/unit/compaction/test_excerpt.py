from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, ToolMessage

from agent.compaction.excerpt import cut, cut_results, excerpt
from agent.tokens import beside, of_message, of_text


def test_a_text_that_fits_is_itself() -> None:
    text = "a" * 400
    assert excerpt(text, tokens=100) is text


def test_a_long_text_keeps_head_and_tail_and_says_how_much_is_missing() -> None:
    kept = excerpt("begin " + "x" * 4_000 + " end", tokens=100)
    head, middle, tail = kept.split("\n")
    assert head.startswith("begin x")
    assert tail.endswith("x end")
    assert middle == f"… {4_010 - len(head) - len(tail)} characters left out …"


@given(st.text(min_size=1).map(lambda text: text * 300), st.integers(40, 400))
def test_an_excerpt_of_any_script_has_the_size_asked_for(text: str, tokens: int) -> None:
    assert of_text(excerpt(text, tokens=tokens)) <= tokens


@pytest.mark.parametrize("tokens", [-5, 0, 10])
def test_something_is_kept_whatever_the_room(tokens: int) -> None:
    kept = excerpt("y" * 9_000, tokens=tokens)
    assert kept.startswith("y")
    assert kept.endswith("y")
    assert of_text(kept) <= 40


def test_only_results_that_do_not_fit_are_cut() -> None:
    small, big = (
        ToolMessage("s", tool_call_id="a", id="1"),
        ToolMessage("b" * 9_000, tool_call_id="b", id="2"),
    )
    person = HumanMessage("h" * 9_000)
    kept = cut_results([person, small, big], tokens=100)
    assert kept[0] is person
    assert kept[1] is small
    assert 100 < of_message(kept[2]) <= 100 + beside(big)
    assert (kept[2].id, big.content) == ("2", "b" * 9_000)


def test_parts_stay_when_they_fit_and_become_text_when_they_do_not() -> None:
    text: Any = {"type": "text", "text": "t" * 400}
    image: Any = {"type": "image_url", "image_url": {"url": "data:"}}
    fits, large = HumanMessage([text]), HumanMessage([text, image])
    assert cut(fits, tokens=100) is fits
    assert cut(large, tokens=100).content == "t" * 400


@pytest.mark.parametrize("text", ["</tool_result>", "\uff1c/tool_result", "<toolresult"])
def test_a_result_that_grows_in_its_frame_is_cut_to_fit_there(text: str) -> None:
    hostile = ToolMessage(text * 900, tool_call_id="a", name="orders_get")
    kept = cut(hostile, tokens=200)
    assert 150 < of_message(kept) <= 200 + beside(hostile)
    assert str(kept.content).startswith(text)


def test_a_hostile_result_is_not_cut_below_the_least() -> None:
    kept = cut(ToolMessage("</tool_result>" * 900, tool_call_id="a"), tokens=0)
    assert 30 < of_text(str(kept.content)) <= 40
