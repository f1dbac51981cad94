from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.database import DatabaseRefused, Engines, reading, writing
from assistants import store

pytestmark = pytest.mark.anyio


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'deep' / 'control.db'}"


@pytest.fixture
async def engines() -> AsyncGenerator[Engines]:
    engines = Engines()
    yield engines
    await engines.dispose()


async def inspected(connection: AsyncConnection) -> dict[str, Any]:
    def look(plain: sa.Connection) -> dict[str, Any]:
        inspector = sa.inspect(plain)
        return {
            name: {column["name"]: column for column in inspector.get_columns(name)}
            for name in inspector.get_table_names()
        }

    return await connection.run_sync(look)


async def test_a_new_database_gets_the_tables_that_the_code_knows(database: str, engines: Engines) -> None:
    await store.prepare(database)
    async with reading(engines.get(database)) as connection:
        found = await inspected(connection)
    assert set(found) == {"assistants_schema", "run_counts"}
    known = {table.name: table for table in store.metadata.sorted_tables}
    assert set(known) == {"run_counts"}
    for name, table in known.items():
        assert set(found[name]) == set(table.columns.keys())
        for column in table.columns:
            live = found[name][column.name]
            assert live["nullable"] is column.nullable
            assert bool(live["primary_key"]) is column.primary_key
            assert str(live["type"]) == str(column.type)


async def test_preparing_again_keeps_what_is_there(database: str, engines: Engines) -> None:
    await store.prepare(database)
    async with writing(engines.get(database)) as connection:
        await connection.execute(sa.insert(store.run_counts).values(tenant="acme", minute=1, runs=4))
    await store.prepare(database)
    async with reading(engines.get(database)) as connection:
        rows = (await connection.execute(sa.select(store.run_counts))).all()
    assert [tuple(row) for row in rows] == [("acme", 1, 4)]


async def test_a_tenant_has_one_count_a_minute(database: str, engines: Engines) -> None:
    await store.prepare(database)
    row = sa.insert(store.run_counts).values(tenant="acme", minute=1, runs=1)
    async with writing(engines.get(database)) as connection:
        await connection.execute(row)
    with pytest.raises(IntegrityError):
        async with writing(engines.get(database)) as connection:
            await connection.execute(row)


async def test_a_database_of_a_newer_program_is_refused(database: str, engines: Engines) -> None:
    await store.prepare(database)
    async with writing(engines.get(database)) as connection:
        await connection.execute(sa.text("UPDATE assistants_schema SET version_num = '9999'"))
    with pytest.raises(DatabaseRefused, match="'assistants_schema'") as caught:
        await store.prepare(database)
    assert "control.db" not in str(caught.value)


@pytest.mark.parametrize("url", ["sqlite://", "mysql://localhost/x", "nonsense"])
async def test_a_database_that_cannot_be_shared_is_refused(url: str) -> None:
    with pytest.raises(DatabaseRefused):
        await store.prepare(url)
