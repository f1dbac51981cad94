from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.database import Engines, reading
from assistants import store
from assistants.server import quota as module
from assistants.server.quota import Exceeded, Quota

pytestmark = pytest.mark.anyio


@dataclass
class Clock:
    """Seconds since 1970 that pass when a test says so. It starts 20 s into minute 30 000 000."""

    seconds: float = 30_000_000 * 60.0 + 20.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
async def database(tmp_path: Path) -> str:
    url = f"sqlite+aiosqlite:///{tmp_path / 'control.db'}"
    await store.prepare(url)
    return url


@pytest.fixture
async def engine(database: str) -> AsyncGenerator[AsyncEngine]:
    engines = Engines()
    yield engines.get(database)
    await engines.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def quota(engine: AsyncEngine, clock: Clock) -> Quota:
    return Quota(lambda: engine, clock=clock)


async def counts(engine: AsyncEngine) -> dict[tuple[str, int], int]:
    async with reading(engine) as connection:
        rows = (await connection.execute(sa.select(store.run_counts))).all()
    return {(row.tenant, row.minute): row.runs for row in rows}


async def takes(quota: Quota, tenant: str, limit: int | None, times: int) -> int:
    """How many of `times` runs at once were let through."""
    found = await asyncio.gather(*(quota.take(tenant, limit) for _ in range(times)), return_exceptions=True)
    others = [one for one in found if one is not None and not isinstance(one, Exceeded)]
    assert others == []
    return sum(one is None for one in found)


async def test_as_many_runs_as_the_limit_and_not_one_more(quota: Quota, engine: AsyncEngine) -> None:
    for _ in range(3):
        await quota.take("acme", 3)
    for _ in range(2):
        with pytest.raises(Exceeded):
            await quota.take("acme", 3)
    assert await counts(engine) == {("acme", 30_000_000): 3}


async def test_no_limit_counts_nothing(quota: Quota, engine: AsyncEngine) -> None:
    assert await takes(quota, "acme", None, 5) == 5
    assert await counts(engine) == {}


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_of_none_at_all_lets_nobody_through(
    quota: Quota, engine: AsyncEngine, limit: int
) -> None:
    assert await takes(quota, "acme", limit, 3) == 0
    assert await counts(engine) == {}


async def test_twenty_at_once_against_a_limit_of_seven_are_seven(quota: Quota, engine: AsyncEngine) -> None:
    assert await takes(quota, "acme", 7, 20) == 7
    assert await counts(engine) == {("acme", 30_000_000): 7}


async def test_another_tenant_is_not_affected(quota: Quota, engine: AsyncEngine) -> None:
    found = await asyncio.gather(takes(quota, "acme", 2, 8), takes(quota, "globex", 5, 8))
    assert found == [2, 5]
    assert await counts(engine) == {("acme", 30_000_000): 2, ("globex", 30_000_000): 5}


async def test_the_next_minute_starts_anew(quota: Quota, engine: AsyncEngine, clock: Clock) -> None:
    assert await takes(quota, "acme", 2, 3) == 2
    clock.seconds += 39.999
    assert await takes(quota, "acme", 2, 3) == 0
    clock.seconds += 0.001
    assert await takes(quota, "acme", 2, 3) == 2
    assert await counts(engine) == {("acme", 30_000_000): 2, ("acme", 30_000_001): 2}


async def test_a_limit_that_was_lowered_holds_at_once_and_a_raised_one_too(quota: Quota) -> None:
    assert await takes(quota, "acme", 5, 4) == 4
    assert await takes(quota, "acme", 2, 1) == 0
    assert await takes(quota, "acme", 6, 4) == 2


