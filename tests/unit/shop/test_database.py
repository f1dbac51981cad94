"""Engines, transactions and migrations on real SQLite files."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from agent import database
from agent.database import (
    DatabaseRefused,
    Engines,
    UtcDateTime,
    advisory_lock,
    migrate,
    parse,
    reading,
    writing,
)

pytestmark = pytest.mark.anyio

ENVIRONMENT = """
from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.get_main_option("version_table"),
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
"""

METADATA = sa.MetaData()
PLACES = sa.Table("places", METADATA, sa.Column("name", sa.String(20), primary_key=True))
VISITS = sa.Table(
    "visits",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("place", sa.String(20), sa.ForeignKey("places.name"), nullable=False),
    sa.Column("at", UtcDateTime),
)


def revision(name: str, *, after: str | None, steps: str) -> str:
    body = "".join(f"    {line}\n" for line in steps.strip().splitlines())
    return (
        "import sqlalchemy as sa\nfrom alembic import op\n"
        f"revision = {name!r}\ndown_revision = {after!r}\n\ndef upgrade():\n{body}"
    )


def environment(folder: Path, *revisions: tuple[str, str]) -> Path:
    """An Alembic environment whose revisions follow each other; each is a name and its steps."""
    (folder / "versions").mkdir(parents=True, exist_ok=True)
    (folder / "env.py").write_text(ENVIRONMENT)
    after: str | None = None
    for name, steps in revisions:
        (folder / "versions" / f"{name}.py").write_text(revision(name, after=after, steps=steps))
        after = name
    return folder


def created(table: str) -> str:
    return f"op.create_table({table!r}, sa.Column('id', sa.Integer, primary_key=True))"


def tables(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        connection.close()


def value(path: Path, query: str) -> object:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchone()[0]
    finally:
        connection.close()


@pytest.fixture
async def engines() -> AsyncGenerator[Engines]:
    opened = Engines()
    yield opened
    await opened.dispose()


@pytest.fixture
async def engine(engines: Engines, tmp_path: Path) -> AsyncEngine:
    made = engines.get(f"sqlite:///{tmp_path / 'a.db'}")
    async with made.begin() as connection:
        await connection.run_sync(METADATA.create_all)
    return made


class TestParse:
    @pytest.mark.parametrize(
        ("given", "driver"),
        [
            ("sqlite:///data/shop.db", "sqlite+aiosqlite"),
            ("sqlite+aiosqlite:////var/shop.db", "sqlite+aiosqlite"),
            ("postgres://u:p@db/shop", "postgresql+psycopg"),
            ("postgresql://u:p@db/shop?sslmode=require", "postgresql+psycopg"),
            ("postgresql+psycopg://db/shop", "postgresql+psycopg"),
        ],
    )
    def test_a_url_gets_the_driver_of_the_project(self, given: str, driver: str) -> None:
        assert parse(given).drivername == driver

    def test_a_relative_file_lies_below_the_working_directory(self) -> None:
        assert parse("sqlite:///data/shop.db").database == str(Path.cwd() / "data" / "shop.db")
        assert parse("sqlite:////srv/shop.db").database == "/srv/shop.db"

    def test_everything_but_the_driver_stays(self) -> None:
        url = parse("postgres://user:word@db:5433/shop?sslmode=require")
        assert (url.username, url.password, url.host, url.port) == ("user", "word", "db", 5433)
        assert url.database == "shop"
        assert url.query == {"sslmode": "require"}

    @pytest.mark.parametrize("given", ["mysql://u:hush@h/d", "postgresql+asyncpg://u:hush@h/d"])
    def test_another_database_is_refused_without_its_password(self, given: str) -> None:
        with pytest.raises(DatabaseRefused) as refused:
            parse(given)
        assert repr(given.partition(":")[0]) in refused.value.detail
        assert "hush" not in str(refused.value)

    @pytest.mark.parametrize("given", ["", "shop.db", "://"])
    def test_what_is_no_url_is_refused(self, given: str) -> None:
        with pytest.raises(DatabaseRefused, match="cannot be read"):
            parse(given)

    @pytest.mark.parametrize(
        "given",
        ["sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?cache=shared&uri=true"],
    )
    def test_sqlite_without_a_file_is_refused(self, given: str) -> None:
        with pytest.raises(DatabaseRefused, match="in-memory"):
            parse(given)


class TestEngines:
    async def test_one_url_has_one_engine_in_a_loop(self, engines: Engines, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        first = engines.get(f"sqlite:///{path}")
        assert engines.get(f"sqlite+aiosqlite:///{path}") is first
        assert engines.get(f"sqlite:///{tmp_path / 'b.db'}") is not first

    async def test_another_loop_has_an_engine_of_its_own(self, engines: Engines, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'a.db'}"
        here = engines.get(url)

        async def elsewhere() -> bool:
            there = engines.get(url)
            async with reading(there) as connection:
                assert await connection.scalar(sa.select(sa.literal(1))) == 1
            await engines.dispose()
            return there is here

        assert await asyncio.to_thread(asyncio.run, elsewhere()) is False
        async with reading(here) as connection:
            assert await connection.scalar(sa.select(sa.literal(2))) == 2
        assert engines.get(url) is here

    async def test_after_dispose_the_next_engine_works(self, engines: Engines, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'a.db'}"
        first = engines.get(url)
        await engines.dispose()
        second = engines.get(url)
        assert second is not first
        async with reading(second) as connection:
            assert await connection.scalar(sa.select(sa.literal(3))) == 3

    async def test_dispose_without_an_engine_does_nothing(self) -> None:
        await Engines().dispose()

    async def test_a_driver_that_is_not_installed_is_named(
        self, engines: Engines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(DatabaseRefused, match="'psycopg' for 'postgresql\\+psycopg' is not installed"):
            engines.get("postgresql://u:hush@h/d")

    async def test_connections_check_foreign_keys_and_wait_for_locks(self, engine: AsyncEngine) -> None:
        async with reading(engine) as connection:
            settings = {
                name: await connection.scalar(sa.text(f"PRAGMA {name}"))
                for name in ("foreign_keys", "busy_timeout", "synchronous")
            }
        assert settings == {"foreign_keys": 1, "busy_timeout": 5000, "synchronous": 1}


class TestTransactions:
    async def test_what_was_written_is_there_afterwards(self, engine: AsyncEngine) -> None:
        async with writing(engine) as connection:
            await connection.execute(sa.insert(PLACES).values(name="Ulm"))
        async with reading(engine) as connection:
            assert (await connection.scalars(sa.select(PLACES.c.name))).all() == ["Ulm"]

    async def test_an_error_takes_everything_back(self, engine: AsyncEngine) -> None:
        async def fail() -> None:
            async with writing(engine) as connection:
                await connection.execute(sa.insert(PLACES).values(name="Ulm"))
                raise KeyError("interrupted")

        with pytest.raises(KeyError, match="interrupted"):
            await fail()
        async with reading(engine) as connection:
            assert (await connection.scalars(sa.select(PLACES.c.name))).all() == []

    async def test_a_row_that_refers_to_nothing_is_refused(self, engine: AsyncEngine) -> None:
        async with writing(engine) as connection:
            with pytest.raises(IntegrityError):
                await connection.execute(sa.insert(VISITS).values(place="nowhere"))

    async def test_writers_wait_for_each_other_from_the_start(self, engine: AsyncEngine) -> None:
        order: list[str] = []
        inside, leave = asyncio.Event(), asyncio.Event()

        async def first() -> None:
            async with writing(engine):
                order.append("first in")
                inside.set()
                await leave.wait()
                order.append("first out")

        async def second() -> None:
            await inside.wait()
            asyncio.get_running_loop().call_later(0.1, leave.set)
            async with writing(engine):
                order.append("second in")

        await asyncio.gather(first(), second())
        assert order == ["first in", "first out", "second in"]

    async def test_readers_see_the_last_commit_while_someone_writes(self, engine: AsyncEngine) -> None:
        await migrate(
            str(engine.url),
            location=environment(Path(str(engine.url.database)).parent / "m"),
            version_table="v",
        )
        async with writing(engine) as writer:
            await writer.execute(sa.insert(PLACES).values(name="Ulm"))
            async with reading(engine) as reader:
                assert (await reader.scalars(sa.select(PLACES.c.name))).all() == []

    async def test_concurrent_counting_loses_nothing(self, engine: AsyncEngine) -> None:
        async def visit() -> None:
            async with writing(engine, exclusive="visits") as connection:
                highest = await connection.scalar(sa.select(sa.func.max(VISITS.c.id))) or 0
                await connection.execute(sa.insert(VISITS).values(id=highest + 1, place="Ulm"))

        async with writing(engine) as connection:
            await connection.execute(sa.insert(PLACES).values(name="Ulm"))
        await asyncio.gather(*(visit() for _ in range(20)))
        async with reading(engine) as connection:
            ids = (await connection.scalars(sa.select(VISITS.c.id).order_by(VISITS.c.id))).all()
        assert ids == list(range(1, 21))

    def test_a_named_lock_has_one_signed_64_bit_key_on_postgres(self) -> None:
        compiled = [
            advisory_lock(name).compile(dialect=postgresql.dialect())
            for name in ("shop-seed", "shop-seed", "migrations")
        ]
        keys = [next(iter(statement.params.values())) for statement in compiled]
        assert keys[0] == keys[1] != keys[2]
        assert all(-(2**63) <= key < 2**63 for key in keys)
        assert "pg_advisory_xact_lock" in str(compiled[0])


class TestUtcDateTime:
    async def test_a_moment_comes_back_in_utc(self, engine: AsyncEngine) -> None:
        moment = datetime(2026, 11, 1, 9, 30, tzinfo=timezone(timedelta(hours=8)))
        async with writing(engine) as connection:
            await connection.execute(sa.insert(PLACES).values(name="Ulm"))
            await connection.execute(sa.insert(VISITS).values(id=1, place="Ulm", at=moment))
            await connection.execute(sa.insert(VISITS).values(id=2, place="Ulm", at=None))
        async with reading(engine) as connection:
            found = (await connection.scalars(sa.select(VISITS.c.at).order_by(VISITS.c.id))).all()
        assert found[0] == moment
        assert found[0].utcoffset() == timedelta(0)
        assert found[0].hour == 1
        assert found[1] is None

    def test_postgres_keeps_the_zone(self) -> None:
        moment = datetime(2026, 11, 1, 9, 30, tzinfo=timezone(timedelta(hours=8)))
        bound = UtcDateTime().process_bind_param(moment, postgresql.dialect())
        assert bound == moment
        assert bound is not None
        assert bound.tzinfo is UTC
        result = UtcDateTime().process_result_value(moment, postgresql.dialect())
        assert result == moment
        assert result is not None
        assert result.tzinfo is UTC

    @pytest.mark.parametrize("dialect", [postgresql.dialect(), sqlite.dialect()])
    def test_a_moment_without_a_zone_is_refused(self, dialect: sa.Dialect) -> None:
        naive = datetime(2026, 11, 1, 9, 30, tzinfo=UTC).replace(tzinfo=None)
        with pytest.raises(DatabaseRefused, match="'2026-11-01T09:30:00' has no time zone"):
            UtcDateTime().process_bind_param(naive, dialect)


class TestMigrate:
    async def test_it_creates_folder_file_and_tables(self, tmp_path: Path) -> None:
        path = tmp_path / "deep" / "er" / "a.db"
        location = environment(tmp_path / "m", ("0001", created("one")))
        await migrate(f"sqlite:///{path}", location=location, version_table="my_version")
        assert tables(path) == {"one", "my_version"}
        assert value(path, "SELECT version_num FROM my_version") == "0001"
        assert value(path, "PRAGMA journal_mode") == "wal"

    async def test_again_it_changes_nothing_and_later_it_adds_what_is_new(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        url = f"sqlite:///{path}"
        location = environment(tmp_path / "m", ("0001", created("one")))
        await migrate(url, location=location, version_table="v")
        await migrate(url, location=location, version_table="v")
        assert tables(path) == {"one", "v"}
        environment(location, ("0001", created("one")), ("0002", created("two")))
        await migrate(url, location=location, version_table="v")
        assert tables(path) == {"one", "two", "v"}
        assert value(path, "SELECT version_num FROM v") == "0002"

    async def test_two_environments_share_a_database(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        shop = environment(tmp_path / "shop", ("0001", created("orders")))
        ledger = environment(tmp_path / "ledger", ("0001", created("usage")), ("0002", created("audit")))
        await asyncio.gather(
            migrate(f"sqlite:///{path}", location=shop, version_table="shop_version"),
            migrate(f"sqlite:///{path}", location=ledger, version_table="ledger_version"),
        )
        assert tables(path) == {"orders", "usage", "audit", "shop_version", "ledger_version"}
        assert value(path, "SELECT version_num FROM shop_version") == "0001"
        assert value(path, "SELECT version_num FROM ledger_version") == "0002"

    async def test_many_at_once_run_each_step_once(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        steps = "\n".join((created("one"), "op.execute('INSERT INTO one VALUES (1)')"))
        location = environment(tmp_path / "m", ("0001", steps))
        await asyncio.gather(
            *(migrate(f"sqlite:///{path}", location=location, version_table="v") for _ in range(8))
        )
        assert value(path, "SELECT count(*) FROM one") == 1

    async def test_migrations_of_different_databases_at_once_do_not_mix(self, tmp_path: Path) -> None:
        """Alembic's `op` is a global; each step pauses between two tables, so that the others could run."""
        pause = "import threading; threading.Event().wait(0.02)"
        names = [f"db{index}" for index in range(4)]
        await asyncio.gather(
            *(
                migrate(
                    f"sqlite:///{tmp_path / name}",
                    location=environment(
                        tmp_path / f"m-{name}",
                        ("0001", "\n".join((created(f"{name}_a"), pause, created(f"{name}_b")))),
                    ),
                    version_table="v",
                )
                for name in names
            )
        )
        made = {name: tables(tmp_path / name) for name in names}
        assert made == {name: {f"{name}_a", f"{name}_b", "v"} for name in names}

    async def test_a_step_that_fails_takes_the_earlier_ones_back(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        location = environment(
            tmp_path / "m", ("0001", created("one")), ("0002", created("two") + "\nraise KeyError('broken')")
        )
        with pytest.raises(KeyError, match="broken"):
            await migrate(f"sqlite:///{path}", location=location, version_table="v")
        assert tables(path) == set()

    async def test_a_database_of_a_newer_version_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        url = f"sqlite:///{path}"
        newer = environment(tmp_path / "new", ("0001", created("one")), ("0002", created("two")))
        await migrate(url, location=newer, version_table="v")
        older = environment(tmp_path / "old", ("0001", created("one")))
        with pytest.raises(DatabaseRefused, match="newest revision of 'v'") as refused:
            await migrate(url, location=older, version_table="v")
        assert str(tmp_path) not in str(refused.value)
        assert value(path, "SELECT version_num FROM v") == "0002"

    async def test_a_missing_environment_is_refused_without_its_path(self, tmp_path: Path) -> None:
        with pytest.raises(DatabaseRefused) as refused:
            await migrate(f"sqlite:///{tmp_path / 'a.db'}", location=tmp_path / "none", version_table="v")
        assert str(tmp_path) not in str(refused.value)

    async def test_a_folder_with_a_percent_sign_is_found(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        location = environment(tmp_path / "100%s", ("0001", created("one")))
        await migrate(f"sqlite:///{path}", location=location, version_table="v")
        assert "one" in tables(path)

    async def test_replacing_a_table_keeps_the_rows_that_refer_to_it(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        first = """
op.create_table('places', sa.Column('name', sa.String(20), primary_key=True))
op.create_table('visits', sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('place', sa.String(20), sa.ForeignKey('places.name', ondelete='CASCADE')))
op.execute("INSERT INTO places VALUES ('Ulm')")
op.execute("INSERT INTO visits VALUES (1, 'Ulm')")
"""
        second = """
with op.batch_alter_table('places', recreate='always') as batch:
    batch.add_column(sa.Column('river', sa.String(20)))
"""
        location = environment(tmp_path / "m", ("0001", first), ("0002", second))
        await migrate(f"sqlite:///{path}", location=location, version_table="v")
        assert value(path, "SELECT place FROM visits") == "Ulm"
        assert value(path, "SELECT river FROM places") is None

    async def test_a_step_that_leaves_broken_references_is_taken_back(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        first = """
op.create_table('places', sa.Column('name', sa.String(20), primary_key=True))
op.create_table('visits', sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('place', sa.String(20), sa.ForeignKey('places.name')))
op.execute("INSERT INTO places VALUES ('Ulm')")
op.execute("INSERT INTO visits VALUES (1, 'Ulm')")
"""
        location = environment(tmp_path / "m", ("0001", first))
        await migrate(f"sqlite:///{path}", location=location, version_table="v")
        environment(location, ("0001", first), ("0002", "op.execute('DELETE FROM places')"))
        with pytest.raises(DatabaseRefused, match="'visits' that refer to missing rows of 'places'"):
            await migrate(f"sqlite:///{path}", location=location, version_table="v")
        assert value(path, "SELECT count(*) FROM places") == 1
        assert value(path, "SELECT version_num FROM v") == "0001"

    async def test_the_switch_of_mode_waits_for_a_busy_database(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.db"
        blocker = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        blocker.execute("CREATE TABLE busy (id INTEGER)")
        blocker.execute("BEGIN IMMEDIATE")
        pauses: list[float] = []

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            blocker.rollback()

        monkeypatch.setattr("agent.database.time.sleep", pause)
        monkeypatch.setattr(database, "_MIGRATION_PATIENCE", 30.0)
        location = environment(tmp_path / "m", ("0001", created("one")))
        try:
            await migrate(f"sqlite:///{path}", location=location, version_table="v")
        finally:
            blocker.close()
        assert len(pauses) == 1
        assert tables(path) == {"busy", "one", "v"}
        assert value(path, "PRAGMA journal_mode") == "wal"

    async def test_a_database_that_stays_busy_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.db"
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("CREATE TABLE busy (id INTEGER)")
        blocker.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(database, "_MIGRATION_PATIENCE", 0.05)
        location = environment(tmp_path / "m", ("0001", created("one")))
        try:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                await migrate(f"sqlite:///{path}", location=location, version_table="v")
        finally:
            blocker.close()
        assert tables(path) == {"busy"}

    async def test_a_missing_driver_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(DatabaseRefused, match="'psycopg'"):
            await migrate("postgresql://u:hush@h/d", location=tmp_path, version_table="v")
