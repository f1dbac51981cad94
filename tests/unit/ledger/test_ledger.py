from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from blockbuster import BlockingError, blockbuster_ctx
from sqlalchemy.exc import DBAPIError

from agent import ledger as package
from agent.context import Limits
from agent.database import DatabaseRefused, Engines, reading
from agent.ledger import (
    Event,
    Intact,
    Ledger,
    LedgerRefused,
    ModelUse,
    Period,
    Reservation,
    Result,
    Spend,
    ToolUse,
    ledger_url,
)
from agent.ledger.database import VERSION_TABLE, prepare
from agent.ledger.tables import METADATA
from assistants import store
from tests.unit.ledger.racing import execute, race
from tests.unit.ledger.samples import NOON, asking, later, saying, turn

pytestmark = pytest.mark.anyio

T = TypeVar("T")


def test_the_database_is_the_control_planes() -> None:
    assert ledger_url({"SIGNALBOX_DB": "postgresql://db/x"}) == "postgresql://db/x"
    assert ledger_url({"SIGNALBOX_HOME": "data"}) == "sqlite+aiosqlite:///data/signalbox.db"
    assert (
        ledger_url({"SIGNALBOX_DB": "", "SIGNALBOX_HOME": ""})
        == "sqlite+aiosqlite:///.signalbox/signalbox.db"
    )


def test_the_surface_is_sorted_and_documented() -> None:
    assert package.__all__ == sorted(package.__all__, key=lambda name: (not name.isupper(), name))
    assert all(getattr(package, name).__doc__ for name in package.__all__)


async def test_without_a_url_the_environments_database_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger()
    monkeypatch.setenv("SIGNALBOX_DB", f"sqlite+aiosqlite:///{tmp_path / 'given.db'}")
    await ledger.open()
    await ledger.dispose()
    assert (tmp_path / "given.db").exists()


async def inspected(url: str, look: Callable[[sa.Connection], T]) -> T:
    engines = Engines()
    async with reading(engines.get(url)) as connection:
        found = await connection.run_sync(look)
    await engines.dispose()
    return found


def tables(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())


async def test_an_empty_database_gets_exactly_the_tables_that_the_code_knows(url: str) -> None:
    await prepare(url)

    def differences(connection: sa.Connection) -> Any:
        options = {"compare_type": True, "version_table": VERSION_TABLE}
        return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)

    names = await inspected(url, tables)
    assert names == {*METADATA.tables, VERSION_TABLE}
    assert len(names) == 10
    assert await inspected(url, differences) == []


async def test_both_planes_share_a_database(url: str) -> None:
    await store.prepare(url)
    await prepare(url)
    await store.prepare(url)
    assert await inspected(url, tables) == {
        *METADATA.tables,
        *store.metadata.tables,
        VERSION_TABLE,
        store.VERSION_TABLE,
    }


async def test_opening_again_keeps_what_is_there(ledger: Ledger, url: str) -> None:
    entry = await ledger.audit.append("acme", Event("tool.denied", "acme/u1"), now=NOON)
    await ledger.dispose()
    await prepare(url)
    again = Ledger(url)
    assert await again.audit.read("acme") == [entry]
    await again.dispose()
    assert await ledger.audit.read("acme") == [entry], "a disposed ledger opens again"


async def test_a_database_of_a_newer_program_is_refused(ledger: Ledger, url: str) -> None:
    await ledger.open()
    revision = sa.table(VERSION_TABLE, sa.column("version_num", sa.String))
    await execute(url, sa.update(revision).values(version_num="9999"))
    with pytest.raises(DatabaseRefused, match=repr(VERSION_TABLE)):
        await Ledger(url).open()


async def test_the_first_uses_may_come_all_at_once(url: str) -> None:
    ledger = Ledger(url)
    heads = await asyncio.gather(*(ledger.audit.head("acme") for _ in range(8)))
    assert len(set(heads)) == 1
    await ledger.dispose()


async def migrate_from_nothing(ledger: Ledger, number: int) -> int:
    return (await ledger.audit.append("acme", Event("opened", f"acme/u{number}"), now=NOON)).seq


async def test_processes_that_start_together_migrate_once(url: str) -> None:
    assert sorted(await race(migrate_from_nothing, url, processes=3)) == [1, 2, 3]


