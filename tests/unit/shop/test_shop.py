"""The shop opens the database that the environment names, when it is first needed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa
from blockbuster import blockbuster_ctx

from agent.database import DatabaseRefused
from agent.shop import Shop, shop_url
from agent.shop.orders import find_order
from agent.shop.tables import CUSTOMERS

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({}, "sqlite+aiosqlite:///.signalbox/shop.db"),
        ({"SIGNALBOX_HOME": "/srv/box"}, "sqlite+aiosqlite:////srv/box/shop.db"),
        ({"SIGNALBOX_HOME": "data"}, "sqlite+aiosqlite:///data/shop.db"),
        ({"SIGNALBOX_SHOP_DB": "postgresql://db/shop"}, "postgresql://db/shop"),
        ({"SIGNALBOX_SHOP_DB": "sqlite:///x.db", "SIGNALBOX_HOME": "/srv/box"}, "sqlite:///x.db"),
        ({"SIGNALBOX_SHOP_DB": "", "SIGNALBOX_HOME": ""}, "sqlite+aiosqlite:///.signalbox/shop.db"),
    ],
)
def test_the_environment_names_the_database(environment: dict[str, str], url: str) -> None:
    assert shop_url(environment) == url


async def customers(shop: Shop) -> int:
    async with shop.reading() as connection:
        return await connection.scalar(sa.select(sa.func.count()).select_from(CUSTOMERS)) or 0


async def test_the_first_transaction_prepares_the_database(tmp_path: Path) -> None:
    path = tmp_path / "home" / "shop.db"
    shop = Shop(f"sqlite:///{path}")
    assert not path.exists()
    assert await customers(shop) == 450
    assert path.exists()
    await shop.dispose()


async def test_a_shop_without_a_url_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNALBOX_HOME", str(tmp_path / "one"))
    monkeypatch.delenv("SIGNALBOX_SHOP_DB", raising=False)
    shop = Shop()
    assert await customers(shop) == 450
    assert (tmp_path / "one" / "shop.db").exists()
    monkeypatch.setenv("SIGNALBOX_SHOP_DB", f"sqlite:///{tmp_path / 'two.db'}")
    assert await customers(shop) == 450
    assert (tmp_path / "two.db").exists()
    await shop.dispose()


async def test_it_prepares_only_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await customers(shop) == 450

    async def never(url: str) -> None:
        raise AssertionError(f"{url} was prepared again")

    monkeypatch.setattr("agent.shop.shop.prepare", never)
    async with shop.writing() as connection:
        await connection.execute(sa.delete(CUSTOMERS).where(CUSTOMERS.c.id == "nobody"))
    assert await customers(shop) == 450


async def test_a_preparation_that_failed_is_tried_again(tmp_path: Path) -> None:
    blocked = tmp_path / "home"
    blocked.write_text("a file where the folder should be")
    shop = Shop(f"sqlite:///{blocked / 'shop.db'}")
    with pytest.raises(FileExistsError):
        await customers(shop)
    blocked.unlink()
    assert await customers(shop) == 450
    await shop.dispose()


async def test_a_url_that_is_not_supported_is_refused(tmp_path: Path) -> None:
    shop = Shop("mysql://u:hush@h/d")
    with pytest.raises(DatabaseRefused) as refused:
        await customers(shop)
    assert "hush" not in str(refused.value)


async def test_after_dispose_it_opens_again(shop: Shop) -> None:
    assert await customers(shop) == 450
    await shop.dispose()
    assert await customers(shop) == 450


async def test_many_first_transactions_at_once_find_one_world(tmp_path: Path) -> None:
    shop = Shop(f"sqlite:///{tmp_path / 'shop.db'}")
    assert await asyncio.gather(*(customers(shop) for _ in range(5))) == [450] * 5
    await shop.dispose()


async def test_another_loop_may_use_the_same_shop(shop: Shop) -> None:
    async def elsewhere() -> int:
        try:
            return await customers(shop)
        finally:
            await shop.dispose()

    assert await customers(shop) == 450
    assert await asyncio.to_thread(asyncio.run, elsewhere()) == 450
    assert await customers(shop) == 450


async def test_nothing_blocks_the_event_loop(tmp_path: Path) -> None:
    shop = Shop(f"sqlite:///{tmp_path / 'home' / 'shop.db'}")
    with blockbuster_ctx() as guard:
        guard.functions["os.path.abspath"].deactivate()  # pure for an absolute path; the server allows it too
        async with shop.reading() as connection:
            order = await find_order(connection, tenant="acme", number=1042)
        async with shop.writing() as connection:
            await connection.execute(sa.delete(CUSTOMERS).where(CUSTOMERS.c.id == "nobody"))
        await shop.dispose()
    assert order is not None