@pytest.mark.parametrize(
    ("into", "wait"), [(0.0, 60), (0.001, 60), (0.999, 60), (20.0, 40), (59.0, 1), (59.999, 1)]
)
async def test_who_is_refused_is_told_when_to_come_back(
    quota: Quota, clock: Clock, into: float, wait: int
) -> None:
    clock.seconds = 30_000_000 * 60.0 + into
    await quota.take("acme", 1)
    with pytest.raises(Exceeded) as caught:
        await quota.take("acme", 1)
    assert caught.value.retry_after == wait
    clock.seconds += wait
    await quota.take("acme", 1)


async def test_a_refusal_says_the_limit_and_the_time_and_no_tenant(quota: Quota) -> None:
    await quota.take("acme", 1)
    with pytest.raises(Exceeded) as caught:
        await quota.take("acme", 1)
    assert "may start 1 runs a minute" in str(caught.value)
    assert "again in 40 s" in str(caught.value)
    assert "acme" not in str(caught.value)


async def test_minutes_are_forgotten_after_ten(quota: Quota, engine: AsyncEngine, clock: Clock) -> None:
    for tenant in ("acme", "globex"):
        await quota.take(tenant, 5)
    clock.seconds += 10 * 60
    await quota.take("acme", 5)
    assert set(await counts(engine)) == {
        ("acme", 30_000_000),
        ("globex", 30_000_000),
        ("acme", 30_000_010),
    }
    clock.seconds += 60
    await quota.take("acme", 5)
    assert set(await counts(engine)) == {("acme", 30_000_010), ("acme", 30_000_011)}


async def test_a_refusal_leaves_the_counts_as_they_were(
    quota: Quota, engine: AsyncEngine, clock: Clock
) -> None:
    await quota.take("acme", 1)
    before = await counts(engine)
    with pytest.raises(Exceeded):
        await quota.take("acme", 1)
    assert before
    assert await counts(engine) == before


async def test_a_name_is_a_value_and_never_sql(quota: Quota, engine: AsyncEngine) -> None:
    name = "acme'; DROP TABLE run_counts; --"
    await quota.take(name, 1)
    assert await counts(engine) == {(name, 30_000_000): 1}


async def test_two_replicas_share_one_count(database: str, clock: Clock) -> None:
    replicas = [Engines(), Engines()]
    try:
        quotas = [Quota(lambda one=one: one.get(database), clock=clock) for one in replicas]
        found = await asyncio.gather(*(takes(one, "acme", 7, 10) for one in quotas))
        assert sum(found) == 7
        assert await counts(replicas[0].get(database)) == {("acme", 30_000_000): 7}
    finally:
        for one in replicas:
            await one.dispose()


def replica(database: str, start: float, times: int) -> int:
    """What one process of several lets through."""

    async def serve() -> int:
        engines = Engines()
        try:
            return await takes(Quota(lambda: engines.get(database), clock=lambda: start), "acme", 7, times)
        finally:
            await engines.dispose()

    return asyncio.run(serve())


async def test_two_processes_share_one_count(database: str, engine: AsyncEngine, clock: Clock) -> None:
    def both() -> list[int]:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            return pool.starmap(replica, [(database, clock.seconds, 10)] * 2)

    assert sum(await asyncio.to_thread(both)) == 7
    assert await counts(engine) == {("acme", 30_000_000): 7}


async def test_the_clock_is_the_system_s_unless_told_otherwise(engine: AsyncEngine) -> None:
    await Quota(lambda: engine).take("acme", 1)
    (minute,) = {minute for _, minute in await counts(engine)}
    assert minute > 29_000_000  # 2025


def test_postgres_counts_in_one_statement_too() -> None:
    statement: Any = module._count("postgresql", "acme", 5, 7)  # pyright: ignore[reportPrivateUsage]
    text = " ".join(str(statement.compile(dialect=postgresql.dialect())).split())
    assert "ON CONFLICT (tenant, minute) DO UPDATE SET runs = (run_counts.runs +" in text
    assert "WHERE run_counts.runs <" in text
    assert text.endswith("RETURNING run_counts.runs")
