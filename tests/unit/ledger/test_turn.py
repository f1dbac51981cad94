from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from agent.context import AgentContext, Stamp
from agent.ledger import Turn, day
from tests.unit.ledger.samples import NOON


def context(*, unattended: bool = False) -> AgentContext:
    stamp = Stamp(principal="acme/u1", unattended=unattended, mac="00")
    return AgentContext(tenant="acme", assistant="support", release="r1", stamp=stamp)


def test_a_persons_turn_is_named_by_the_message() -> None:
    found = Turn.of(context(), thread="t1", message="m1", run="run1", now=NOON)
    assert found == Turn("acme", "t1", "m1", "support", "r1", date(2026, 3, 1))


def test_a_resume_and_a_retry_are_the_same_turn() -> None:
    first = Turn.of(context(), thread="t1", message="m1", run="run1", now=NOON)
    assert Turn.of(context(), thread="t1", message="m1", run="run2", now=NOON) == first


@pytest.mark.parametrize(
    ("unattended", "thread", "message"),
    [(True, "t1", "m1"), (False, "", "m1"), (False, "t1", None), (False, "t1", "")],
    ids=["schedule", "stateless", "no message", "empty message id"],
)
def test_without_a_person_or_a_thread_the_run_is_the_turn(
    unattended: bool,  # noqa: FBT001 - a parameter of the table
    thread: str,
    message: str | None,
) -> None:
    found = Turn.of(context(unattended=unattended), thread=thread, message=message, run="run1", now=NOON)
    assert (found.thread, found.id) == (thread, "run1")


def test_a_context_without_a_stamp_counts_as_a_persons() -> None:
    bare = AgentContext(tenant="acme", assistant="support", release="r1")
    assert Turn.of(bare, thread="t1", message="m1", run="run1", now=NOON).id == "m1"


def test_an_id_that_no_database_takes_is_replaced_by_its_digest() -> None:
    found = Turn.of(context(), thread="t1", message="m\x00" * 500, run="run1", now=NOON)
    assert found.id.startswith("sha256:")


def test_the_day_is_the_utc_date() -> None:
    berlin = timezone(timedelta(hours=1))
    assert day(datetime(2026, 3, 2, 0, 59, tzinfo=berlin)) == date(2026, 3, 1)
    assert day(datetime(2026, 3, 2, 1, 0, tzinfo=berlin)) == date(2026, 3, 2)
    assert day(datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)) == date(2026, 3, 1)