async def run(ledger: Ledger, number: int, rounds: int = 5) -> str:
    """A run as the harness does it: each round reserves, settles, records and tells; one call is gated."""
    of = turn(f"m{number}", thread=f"t{number}")
    for step in range(rounds):
        key = f"call{step}"
        held = await ledger.budgets.reserve(
            of, spend=Spend(steps=1, model_calls=1, tokens=900, micros=100), limits=Limits(), now=NOON
        )
        assert isinstance(held, Reservation)
        use = ModelUse(
            f"run{number}", "model", "gpt-5-mini", 400, 20, estimated=False, micros=90, latency_ms=5
        )
        await ledger.usage.model(of, use, at=NOON)
        actual = Spend(steps=1, model_calls=1, tokens=420, micros=90)
        assert await ledger.budgets.settle(held, actual=actual, now=NOON) == "settled"
        await ledger.usage.tool(of, ToolUse(f"run{number}", "tools", key, "orders.get", "read", 3), at=NOON)
        assert await ledger.results.put(
            "acme", thread=of.thread, call_id=key, text="done", outcome="ok", now=NOON
        )
        await ledger.audit.append("acme", Event("tool.done", "acme/u1", thread=of.thread), now=NOON)
    request = asking(thread=of.thread, turn=of.id)
    approval = await ledger.approvals.request(request)
    await ledger.approvals.decide("acme", approval.id, saying(), now=NOON)
    granted = await ledger.approvals.granted(
        "acme",
        thread=of.thread,
        turn=of.id,
        call_id="call1",
        digest=request.digest,
        release="r1",
        key="k",
        now=NOON,
    )
    return f"{number} {granted}"


async def assert_whole(ledger: Ledger, *, runs: int) -> None:
    (found,) = await ledger.usage.summary(Period(NOON, later(hours=1)))
    assert (found.runs, found.turns, found.steps) == (runs, runs, 5 * runs)
    assert (found.model_calls, found.tool_calls, found.micros) == (5 * runs, 5 * runs, 450 * runs)
    assert (found.interrupts, found.approved) == (runs, runs)
    assert await ledger.budgets.spent("acme", turn().day) == 450 * runs
    outcome = await ledger.audit.verify("acme")
    assert isinstance(outcome, Intact)
    assert outcome.count == 8 * runs


async def test_eight_runs_in_one_process_never_meet_a_locked_database(ledger: Ledger) -> None:
    answers = await asyncio.gather(*(run(ledger, number) for number in range(8)))
    assert answers == [f"{number} True" for number in range(8)]
    await assert_whole(ledger, runs=8)


async def test_eight_runs_in_eight_processes_never_meet_a_locked_database(url: str, ledger: Ledger) -> None:
    assert await race(run, url, processes=8) == [f"{number} True" for number in range(8)]
    await assert_whole(ledger, runs=8)


async def test_sqlite_writes_ahead(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'signalbox.db'}"
    await prepare(url)

    def mode(connection: sa.Connection) -> object:
        return connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()

    assert await inspected(url, mode) == "wal"


async def test_the_event_loop_is_never_blocked(ledger: Ledger) -> None:
    """The server stops a run that reads a file in its loop."""
    with blockbuster_ctx() as guard:
        # The server allows these too; SQLAlchemy asks for the file's path, which reads nothing.
        guard.functions["os.path.abspath"].deactivate()
        with pytest.raises(BlockingError):
            time.sleep(0)  # noqa: ASYNC251 - the guard is there
        assert await run(ledger, 1) == "1 True"
        await assert_whole(ledger, runs=1)
        await ledger.dispose()


# A model call's end, in one transaction

MODEL = ModelUse("run1", "model", "gpt-5-mini", 400, 20, estimated=False, micros=90, latency_ms=5)
ACTUAL = Spend(steps=2, model_calls=1, tokens=420, micros=90)


async def hold(ledger: Ledger, **options: Any) -> Reservation:
    spend = Spend(model_calls=1, tokens=900, micros=100)
    held = await ledger.budgets.reserve(turn(), spend=spend, limits=Limits(), now=NOON, **options)
    assert isinstance(held, Reservation)
    return held


async def used(ledger: Ledger) -> Spend:
    account = await ledger.budgets.account(turn(), now=NOON)
    assert account is not None
    return account.used


async def test_what_a_model_call_took_is_settled_and_recorded_together(ledger: Ledger) -> None:
    await ledger.spent(await hold(ledger), actual=ACTUAL, use=MODEL, now=later(seconds=5))
    assert await used(ledger) == ACTUAL
    assert await ledger.budgets.spent("acme", turn().day) == 90
    (found,) = await ledger.usage.summary(Period(later(seconds=5), later(seconds=6)))
    assert (found.model_calls, found.tokens_in, found.tokens_out, found.micros) == (1, 400, 20, 90)


async def test_more_than_was_reserved_counts_in_full(ledger: Ledger) -> None:
    beyond = Spend(model_calls=1, tokens=5_000, micros=1_000)
    await ledger.spent(await hold(ledger), actual=beyond, use=MODEL, now=NOON)
    assert await used(ledger) == beyond


async def test_a_call_that_ends_after_its_time_gives_nothing_back(ledger: Ledger) -> None:
    held = await hold(ledger)
    await ledger.spent(held, actual=ACTUAL, use=MODEL, now=held.expires_at)
    assert await used(ledger) == Spend(steps=2, model_calls=1, tokens=900, micros=100)


