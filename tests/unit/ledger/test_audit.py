from __future__ import annotations

import sqlite3
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from agent.ledger import AuditFilter, Broken, Entry, Event, Head, Intact, Ledger, LedgerRefused
from agent.ledger.audit import record
from agent.ledger.database import LedgerDatabase
from agent.ledger.tables import AUDIT, AUDIT_HEADS
from tests.unit.ledger.racing import execute, race, untied
from tests.unit.ledger.samples import NOON, later

pytestmark = pytest.mark.anyio

EVENTS = [
    Event("tool.denied", "acme/u1", thread="t1", turn="m1", facts={"tool": "orders.refund"}),
    Event("approval.requested", "acme/u1", assistant="support", thread="t1", turn="m1"),
    Event("approval.approved", "acme/u2", assistant="support", thread="t1", turn="m1"),
    Event("tool.failed", "acme/u3", thread="t2", turn="m9", facts={"tool": "kb.search"}),
    Event("toolbox.opened", "acme/u1", thread="t2", turn="m9"),
]


async def written(ledger: Ledger, *, tenant: str = "acme") -> list[Entry]:
    return [
        await ledger.audit.append(tenant, event, now=later(minutes=number))
        for number, event in enumerate(EVENTS)
    ]


async def test_entries_come_back_as_they_were_appended(ledger: Ledger) -> None:
    entries = await written(ledger)
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
    assert await ledger.audit.read("acme") == entries
    assert await ledger.audit.head("acme") == Head(5, entries[-1].hash)
    assert await ledger.audit.verify("acme") == Intact(5, Head(5, entries[-1].hash))


async def test_each_tenant_has_a_chain_of_its_own(ledger: Ledger) -> None:
    await written(ledger)
    other = await ledger.audit.append("globex", EVENTS[0], now=NOON)
    assert other.seq == 1
    assert await ledger.audit.read("globex") == [other]
    assert await ledger.audit.verify("globex") == Intact(1, Head(1, other.hash))
    assert await ledger.audit.read("initech") == []
    assert await ledger.audit.verify("initech") == Intact(0, Head(0, "0" * 64))


FILTERS: list[tuple[AuditFilter, list[int]]] = [
    (AuditFilter(), [1, 2, 3, 4, 5]),
    (AuditFilter(action="tool.denied"), [1]),
    (AuditFilter(action="tool."), [1, 4]),
    (AuditFilter(action="tool"), []),
    (AuditFilter(action="t%."), []),
    (AuditFilter(actor="acme/u1"), [1, 2, 5]),
    (AuditFilter(assistant="support"), [2, 3]),
    (AuditFilter(thread="t2", actor="acme/u1"), [5]),
    (AuditFilter(turn="m9"), [4, 5]),
    (AuditFilter(since=later(minutes=1), until=later(minutes=3)), [2, 3]),
    (AuditFilter(after=2, limit=2), [3, 4]),
]


async def test_a_filter_finds_what_matches_and_nothing_else(ledger: Ledger) -> None:
    await written(ledger)
    await written(ledger, tenant="globex")
    found = [await ledger.audit.read("acme", wanted) for wanted, _ in FILTERS]
    assert [[entry.seq for entry in entries] for entries in found] == [seqs for _, seqs in FILTERS]
    assert {entry.tenant for entries in found for entry in entries} == {"acme"}


async def test_text_never_reaches_the_chain(ledger: Ledger) -> None:
    with pytest.raises(LedgerRefused):
        await ledger.audit.append("acme", Event("x", "acme/u1", facts={"text": "my card is 4111"}), now=NOON)
    assert await ledger.audit.read("acme") == []
    assert await ledger.audit.head("acme") == Head(0, "0" * 64)


async def test_the_database_refuses_to_change_or_remove_entries(ledger: Ledger, url: str) -> None:
    entries = await written(ledger)
    for statement in (sa.update(AUDIT).values(actor="acme/u9"), sa.delete(AUDIT)):
        with pytest.raises(DBAPIError, match="append-only"):
            await execute(url, statement)
    assert await ledger.audit.read("acme") == entries


def at(seq: int) -> sa.ColumnElement[bool]:
    return sa.and_(AUDIT.c.tenant == "acme", AUDIT.c.seq == seq)


async def test_one_changed_character_is_found_in_any_column(ledger: Ledger, url: str) -> None:
    await written(ledger)
    intact = await ledger.audit.verify("acme")
    await untied(url)
    outcomes: dict[str, object] = {}
    for column in ("at", "action", "actor", "thread", "turn", "facts", "prev", "hash"):
        original = getattr((await ledger.audit.read("acme"))[3], column)
        await execute(url, sa.update(AUDIT).where(at(4)).values({column: original[:-1] + "~"}))
        outcomes[column] = await ledger.audit.verify("acme")
        await execute(url, sa.update(AUDIT).where(at(4)).values({column: original}))
        assert await ledger.audit.verify("acme") == intact
    assert outcomes == dict.fromkeys(outcomes, Broken(4, "altered"))
    assert len(outcomes) == 8


