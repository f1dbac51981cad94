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


def back_and_forth(connection: sa.Connection) -> tuple[set[str], set[str]]:
    """The tables after the first revision was taken back, and after it was made again."""
    with Operations.context(MigrationContext.configure(connection)):
        FIRST.downgrade()
        without = set(sa.inspect(connection).get_table_names())
        FIRST.upgrade()
        return without, set(sa.inspect(connection).get_table_names())


async def test_the_first_revision_can_be_taken_back_and_made_again(url: str) -> None:
    await prepare(url)
    engines = Engines()
    async with writing(engines.get(url)) as connection:
        without, again = await connection.run_sync(back_and_forth)
    await engines.dispose()
    assert without == {VERSION_TABLE}
    assert len(again) == 10
