"""Preparing a database: once, by whoever comes first, without touching what is there."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from agent.database import writing
from agent.shop import seed
from agent.shop.generator import generate
from agent.shop.seed import TENANTS, counts, prepare

pytestmark = pytest.mark.anyio

TABLES = {"customers", "products", "stock", "orders", "order_lines", "refunds"}


def at(folder: Path) -> str:
    return f"sqlite+aiosqlite:///{folder / 'deep' / 'shop.db'}"


def execute(folder: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(folder / "deep" / "shop.db")
    try:
        with connection:
            return connection.execute(statement).fetchall()
    finally:
        connection.close()


async def test_a_fresh_database_is_filled(tmp_path: Path) -> None:
    await prepare(at(tmp_path))
    rows = await counts(at(tmp_path))
    assert list(rows) == ["acme", "globex", "lantern"]
    for tenant in TENANTS:
        made = generate(tenant)
        assert set(rows[tenant]) == TABLES
        assert rows[tenant] == {table: len(getattr(made, table)) for table in TABLES}


async def test_again_it_changes_nothing(tmp_path: Path) -> None:
    await prepare(at(tmp_path))
    execute(tmp_path, "DELETE FROM refunds WHERE tenant = 'acme'")
    execute(tmp_path, "UPDATE customers SET name = 'Changed' WHERE tenant = 'acme' AND id = 'C-0001'")
    before = await counts(at(tmp_path))
    await prepare(at(tmp_path))
    assert await counts(at(tmp_path)) == before
    assert before["acme"]["refunds"] == 0
    assert execute(tmp_path, "SELECT id FROM customers WHERE name = 'Changed'") == [("C-0001",)]


async def test_a_tenant_can_be_added_later(tmp_path: Path) -> None:
    await prepare(at(tmp_path), tenants=["acme"])
    assert (await counts(at(tmp_path)))["lantern"] == dict.fromkeys(TABLES, 0)
    await prepare(at(tmp_path), tenants=["acme", "lantern"])
    rows = await counts(at(tmp_path))
    assert rows["acme"]["orders"] == rows["lantern"]["orders"] == 700
    assert rows["globex"] == dict.fromkeys(TABLES, 0)


async def test_a_tenant_without_a_made_up_world_starts_empty(tmp_path: Path) -> None:
    await prepare(at(tmp_path), tenants=["acme", "umbrella"])
    rows = await counts(at(tmp_path), tenants=["acme", "umbrella"])
    assert rows["umbrella"] == dict.fromkeys(TABLES, 0)
    assert rows["acme"]["customers"] == 150


async def test_no_tenants_are_no_rows_but_a_schema(tmp_path: Path) -> None:
    await prepare(at(tmp_path), tenants=[])
    assert await counts(at(tmp_path)) == {tenant: dict.fromkeys(TABLES, 0) for tenant in TENANTS}


async def test_another_seed_fills_in_other_rows(tmp_path: Path) -> None:
    await prepare(at(tmp_path), tenants=["acme"], seed=7)
    [(name,)] = execute(tmp_path, "SELECT name FROM customers WHERE id = 'C-0001'")
    assert name == generate("acme", 7).customers[0]["name"]
    assert name != generate("acme").customers[0]["name"]


async def test_the_stored_rows_are_the_generated_ones(tmp_path: Path) -> None:
    await prepare(at(tmp_path), tenants=["lantern"])
    stored = execute(
        tmp_path,
        "SELECT number, customer, status, total_minor, placed_on, delivered_on FROM orders ORDER BY number",
    )
    columns = ("number", "customer", "status", "total_minor", "placed_on", "delivered_on")
    made = [
        tuple(value if value is None or isinstance(value, int) else str(value) for value in row)
        for row in ([order[column] for column in columns] for order in generate("lantern").orders)
    ]
    assert stored == made


async def test_many_at_once_in_one_process_seed_once(tmp_path: Path) -> None:
    await asyncio.gather(*(prepare(at(tmp_path)) for _ in range(4)))
    rows = await counts(at(tmp_path))
    assert {tenant: rows[tenant]["orders"] for tenant in TENANTS} == dict.fromkeys(TENANTS, 700)


async def test_several_processes_at_once_seed_once(tmp_path: Path) -> None:
    async def process() -> tuple[int | None, str, str]:
        started = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-W", "error", "-m", "agent.shop", "--url", at(tmp_path)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await started.communicate()
        return started.returncode, out.decode(), err.decode()

    results = await asyncio.gather(*(process() for _ in range(3)))
    assert [(code, err) for code, _out, err in results] == [(0, "")] * 3
    assert len({out for _code, out, _err in results}) == 1
    rows = await counts(at(tmp_path))
    assert {tenant: rows[tenant]["customers"] for tenant in TENANTS} == dict.fromkeys(TENANTS, 150)


async def test_whoever_comes_second_finds_the_rows_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both see an empty database before either has the lock; only the first may fill it."""
    await prepare(at(tmp_path), tenants=[])
    both_looked = asyncio.Barrier(2)
    entered: list[str | None] = []

    @asynccontextmanager
    async def after_both(engine: AsyncEngine, *, exclusive: str | None) -> AsyncGenerator[AsyncConnection]:
        await both_looked.wait()
        async with writing(engine, exclusive=exclusive) as connection:
            entered.append(exclusive)
            yield connection

    monkeypatch.setattr(seed, "writing", after_both)
    await asyncio.gather(*(prepare(at(tmp_path), tenants=["acme"]) for _ in range(2)))
    assert entered == ["shop-seed", "shop-seed"]
    assert (await counts(at(tmp_path), tenants=["acme"]))["acme"]["orders"] == 700