async def test_a_removed_row_is_found(ledger: Ledger, url: str) -> None:
    await written(ledger)
    await untied(url)
    await execute(url, sa.delete(AUDIT).where(at(2)))
    assert await ledger.audit.verify("acme") == Broken(2, "missing")


async def test_a_swapped_pair_is_found(ledger: Ledger, url: str) -> None:
    await written(ledger)
    await untied(url)
    moves = [(2, 99), (3, 2), (99, 3)]
    await execute(url, *(sa.update(AUDIT).where(at(one)).values(seq=other) for one, other in moves))
    assert await ledger.audit.verify("acme") == Broken(2, "altered")


async def test_a_cut_tail_is_found_even_when_the_stored_head_was_set_back(ledger: Ledger, url: str) -> None:
    entries = await written(ledger)
    remembered = await ledger.audit.head("acme")
    await untied(url)
    await execute(url, sa.delete(AUDIT).where(AUDIT.c.tenant == "acme", AUDIT.c.seq > 3))
    assert await ledger.audit.verify("acme") == Broken(4, "missing")
    await execute(url, sa.update(AUDIT_HEADS).values(seq=3, hash=entries[2].hash))
    assert await ledger.audit.verify("acme") == Intact(3, Head(3, entries[2].hash))
    assert await ledger.audit.verify("acme", remembered=remembered) == Broken(4, "missing")


async def test_a_chain_that_vanished_is_found_by_its_remembered_head(ledger: Ledger, url: str) -> None:
    await written(ledger)
    remembered = await ledger.audit.head("acme")
    await untied(url)
    await execute(url, sa.delete(AUDIT), sa.delete(AUDIT_HEADS))
    assert await ledger.audit.verify("acme", remembered=remembered) == Broken(1, "missing")


async def test_a_remembered_head_that_still_fits_is_no_alarm(ledger: Ledger) -> None:
    await written(ledger)
    remembered = await ledger.audit.head("acme")
    last = await ledger.audit.append("acme", EVENTS[0], now=later(hours=1))
    assert await ledger.audit.verify("acme", remembered=remembered) == Intact(6, Head(6, last.hash))


async def test_a_long_chain_is_verified_over_all_its_batches(
    ledger: Ledger, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.ledger.audit._BATCH", 2)
    entries = await written(ledger)
    assert await ledger.audit.verify("acme") == Intact(5, Head(5, entries[-1].hash))
    await untied(url)
    await execute(url, sa.update(AUDIT).where(at(5)).values(actor="acme/u9"))
    assert await ledger.audit.verify("acme") == Broken(5, "altered")


async def test_bytes_that_are_no_text_are_found_and_not_tripped_over(tmp_path: Path) -> None:
    """One bit on disk can leave invalid UTF-8; SQLite then refuses to read the value as text."""
    file = tmp_path / "signalbox.db"
    ledger = Ledger(f"sqlite+aiosqlite:///{file}")
    await written(ledger)
    await untied(f"sqlite+aiosqlite:///{file}")
    with sqlite3.connect(file) as connection:
        changed = connection.execute(
            "UPDATE ledger_audit SET actor = CAST(x'ff' || substr(actor, 2) AS TEXT) WHERE seq = 4"
        )
        assert changed.rowcount == 1
    connection.close()
    assert await ledger.audit.verify("acme") == Broken(4, "altered")
    assert [entry.seq for entry in await ledger.audit.read("acme")] == [1, 2, 3, 4, 5]
    await ledger.dispose()


async def append_many(ledger: Ledger, number: int) -> list[int]:
    event = Event("tool.denied", f"acme/u{number}", facts={"worker": number})
    return [(await ledger.audit.append("acme", event, now=NOON)).seq for _ in range(10)]


async def test_four_processes_append_to_one_chain(url: str, ledger: Ledger) -> None:
    found = await race(append_many, url, processes=4)
    assert all(numbers == sorted(numbers) for numbers in found)
    assert sorted(seq for numbers in found for seq in numbers) == list(range(1, 41))
    outcome = await ledger.audit.verify("acme")
    assert isinstance(outcome, Intact)
    assert outcome.count == 40


async def test_what_is_rolled_back_leaves_no_gap(ledger: Ledger, url: str) -> None:
    await written(ledger)
    with pytest.raises(RuntimeError, match="after the entry"):
        await roll_back(url, NOON)
    following = await ledger.audit.append("acme", EVENTS[0], now=NOON)
    assert following.seq == 6
    assert await ledger.audit.verify("acme") == Intact(6, Head(6, following.hash))


async def roll_back(url: str, now: datetime) -> None:
    database = LedgerDatabase(url)
    try:
        async with database.writing() as connection:
            assert (await connection.run_sync(record, "acme", EVENTS[0], now=now)).seq == 6
            raise RuntimeError("something fails after the entry")
    finally:
        await database.dispose()
