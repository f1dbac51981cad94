"""How long a turn has waited for people: that time is not the agent's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import sqlalchemy as sa

from agent.ledger.tables import APPROVALS
from agent.ledger.turn import Turn

Interval = tuple[datetime, datetime]


def covered(intervals: Iterable[Interval]) -> timedelta:
    """The time that is in at least one interval; one that ends before it begins is empty."""
    total, reached = timedelta(0), None
    for start, end in sorted(intervals):
        begin = start if reached is None else max(start, reached)
        if end > begin:
            total += end - begin
            reached = end
    return total


def waited(connection: sa.Connection, turn: Turn, *, until: datetime) -> timedelta:
    """How long at least one question of the turn was open, up to `until`; proposals stop nobody."""
    table = APPROVALS.c
    rows = connection.execute(
        sa.select(table.created_at, table.decided_at, table.expires_at).where(
            table.tenant == turn.tenant,
            table.thread == turn.thread,
            table.turn == turn.id,
            table.interrupt.is_not(None),
        )
    )
    return covered(
        (created, min(until, decided or until, expires or until)) for created, decided, expires in rows
    )
