from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.database import DatabaseRefused
from agent.ledger.chain import GENESIS
from agent.ledger.database import LedgerDatabase, insert_new
from agent.ledger.tables import AUDIT_HEADS, METADATA

pytestmark = pytest.mark.anyio


def head(tenant: str, seq: int = 0) -> dict[str, object]:
    return {"tenant": tenant, "seq": seq, "hash": GENESIS}


async def heads(database: LedgerDatabase) -> list[tuple[str, int]]:
    query = sa.select(AUDIT_HEADS.c.tenant, AUDIT_HEADS.c.seq).order_by(AUDIT_HEADS.c.tenant)
    async with database.reading() as connection:
        seen = [(tenant, seq) for tenant, seq in await connection.execute(query)]
    told = await database.read(lambda c: [(tenant, seq) for tenant, seq in c.execute(query)])
    assert told == seen
    return seen


def put(row: dict[str, object]) -> Callable[[sa.Connection], bool]:
    return lambda connection: insert_new(connection, AUDIT_HEADS, row)


async def test_a_row_is_inserted_unless_its_key_exists(url: str) -> None:
    database = LedgerDatabase(url)
    assert await database.write(put(head("acme", 1)))
    assert not await database.write(put(head("acme", 2)))
    assert await database.write(put(head("globex", 3)))
    assert await heads(database) == [("acme", 1), ("globex", 3)]
    await database.dispose()


async def test_an_error_takes_everything_of_its_transaction_back(url: str) -> None:
    database = LedgerDatabase(url)

    def fail(connection: sa.Connection) -> None:
        assert insert_new(connection, AUDIT_HEADS, head("acme"))
        raise RuntimeError("after the row")

    with pytest.raises(RuntimeError, match="after the row"):
        await database.write(fail)
    assert await heads(database) == []
    await database.dispose()


async def test_a_database_is_used_from_several_event_loops(url: str) -> None:
    database = LedgerDatabase(url)
    await database.write(put(head("acme")))

    async def elsewhere() -> list[tuple[str, int]]:
        await database.write(put(head("globex")))
        found = await heads(database)
        await database.dispose()
        return found

    assert await asyncio.to_thread(asyncio.run, elsewhere()) == [("acme", 0), ("globex", 0)]
    assert await heads(database) == [("acme", 0), ("globex", 0)]
    await database.dispose()


async def test_a_transaction_on_a_file_ends_even_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    database = LedgerDatabase(f"sqlite+aiosqlite:///{tmp_path / 'ledger.db'}")
    await database.open()
    begun, go = threading.Event(), threading.Event()

    def slow(connection: sa.Connection) -> None:
        begun.set()
        go.wait(10)
        insert_new(connection, AUDIT_HEADS, head("acme"))

    writing = asyncio.create_task(database.write(slow))
    assert await asyncio.to_thread(begun.wait, 10)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    go.set()
    assert await database.write(put(head("globex")))
    assert await heads(database) == [("acme", 0), ("globex", 0)]
    await database.dispose()


async def test_transactions_of_many_callers_wait_for_each_other(url: str) -> None:
    database = LedgerDatabase(url)
    await database.open()
    assert await database.write(put(head("acme")))

    def more(connection: sa.Connection) -> int:
        column = AUDIT_HEADS.c.seq
        row = connection.execute(sa.select(column).where(AUDIT_HEADS.c.tenant == "acme").with_for_update())
        seq = row.scalar_one() + 1
        connection.execute(sa.update(AUDIT_HEADS).values(seq=seq))
        return seq

    counted = await asyncio.gather(*[database.write(more) for _ in range(20)])
    assert sorted(counted) == list(range(1, 21))
    await database.dispose()


@pytest.mark.parametrize("url", ["sqlite://", "mysql://localhost/x", "nonsense"])
async def test_a_database_that_cannot_be_shared_is_refused(url: str) -> None:
    with pytest.raises(DatabaseRefused):
        await LedgerDatabase(url).open()


def test_every_table_has_a_name_of_its_own_and_knows_its_tenant() -> None:
    """Another program's tables may live beside these; a row without a tenant would be everybody's."""
    assert len(METADATA.tables) == 9
    for name, table in METADATA.tables.items():
        assert name.startswith("ledger_")
        assert "tenant" in table.c
        assert not table.c.tenant.nullable


def test_no_column_of_the_audit_could_hold_a_message() -> None:
    columns = set(METADATA.tables["ledger_audit"].columns.keys())
    assert not columns & {"text", "content", "message", "arguments", "reason"}
    lengths = {
        column.name: column.type.length
        for column in METADATA.tables["ledger_audit"].columns
        if isinstance(column.type, sa.String) and not isinstance(column.type, sa.Text)
    }
    assert len(lengths) == 11
    assert max(length or 0 for length in lengths.values()) == 200
