from __future__ import annotations

import importlib

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from agent.database import Engines, writing
from agent.ledger.database import VERSION_TABLE, prepare

pytestmark = pytest.mark.anyio

FIRST = importlib.import_module("agent.ledger.migrations.versions.0001_ledger")
SECOND = importlib.import_module("agent.ledger.migrations.versions.0002_requester_roles")


def columns(connection: sa.Connection) -> set[str]:
    return {column["name"] for column in sa.inspect(connection).get_columns("ledger_approvals")}


def back_and_forth(connection: sa.Connection) -> tuple[set[str], set[str]]:
    """The tables after all revisions were taken back, and after they were made again."""
    with Operations.context(MigrationContext.configure(connection)):
        whole = columns(connection)
        SECOND.downgrade()
        assert whole - columns(connection) == {"requester_roles"}
        FIRST.downgrade()
        without = set(sa.inspect(connection).get_table_names())
        FIRST.upgrade()
        SECOND.upgrade()
        assert columns(connection) == whole
        return without, set(sa.inspect(connection).get_table_names())


async def test_the_revisions_can_be_taken_back_and_made_again(url: str) -> None:
    await prepare(url)
    engines = Engines()
    async with writing(engines.get(url)) as connection:
        without, again = await connection.run_sync(back_and_forth)
    await engines.dispose()
    assert without == {VERSION_TABLE}
    assert len(again) == 10
