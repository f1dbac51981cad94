"""The migration makes what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from agent.shop.seed import VERSION_TABLE
from agent.shop.tables import METADATA


@pytest.fixture
def migrated(template: Path) -> sa.Engine:
    return sa.create_engine(f"sqlite:///{template}", poolclass=sa.NullPool)


def constraints(connection: sa.Connection, table: str) -> set[str | None]:
    inspector = sa.inspect(connection)
    return {
        *(key["name"] for key in inspector.get_foreign_keys(table)),
        *(unique["name"] for unique in inspector.get_unique_constraints(table)),
        *(check["name"] for check in inspector.get_check_constraints(table)),
    }


@pytest.mark.anyio
async def test_the_migrated_database_has_exactly_the_tables_of_the_code(migrated: sa.Engine) -> None:
    with migrated.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert context.get_current_revision() == "0001"
        assert compare_metadata(context, METADATA) == []
        assert set(sa.inspect(connection).get_table_names()) == {*METADATA.tables, VERSION_TABLE}


@pytest.mark.anyio
async def test_the_migrated_database_has_the_constraints_of_the_code(migrated: sa.Engine) -> None:
    with migrated.connect() as connection:
        for table in METADATA.sorted_tables:
            named = {constraint.name for constraint in table.constraints if constraint.name is not None}
            assert constraints(connection, table.name) == named


@pytest.mark.parametrize("table", METADATA.sorted_tables, ids=lambda table: table.name)
def test_the_tenant_leads_every_key_and_index(table: sa.Table) -> None:
    assert next(iter(table.primary_key.columns)).name == "tenant"
    assert table.c.tenant.nullable is False
    for index in table.indexes:
        assert next(iter(index.columns)).name == "tenant"
    for constraint in table.constraints:
        if isinstance(constraint, sa.UniqueConstraint | sa.ForeignKeyConstraint):
            assert next(iter(constraint.columns)).name == "tenant"


@pytest.mark.parametrize("table", METADATA.sorted_tables, ids=lambda table: table.name)
def test_amounts_are_whole_numbers(table: sa.Table) -> None:
    amounts = [column for column in table.columns if column.name.endswith("_minor")]
    assert all(isinstance(column.type, sa.BigInteger) for column in amounts)
    assert not any(isinstance(column.type, sa.Numeric | sa.Float) for column in table.columns)


@pytest.mark.parametrize("table", METADATA.sorted_tables, ids=lambda table: table.name)
def test_the_tables_can_be_made_on_postgres_without_counters(table: sa.Table) -> None:
    statement = str(CreateTable(table).compile(dialect=postgresql.dialect()))
    assert "SERIAL" not in statement
    assert "tenant VARCHAR(64) NOT NULL" in statement
