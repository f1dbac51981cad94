from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool

from agent import tokens
from agent.framing import RULE, framed, framed_content, neutral
from agent.middleware.guard import served
from agent.models import usage
from agent.offline.tokens import prompt_tokens
from agent.tools.shipped import registry


def answered(*, estimated: Any = 100, counted: int = 150) -> AIMessage:
    usage: Any = {"input_tokens": counted, "output_tokens": 1, "total_tokens": counted + 1}
    return AIMessage("x", response_metadata={tokens.ESTIMATE: estimated}, usage_metadata=usage)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("word", 1),
        ("words", 2),
        ("订单什么时候到？", 8),
        ("订单 1001 到了", 6),
        ("Straße", 3),
        ("привет", 3),
        ("한국어", 3),
    ],
)
def test_texts_of_many_scripts(text: str, count: int) -> None:
    assert tokens.of_text(text) == count


@given(st.text(), st.text())
def test_a_longer_text_never_counts_less(left: str, right: str) -> None:
    assert tokens.of_text(left + right) >= max(tokens.of_text(left), tokens.of_text(right))


@given(st.text(st.characters(max_codepoint=0x9FFF)))
def test_never_below_what_the_scripted_endpoint_counts(text: str) -> None:
    """So a view that fits here fits there."""
    wire = {"role": "user", "content": text}
    assert tokens.of_messages([HumanMessage(text)]) + tokens.PRIMING >= prompt_tokens([wire])


def test_calls_count_with_their_arguments() -> None:
    call: Any = {"name": "orders_get", "args": {"id": 1001}, "id": "a", "type": "tool_call"}
    assert tokens.of_message(AIMessage("")) == 4
    assert tokens.of_message(AIMessage("", tool_calls=[call])) == 4 + 3 + 3


def test_parts_count_by_their_kind() -> None:
    parts: Any = ["word", {"type": "text", "text": "word"}, {"type": "image_url", "image_url": {"url": "x"}}]
    assert tokens.of_message(HumanMessage(parts)) == 4 + 1 + 1 + tokens.MEDIA


def test_schemas_of_tools_count() -> None:
    tools: list[BaseTool] = served(registry)
    assert len(tools) > 3
    for tool in tools:
        assert tokens.of_tool(tool) > tokens.of_text(tool.description)


@pytest.mark.parametrize("text", ["", "on its way", "已发货", "</tool_result>", "\uff1c/tool_result\uff1e"])
@pytest.mark.parametrize("name", ["orders_get", None])
def test_a_result_counts_as_it_is_sent_in_its_frame(text: str, name: str | None) -> None:
    result = ToolMessage(text, tool_call_id="a", name=name)
    assert tokens.of_message(result) == 4 + tokens.of_text(framed(text, name=name))
    assert tokens.beside(result) == 4 + tokens.of_text(framed("", name=name))
    assert tokens.of_message(result) <= tokens.beside(result) + tokens.of_text(neutral(text))


def test_a_result_in_parts_counts_its_frame_and_every_part() -> None:
    parts: Any = [{"type": "text", "text": "word"}, {"type": "image_url", "image_url": {"url": "x"}}]
    content: Any = framed_content(parts, name="x")
    around = tokens.of_text(content[0]["text"]) + tokens.of_text(content[-1]["text"])
    assert tokens.of_message(ToolMessage(parts, tool_call_id="a", name="x")) == 4 + around + 1 + tokens.MEDIA


def test_only_a_result_has_a_frame_beside_its_text() -> None:
    assert tokens.beside(HumanMessage("a" * 400)) == tokens.beside(AIMessage("")) == 4


RESULT: BaseMessage = ToolMessage("x", tool_call_id="a")


@pytest.mark.parametrize(
    ("messages", "offered", "alone"),
    [
        ([HumanMessage("hi")], True, 4),
        ([SystemMessage("s"), HumanMessage("hi")], True, 0),
        ([HumanMessage("hi"), RESULT], False, 4),
        ([SystemMessage("s"), RESULT], False, 0),
    ],
)
def test_what_frames_are_said_to_be_counts_where_it_is_said(
    messages: list[BaseMessage],
    offered: bool,  # noqa: FBT001
    alone: int,
) -> None:
    assert tokens.of_rule(messages, tools=offered) == tokens.of_text(f"\n\n{RULE}") + alone


def test_nothing_is_said_of_frames_without_tools_and_results() -> None:
    assert tokens.of_rule([SystemMessage("s"), HumanMessage("hi")], tools=False) == 0


def test_an_estimated_usage_counts_all_that_is_sent() -> None:
    tools: list[BaseTool] = served(registry)
    messages = [HumanMessage("hi"), RESULT]
    parts = tokens.of_messages(messages) + sum(map(tokens.of_tool, tools)) + tokens.PRIMING
    spent = usage.estimate(messages, tools=iter(tools))["input_tokens"]
    assert spent == parts + tokens.of_rule(messages, tools=True)
    assert usage.estimate([HumanMessage("hi")])["input_tokens"] == 4 + 1 + tokens.PRIMING


class TestRatio:
    """What the endpoint counted of the last request, against what was estimated."""

    def test_is_one_without_an_answer_that_says_both(self) -> None:
        assert tokens.ratio([]) == 1.0
        assert (
            tokens.ratio([HumanMessage("hi"), AIMessage("no usage", response_metadata={tokens.ESTIMATE: 5})])
            == 1.0
        )
        usage: Any = {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}
        assert tokens.ratio([AIMessage("no estimate", usage_metadata=usage)]) == 1.0

    def test_is_taken_from_the_last_answer_that_says_both(self) -> None:
        history = [answered(counted=300), answered(), AIMessage("no usage"), HumanMessage("hi")]
        assert tokens.ratio(history) == 1.5

    @pytest.mark.parametrize(("counted", "expected"), [(1, 0.75), (90, 0.9), (100_000, 4.0)])
    def test_is_not_trusted_blindly(self, counted: int, expected: float) -> None:
        assert tokens.ratio([answered(counted=counted)]) == expected

    @pytest.mark.parametrize("estimated", [0, -5, "many", None])
    def test_ignores_an_estimate_that_is_none(self, estimated: object) -> None:
        assert tokens.ratio([answered(estimated=estimated)]) == 1.0

    def test_ignores_usage_that_the_client_estimated_itself(self) -> None:
        answer = answered()
        answer.response_metadata[usage.ESTIMATED] = True
        assert usage.ESTIMATED == tokens.ESTIMATED
        assert tokens.ratio([answered(counted=200), answer]) == 2.0

    def test_ignores_an_endpoint_that_counts_nothing(self) -> None:
        assert tokens.ratio([answered(counted=0)]) == 1.0
