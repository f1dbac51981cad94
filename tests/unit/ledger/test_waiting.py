from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ledger import Ledger
from agent.ledger.database import LedgerDatabase
from agent.ledger.waiting import covered, waited
from tests.unit.ledger.samples import NOON, asking, later, saying, turn

pytestmark = pytest.mark.anyio

MINUTES = st.integers(0, 60)


def test_no_interval_covers_no_time() -> None:
    assert covered([]) == timedelta(0)


def test_overlapping_questions_are_waited_for_once() -> None:
    intervals = [(later(minutes=5), later(minutes=10)), (NOON, later(minutes=7))]
    assert covered(intervals) == timedelta(minutes=10)
    assert covered([*intervals, (later(minutes=20), later(minutes=21))]) == timedelta(minutes=11)


def test_an_interval_that_ends_before_it_begins_is_empty() -> None:
    assert covered([(later(minutes=5), NOON)]) == timedelta(0)


@given(st.lists(st.tuples(MINUTES, MINUTES), max_size=8))
def test_the_covered_time_is_that_of_the_minutes_in_any_interval(pairs: list[tuple[int, int]]) -> None:
    minutes = {minute for start, end in pairs for minute in range(start, end)}
    intervals = [(later(minutes=start), later(minutes=end)) for start, end in pairs]
    assert covered(intervals) == timedelta(minutes=len(minutes))


async def test_a_turn_waits_while_a_question_is_open(ledger: Ledger, url: str) -> None:
    database = LedgerDatabase(url)
    approval = await ledger.approvals.request(asking())
    await ledger.approvals.request(asking(call_id="proposal", interrupt=None))
    await ledger.approvals.request(asking(turn="m2"))
    async with database.reading() as connection:
        assert await connection.run_sync(waited, turn(), until=later(minutes=10)) == timedelta(minutes=10)
        expired = await connection.run_sync(waited, turn(), until=later(hours=9))
        assert expired == timedelta(hours=1)
        assert await connection.run_sync(waited, turn(thread="t2"), until=later(hours=9)) == timedelta(0)
    await ledger.approvals.decide("acme", approval.id, saying(), now=later(minutes=3))
    async with database.reading() as connection:
        assert await connection.run_sync(waited, turn(), until=later(hours=9)) == timedelta(minutes=3)
    await database.dispose()
