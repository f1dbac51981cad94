from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from agent.context import AgentContext, Concurrency
from assistants.server.access import Refused
from assistants.server.waiting import live, message, of_interrupts, stale
from tests.unit.server.waits import CONTEXT, NOON, ONE, TWO, asked, thread

LATE = NOON + timedelta(hours=1)


def test_what_is_asked_and_waited_for_is_live() -> None:
    one, two = asked(ONE), asked(TWO)
    assert live([one, two], thread(ONE, TWO), now=NOON) == [one, two]
    assert live([one, two], thread(TWO), now=NOON) == [two]
    assert live([one, two], thread(), now=NOON) == []


@pytest.mark.parametrize("state", ["approved", "edited", "rejected", "expired", "superseded", "withdrawn"])
def test_what_is_closed_is_neither_live_nor_stale(state: Any) -> None:
    assert live([asked(state=state)], thread(ONE), now=NOON) == []
    assert stale([asked(state=state)], thread()) == []


def test_what_is_late_or_a_proposal_is_not_live() -> None:
    assert live([asked()], thread(ONE), now=LATE) == []
    assert live([asked(None)], thread(ONE), now=NOON) == []


def test_what_no_thread_waits_for_is_stale() -> None:
    """A record whose thread has gone on must never lock it."""
    one, two = asked(ONE), asked(TWO)
    assert stale([one, two], thread(ONE)) == [two]
    assert stale([one, two], thread()) == [one, two]
    assert stale([one], None) == [one], "the thread was deleted"


def test_on_a_busy_thread_nothing_is_stale() -> None:
    """A run records its question before it stops."""
    assert stale([asked()], thread(busy=True)) == []


def test_a_proposal_is_never_stale() -> None:
    assert stale([asked(None)], thread()) == stale([asked(None)], None) == []


def test_of_several_records_of_an_interrupt_the_newest_open_one_counts() -> None:
    newest, older = asked(release="r2"), asked()
    replaced = asked(release="r3", state="superseded")
    assert of_interrupts([newest, older], [ONE]) == {ONE: newest}
    assert of_interrupts([replaced, older], [ONE]) == {ONE: older}
    assert of_interrupts([older, replaced], [ONE]) == {ONE: older}
    assert of_interrupts([replaced], [ONE]) == {ONE: replaced}


def test_records_of_other_interrupts_and_proposals_do_not_count() -> None:
    assert of_interrupts([asked(TWO), asked(None)], [ONE]) == {}
    assert of_interrupts([], [ONE]) == of_interrupts([asked()], []) == {}


def ruled(pending: Any) -> AgentContext:
    return CONTEXT.model_copy(
        update={"concurrency": Concurrency(default="reject", allow=(), pending=pending)}
    )


@pytest.mark.parametrize("context", [ruled("refuse"), CONTEXT], ids=["refuse", "no rule"])
def test_a_message_is_refused_and_told_what_waits(context: AgentContext) -> None:
    one, two = asked(ONE), asked(TWO)
    refused = message(context, [one, two])
    assert isinstance(refused, Refused)
    assert refused.status == 409
    for record in (one, two):
        assert f"orders.refund (approval {record.id})" in refused.detail
    assert "signalbox approvals" in refused.detail
    assert message(context, []) == []


def test_a_message_withdraws_what_waits_where_the_file_says_so() -> None:
    assert message(ruled("reject"), [asked()]) == [asked()]
    assert message(ruled("reject"), []) == []
