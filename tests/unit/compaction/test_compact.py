from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.errors import GraphInterrupt

from agent.compaction.compact import Compacted, Plan, maybe_compact, recalled
from agent.compaction.summariser import Material
from agent.compaction.summary import Summary, summary_of
from agent.history.problems import problems
from agent.tokens import of_messages, of_text
from tests.unit.compaction.talks import FACT, loop, talk
from tests.unit.history.histories import asking, result, valid_history

pytestmark = pytest.mark.anyio

PLAN = Plan(room=1_000, keep_recent=3, policy="1000/3")


@dataclass
class Writer:
    """A summariser that keeps every line with an order's number, as a good model would."""

    seen: list[Material] = field(default_factory=list[Material])

    async def __call__(self, material: Material) -> str:
        self.seen.append(material)
        lines = f"{material.previous}\n{material.transcript}".splitlines()
        kept = [line for line in lines if "order number" in line]
        return "So far. " + "\n".join(dict.fromkeys(kept))


def texts(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(str(message.content) for message in messages)


def whole(compacted: Compacted | None) -> Compacted:
    assert compacted is not None
    return compacted


def valid(messages: Sequence[BaseMessage]) -> bool:
    return problems([m if m.id else m.model_copy(update={"id": "summary"}) for m in messages]) == []


async def test_a_thread_that_fits_is_left_alone() -> None:
    writer = Writer()
    assert await maybe_compact(talk(3), PLAN, memory=None, summarise=writer) is None
    assert await maybe_compact([], PLAN, memory=None, summarise=writer) is None
    assert writer.seen == []


async def test_a_thread_that_does_not_fit_is_folded_and_the_summary_is_given_back() -> None:
    messages, writer = talk(40), Writer()
    assert of_messages(messages) > PLAN.room
    compacted = whole(await maybe_compact(messages, PLAN, memory=None, summarise=writer))
    assert of_messages(compacted.view) <= PLAN.room
    assert valid(compacted.view)
    assert compacted.view[0] is messages[0]
    assert FACT in texts(compacted.view)
    assert compacted.summary is not None
    assert compacted.view[-6:] == messages[-6:]
    assert compacted.summary.through == messages[-7].id
    assert writer.seen[0].goal.startswith("The goal")


async def test_a_remembered_summary_is_not_paid_for_again() -> None:
    messages, writer = talk(40), Writer()
    first = whole(await maybe_compact(messages, PLAN, memory=None, summarise=writer))
    paid = len(writer.seen)
    assert paid >= 1
    again = whole(await maybe_compact(messages, PLAN, memory=first.summary, summarise=writer))
    assert again.view == first.view
    assert again.summary is None
    assert len(writer.seen) == paid


async def test_a_later_fold_goes_on_from_the_summary_and_the_new_messages_only() -> None:
    writer = Writer()
    first = whole(await maybe_compact(talk(40), PLAN, memory=None, summarise=writer))
    writer.seen.clear()
    longer = talk(80)
    second = whole(await maybe_compact(longer, PLAN, memory=first.summary, summarise=writer))
    assert second.summary is not None
    assert FACT in writer.seen[0].previous
    assert "question 5 " not in texts([HumanMessage(material.transcript) for material in writer.seen])
    assert FACT in texts(second.view)


async def test_another_policy_projects_from_the_full_history() -> None:
    messages, writer = talk(40), Writer()
    first = whole(await maybe_compact(messages, PLAN, memory=None, summarise=writer))
    writer.seen.clear()
    wider = replace(PLAN, keep_recent=5, policy="1000/5")
    second = whole(await maybe_compact(messages, wider, memory=first.summary, summarise=writer))
    assert second.view[-10:] == messages[-10:]
    assert writer.seen[0].transcript.startswith("human: The goal")
    assert writer.seen[0].previous == ""


async def test_a_wider_policy_shows_everything_again() -> None:
    messages, writer = talk(40), Writer()
    first = whole(await maybe_compact(messages, PLAN, memory=None, summarise=writer))
    wide = Plan(room=100_000, keep_recent=3, policy="100000/3")
    assert await maybe_compact(messages, wide, memory=first.summary, summarise=writer) is None


async def test_without_a_summariser_the_folded_messages_are_counted() -> None:
    compacted = whole(await maybe_compact(talk(40), PLAN, memory=None, summarise=None))
    assert compacted.summary is not None
    assert compacted.summary.text == "74 earlier messages folded: ai ×37, human ×37"
    assert compacted.summary.text in texts(compacted.view)


async def test_old_results_are_cut_before_anything_is_summarised() -> None:
    messages: list[BaseMessage] = [
        HumanMessage("goal", id="h"),
        asking("a", message="m1"),
        result("a", "begin " + "x" * 9_000 + " end"),
        asking("b", message="m2"),
        result("b", "new"),
    ]
    writer = Writer()
    compacted = whole(await maybe_compact(messages, PLAN, memory=None, summarise=writer))
    assert writer.seen == []
    assert compacted.summary is None
    assert str(compacted.view[2].content).startswith("begin ")
    assert str(compacted.view[2].content).endswith(" end")
    assert of_messages(compacted.view) <= PLAN.room


async def test_a_long_loop_of_tools_is_folded_inside_its_turn() -> None:
    """Case 72: compaction has to fire in the middle of one turn too."""
    messages, writer = loop(30), Writer()
    compacted = whole(await maybe_compact(messages, PLAN, memory=None, summarise=writer))
    assert of_messages(compacted.view) <= PLAN.room
    assert valid(compacted.view)
    assert messages[0] in compacted.view
    assert compacted.view[-3:] == messages[-3:]


async def test_one_turn_that_cannot_be_cut_gets_smaller_results() -> None:
    """Case 68: one huge result, right after the question."""
    messages = [HumanMessage("goal", id="h"), asking("a", message="m"), result("a", "x" * 100_000)]
    compacted = whole(await maybe_compact(messages, PLAN, memory=None, summarise=Writer()))
    assert of_messages(compacted.view) <= PLAN.room
    assert valid(compacted.view)
    assert compacted.view[0] is messages[0]


async def test_a_message_that_is_too_long_alone_is_sent_as_it_is() -> None:
    messages: list[BaseMessage] = [HumanMessage("w" * 40_000, id="h")]
    compacted = whole(await maybe_compact(messages, PLAN, memory=None, summarise=Writer()))
    assert compacted.view == messages


class TestFailure:
    """Case 70, B-34: a failing summariser means the full view this turn."""

    @pytest.mark.parametrize(
        "answer", ["", "Error generating summary: 500", ValueError("down"), TimeoutError()]
    )
    async def test_the_full_view_is_sent_and_nothing_is_remembered(self, answer: str | Exception) -> None:
        async def failing(_: Material) -> str:
            if isinstance(answer, Exception):
                raise answer
            return answer

        assert await maybe_compact(talk(40), PLAN, memory=None, summarise=failing) is None

    async def test_the_last_good_summary_stays(self) -> None:
        first = whole(await maybe_compact(talk(40), PLAN, memory=None, summarise=Writer()))

        async def failing(_: Material) -> str:
            return ""

        longer = talk(80)
        second = whole(await maybe_compact(longer, PLAN, memory=first.summary, summarise=failing))
        assert second.summary is None
        assert FACT in texts(second.view)
        assert second.view[-46:] == longer[-46:]

    async def test_a_failure_in_the_second_portion_remembers_nothing(self) -> None:
        calls = 0

        async def once(_: Material) -> str:
            nonlocal calls
            calls += 1
            return "good" if calls == 1 else ""

        assert await maybe_compact(talk(200), PLAN, memory=None, summarise=once) is None
        assert calls == 2

    async def test_when_it_must_fit_messages_are_counted_but_not_remembered_so(self) -> None:
        async def failing(_: Material) -> str:
            raise ValueError("down")

        forced = replace(PLAN, must_fit=True)
        compacted = whole(await maybe_compact(talk(40), forced, memory=None, summarise=failing))
        assert compacted.summary is None
        assert "earlier messages folded" in texts(compacted.view)
        assert of_messages(compacted.view) <= PLAN.room

    async def test_an_interrupt_is_no_failure(self) -> None:
        async def interrupting(_: Material) -> str:
            raise GraphInterrupt

        with pytest.raises(GraphInterrupt):
            await maybe_compact(talk(40), PLAN, memory=None, summarise=interrupting)


async def test_a_summary_that_is_too_long_is_cut() -> None:
    async def wordy(_: Material) -> str:
        return "begin " + "word " * 5_000 + " end"

    compacted = whole(await maybe_compact(talk(40), PLAN, memory=None, summarise=wordy))
    assert compacted.summary is not None
    assert of_text(compacted.summary.text) <= 250
    assert of_messages(compacted.view) <= PLAN.room


def test_a_remembered_summary_alone_makes_a_view() -> None:
    messages = talk(10)
    assert recalled(messages, memory=None, policy="") is None
    assert recalled(messages, memory=Summary("s", "a4", "wrong", ""), policy="") is None
    good = summary_of(messages[:10], "s", policy="")
    seen = whole(recalled(messages, memory=good, policy=""))
    assert (seen.view[0], seen.view[2:], seen.summary) == (messages[0], messages[10:], None)
    assert recalled(messages, memory=good, policy="1/1") is None


async def test_nothing_can_be_compacted_in_an_empty_thread() -> None:
    forced = replace(PLAN, must_fit=True)
    assert whole(await maybe_compact([], forced, memory=None, summarise=None)).view == []


@settings(max_examples=150, deadline=None)
@given(
    valid_history(turns=10),
    st.integers(150, 900),
    st.integers(1, 4),
    st.sampled_from([PLAN, replace(PLAN, must_fit=True)]),
    st.sampled_from(["w", "", None]),
)
async def test_whatever_the_history_a_view_is_valid_and_keeps_goal_and_question(
    messages: list[BaseMessage], room: int, keep: int, base: Plan, answer: str | None
) -> None:
    async def summarise(_: Material) -> str:
        return "The summary." if answer else ""

    plan = replace(base, room=room, keep_recent=keep)
    compacted = await maybe_compact(
        messages, plan, memory=None, summarise=None if answer is None else summarise
    )
    assert len(messages) >= 1
    seen = compacted.view if compacted else messages
    assert valid(seen)
    people = [message for message in messages if isinstance(message, HumanMessage)]
    assert people[0] in seen
    assert people[-1] in seen
    if compacted is None:
        assert answer == "" or of_messages(messages) <= room


async def test_a_thousand_turns_keep_every_request_small_and_the_first_facts_in_it() -> None:
    """B-30: the thread keeps 1,000 turns; goal and the fact of turn 3 are in every request after it."""
    writer, memory = Writer(), None
    plan = Plan(room=4_000, keep_recent=8, policy="4000/8")
    messages: list[BaseMessage] = []
    folds = 0
    for number in range(1_000):
        messages += talk(1, start=number)[:1]
        compacted = await maybe_compact(messages, plan, memory=memory, summarise=writer)
        seen = compacted.view if compacted else messages
        assert of_messages(seen) <= plan.room
        assert seen[0] is messages[0]
        assert seen[-1] is messages[-1]
        assert number < 3 or FACT in texts(seen)
        if compacted is not None and compacted.summary is not None:
            memory, folds = compacted.summary, folds + 1
        messages.append(AIMessage(f"answer {number}", id=f"a{number}"))
    assert len([message for message in messages if isinstance(message, HumanMessage)]) == 1_000
    assert 5 <= folds <= 60
    assert not any(isinstance(message, ToolMessage) for message in messages)
