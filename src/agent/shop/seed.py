"""Preparing a shop's database: newest schema, and made-up rows for tenants that have none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.database import Engines, migrate, reading, writing
from agent.shop.generator import SEED, Rows, generate
from agent.shop.profiles import PROFILES
from agent.shop.tables import METADATA

TENANTS: Final = tuple(PROFILES)
"""The tenants of the shipped catalog."""

VERSION_TABLE: Final = "shop_version"
MIGRATIONS: Final = Path(__file__).parent / "migrations"


async def prepare(url: str, *, tenants: Iterable[str] = TENANTS, seed: int = SEED) -> None:
    """Bring the database to the newest schema and make up rows for each tenant without customers.

    Idempotent, and safe when several processes do it at once: one seeds, the others wait and find it done.
    A tenant that is not of the shipped catalog has no made-up world and starts with an empty shop.

    Raises:
        DatabaseRefused: The URL is not supported, or a newer version of the program wrote the database.
    """
    wanted = [tenant for tenant in tenants if tenant in PROFILES]
    await migrate(url, location=MIGRATIONS, version_table=VERSION_TABLE)
    engines = Engines()
    try:
        engine = engines.get(url)
        async with reading(engine) as connection:
            missing = await _without_rows(connection, wanted)
        if missing:
            rows = [await asyncio.to_thread(generate, tenant, seed) for tenant in missing]
            async with writing(engine, exclusive="shop-seed") as connection:
                still = await _without_rows(connection, missing)
                for tenant, made_up in zip(missing, rows, strict=True):
                    if tenant in still:
                        await _insert(connection, made_up)
    finally:
        await engines.dispose()


async def counts(url: str, *, tenants: Iterable[str] = TENANTS) -> Mapping[str, Mapping[str, int]]:
    """The number of rows by tenant and table of a prepared database."""
    engines = Engines()
    try:
        async with reading(engines.get(url)) as connection:
            return {tenant: await _count(connection, tenant) for tenant in tenants}
    finally:
        await engines.dispose()


async def _count(connection: AsyncConnection, tenant: str) -> dict[str, int]:
    return {
        table.name: await connection.scalar(
            sa.select(sa.func.count()).select_from(table).where(table.c.tenant == tenant)
        )
        or 0
        for table in METADATA.sorted_tables
    }


async def _without_rows(connection: AsyncConnection, tenants: list[str]) -> list[str]:
    customers = METADATA.tables["customers"].c
    found = await connection.scalars(
        sa.select(customers.tenant).where(customers.tenant.in_(tenants)).distinct()
    )
    seeded = set(found)
    return [tenant for tenant in tenants if tenant not in seeded]


async def _insert(connection: AsyncConnection, rows: Rows) -> None:
    for column in fields(rows):
        await connection.execute(sa.insert(METADATA.tables[column.name]), list(getattr(rows, column.name)))
