from __future__ import annotations

import pytest
from hypothesis import given
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent.compaction.summary import Summary, counted, covered, remembered, summary_of, usable
from tests.unit.history.histories import valid_history

TALK: list[BaseMessage] = [
    message
    for number in range(8)
    for message in (HumanMessage(f"q{number}", id=f"h{number}"), AIMessage(f"a{number}", id=f"a{number}"))
]


def test_folded_messages_are_counted_without_a_model() -> None:
    assert counted(TALK) == "16 earlier messages folded: ai ×8, human ×8"


@given(valid_history())
def test_a_summary_covers_what_it_was_made_from(messages: list[BaseMessage]) -> None:
    for upto in range(1, len(messages) + 1):
        summary = summary_of(messages[:upto], "s", policy="p")
        assert covered(summary, messages, policy="p") == upto
        assert remembered(summary.stored()) == summary


class TestCovered:
    summary = summary_of(TALK[:6], "s", policy="100/2")

    def test_grows_with_the_thread(self) -> None:
        assert covered(self.summary, [*TALK, HumanMessage("new", id="n")], policy="100/2") == 6

    def test_nothing_remembered_covers_nothing(self) -> None:
        assert covered(None, TALK, policy="100/2") == 0

    def test_another_policy_starts_from_the_full_history(self) -> None:
        assert covered(self.summary, TALK, policy="200/2") == 0

    def test_a_thread_without_the_last_covered_message(self) -> None:
        assert covered(self.summary, TALK[:4], policy="100/2") == 0

    def test_a_thread_from_which_a_covered_message_was_erased(self) -> None:
        assert covered(self.summary, [TALK[0], *TALK[2:]], policy="100/2") == 0


@pytest.mark.parametrize(
    "value",
    [None, "text", {}, {"text": "x"}, {"text": "x", "through": "a", "covers": "c", "policy": 7}, [1]],
)
def test_what_is_no_summary_is_not_remembered(value: object) -> None:
    assert remembered(value) is None


def test_a_stored_summary_is_plain_text_values() -> None:
    summary = Summary("s", "t", "c", "p")
    assert summary.stored() == {"text": "s", "through": "t", "covers": "c", "policy": "p"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "Error generating summary: Blocking call",
        "**Error**: 429 Too Many Requests",
        "Rate limit reached",
        "Internal Server Error",
        "Traceback (most recent call last):",
        "I'm sorry, I can't help with that.",
        "Unable to summarise",
    ],
)
def test_an_error_is_no_memory(text: str) -> None:
    """Case 70."""
    assert not usable(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ann asked for order 1001; it arrives on Friday.",
        "安问了订单 1001。",
        "Errors in order 1001 were found by Ann.",
        "Error 500 was what Ann reported. " + "Then she gave the order's number and asked for a refund. " * 5,
    ],
)
def test_prose_is_a_memory_even_when_it_is_about_errors(text: str) -> None:
    assert usable(text)
