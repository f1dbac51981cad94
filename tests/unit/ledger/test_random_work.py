"""Budgets under random work, against a model of a few lines: the database must agree at every step."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.context import Limits
from agent.ledger import NOTHING, Ledger, Reservation, Spend
from tests.unit.ledger.samples import NOON, later, turn

LIFETIME = timedelta(minutes=10)
PER_RUN, PER_DAY, TENANT = 60, 100, 130  # micro-dollars


@dataclass(frozen=True)
class Work:
    """One operation, at a minute of the hour; `pick` chooses a turn or an earlier reservation."""

    what: Literal["reserve", "settle", "release"]
    pick: int
    micros: int


@dataclass
class Expected:
    """What the counters should be: money by turn and by assistant, and the state of each reservation."""

    turns: Counter[str] = field(default_factory=Counter[str])
    assistants: Counter[str] = field(default_factory=Counter[str])
    open: dict[str, tuple[str, str, int, int]] = field(default_factory=dict[str, tuple[str, str, int, int]])

    def allows(self, identity: str, assistant: str, amount: int) -> bool:
        if amount == 0:
            return True
        within = (
            self.turns[identity] + amount <= PER_RUN,
            self.assistants[assistant] + amount <= PER_DAY,
            self.assistants.total() + amount <= TENANT,
        )
        return all(within)

    def count(self, identity: str, assistant: str, amount: int) -> None:
        self.turns[identity] += amount
        self.assistants[assistant] += amount


WORK = st.lists(
    st.builds(
        Work,
        what=st.sampled_from(["reserve", "reserve", "settle", "release"]),
        pick=st.integers(0, 5),
        micros=st.integers(0, 50),
    ),
    max_size=20,
)


@settings(max_examples=15, deadline=None)
@given(WORK)
def test_the_counters_are_those_of_the_model_after_any_work(work: list[Work]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(compared(f"sqlite+aiosqlite:///{Path(directory) / 'signalbox.db'}", work))


async def compared(url: str, work: list[Work]) -> None:
    ledger, expected = Ledger(url), Expected()
    made: list[Reservation] = []
    for minute, one in enumerate(work):
        if one.what == "reserve":
            await reserve(ledger, expected, made, one, minute=minute)
        elif made:
            await close(ledger, expected, made[one.pick % len(made)], one, minute=minute)
        for name in ("a", "b"):
            spent = await ledger.budgets.spent("acme", turn().day, assistant=name)
            assert spent == expected.assistants[name]
        assert await ledger.budgets.spent("acme", turn().day) == expected.assistants.total()
    for identity in {held.turn.id for held in made}:
        account = await ledger.budgets.account(turn(identity), now=NOON)
        assert account is not None
        assert account.used.micros == expected.turns[identity]
    await ledger.dispose()


async def reserve(
    ledger: Ledger, expected: Expected, made: list[Reservation], one: Work, *, minute: int
) -> None:
    identity, assistant = f"m{one.pick}", "ab"[one.pick % 2]
    found = await ledger.budgets.reserve(
        turn(identity, assistant=assistant),
        spend=Spend(micros=one.micros),
        limits=Limits(usd_per_run=PER_RUN / 1e6, usd_per_day=PER_DAY / 1e6),
        tenant_usd_per_day=TENANT / 1e6,
        now=later(minutes=minute),
        lifetime=LIFETIME,
    )
    assert isinstance(found, Reservation) is expected.allows(identity, assistant, one.micros)
    if isinstance(found, Reservation):
        expected.count(identity, assistant, one.micros)
        expected.open[found.key] = (identity, assistant, one.micros, minute)
        made.append(found)


async def close(ledger: Ledger, expected: Expected, held: Reservation, one: Work, *, minute: int) -> None:
    now, actual = later(minutes=minute), Spend(micros=one.micros) if one.what == "settle" else NOTHING
    if one.what == "settle":
        outcome = await ledger.budgets.settle(held, actual=actual, now=now)
    else:
        outcome = await ledger.budgets.release(held, now=now)
    entry = expected.open.pop(held.key, None)
    if entry is None:
        assert outcome == "already"
        return
    identity, assistant, reserved, since = entry
    late = timedelta(minutes=minute - since) >= LIFETIME
    assert outcome == ("late" if late else f"{one.what}d")
    expected.count(
        identity, assistant, max(0, actual.micros - reserved) if late else actual.micros - reserved
    )