async def test_what_was_not_reserved_is_neither_settled_nor_recorded(ledger: Ledger) -> None:
    held = await hold(ledger)
    with pytest.raises(LedgerRefused, match="'nobody' is unknown in this turn"):
        await ledger.spent(replace(held, key="nobody"), actual=ACTUAL, use=MODEL, now=NOON)
    assert await used(ledger) == Spend(model_calls=1, tokens=900, micros=100)
    (found,) = await ledger.usage.summary(Period(NOON, later(hours=1)))
    assert (found.runs, found.model_calls, found.micros) == (0, 0, 0)


async def test_a_call_that_cannot_be_recorded_stays_counted_as_reserved(ledger: Ledger) -> None:
    held = await hold(ledger)
    odd = replace(MODEL, latency_ms=2**70)  # more than a database's integer
    with pytest.raises((OverflowError, DBAPIError)):
        await ledger.spent(held, actual=ACTUAL, use=odd, now=NOON)
    assert await used(ledger) == Spend(model_calls=1, tokens=900, micros=100)
    await ledger.spent(held, actual=ACTUAL, use=MODEL, now=NOON)
    assert await used(ledger) == ACTUAL


# A tool call's end, in one transaction

TOOL = ToolUse("run1", "tools", "call1", "orders.refund", "write", 3)
PAID = Result("paid", "ok", 4, NOON)


async def test_a_tool_call_its_result_and_what_the_audit_knows_are_recorded_together(ledger: Ledger) -> None:
    events = [Event("tool.denied", "acme/u1"), Event("tool.shadowed", "acme/u1")]
    await ledger.ended(turn(), TOOL, result=PAID, events=events, now=NOON)
    assert await ledger.results.get("acme", thread="t1", call_id="call1") == PAID
    entries = await ledger.audit.read("acme")
    assert [(entry.seq, entry.action) for entry in entries] == [(1, "tool.denied"), (2, "tool.shadowed")]
    (found,) = await ledger.usage.summary(Period(NOON, later(hours=1)))
    assert (found.tool_calls, found.tool_failures, found.denials) == (1, 0, 0)


async def test_a_call_without_result_or_events_is_only_counted(ledger: Ledger) -> None:
    await ledger.ended(turn(), replace(TOOL, outcome="tool_failed"), now=NOON)
    assert await ledger.results.get("acme", thread="t1", call_id="call1") is None
    assert await ledger.audit.read("acme") == []
    (found,) = await ledger.usage.summary(Period(NOON, later(hours=1)))
    assert (found.tool_calls, found.tool_failures) == (1, 1)


async def test_a_call_that_ended_before_keeps_its_first_good_result(ledger: Ledger) -> None:
    await ledger.ended(turn(), TOOL, result=PAID, now=NOON)
    again = Result("already paid", "ok", 12, later(minutes=1))
    await ledger.ended(turn(), TOOL, result=again, now=later(minutes=1))
    assert await ledger.results.get("acme", thread="t1", call_id="call1") == PAID


async def test_what_the_audit_refuses_leaves_nothing_of_the_call(ledger: Ledger) -> None:
    text = Event("tool.denied", "acme/u1", facts={"tool": "what the user said"})
    good = Event("tool.denied", "acme/u1")
    with pytest.raises(LedgerRefused, match="'tool'"):
        await ledger.ended(turn(), TOOL, result=PAID, events=[good, text], now=NOON)
    assert await ledger.results.get("acme", thread="t1", call_id="call1") is None
    assert await ledger.audit.read("acme") == []
    assert await ledger.usage.summary(Period(NOON, later(hours=1))) == []


@pytest.mark.parametrize("identity", ["x" * 10_000, "nul \x00", "lone \ud83d", "", "a b\nc"])
async def test_a_call_of_any_id_is_recorded(ledger: Ledger, identity: str) -> None:
    of = turn(identity or "m", thread=identity or "t")
    use = replace(TOOL, call_id=identity, tool=identity, run=identity)
    result = Result("nul \x00 lone \ud83d", "ok", 12, NOON)
    event = Event("tool.denied", identity, thread=identity, turn=identity, run=identity)
    await ledger.ended(of, use, result=result, events=[event], now=NOON)
    assert await ledger.results.get("acme", thread=of.thread, call_id=identity) == result
    outcome = await ledger.audit.verify("acme")
    assert isinstance(outcome, Intact)
    assert outcome.count == 1


async def end_one(ledger: Ledger, number: int) -> None:
    event = Event("tool.denied", f"acme/u{number}")
    use = replace(TOOL, run=f"run{number}", call_id=f"call{number}")
    for _ in range(5):
        await ledger.ended(turn(), use, result=PAID, events=[event], now=NOON)


async def test_calls_that_end_in_many_processes_at_once_are_all_there(url: str, ledger: Ledger) -> None:
    await race(end_one, url, processes=4)
    (found,) = await ledger.usage.summary(Period(NOON, later(hours=1)))
    assert (found.runs, found.tool_calls) == (4, 20)
    outcome = await ledger.audit.verify("acme")
    assert isinstance(outcome, Intact)
    assert outcome.count == 20
