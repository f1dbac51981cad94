"""The control plane's tables, in the database of `SIGNALBOX_DB`."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from agent.database import migrate

VERSION_TABLE = "assistants_schema"
_MIGRATIONS = Path(__file__).parent / "migrations"

metadata = sa.MetaData()

run_counts = sa.Table(
    "run_counts",
    metadata,
    sa.Column("tenant", sa.String(63), primary_key=True),
    sa.Column("minute", sa.BigInteger, primary_key=True),
    sa.Column("runs", sa.Integer, nullable=False),
)


async def prepare(url: str) -> None:
    """Bring the database at `url` to the newest revision of the control plane's tables.

    Raises:
        DatabaseRefused: The URL is not supported, or a newer version of the program wrote the database.
    """
    await migrate(url, location=_MIGRATIONS, version_table=VERSION_TABLE)
