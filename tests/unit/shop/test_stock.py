"""Products are found by code or words, with what can be sold of them."""

from __future__ import annotations

import pytest

from agent.shop import Shop
from agent.shop.generator import generate
from agent.shop.money import Money
from agent.shop.stock import Level, Product, find_products

pytestmark = pytest.mark.anyio


async def search(shop: Shop, query: str, *, tenant: str = "acme", limit: int = 100) -> tuple[Product, ...]:
    async with shop.reading() as connection:
        return await find_products(connection, tenant=tenant, query=query, limit=limit)


async def test_a_code_finds_its_product_with_price_and_levels(world: Shop) -> None:
    rows = [row for row in generate("acme").stock if row["sku"] == "ACM-KET-01"]
    [product] = await search(world, "acm-ket-01")
    assert product.name == "Kettle Ferrum 1.7 l, matt black"
    assert product.category == "kitchen"
    assert product.price == Money(4990, "EUR")
    assert [(level.warehouse, level.available, level.restock_on) for level in product.levels] == [
        (row["warehouse"], int(str(row["on_hand"])) - int(str(row["reserved"])), row["restock_on"])
        for row in rows
    ]
    assert [level.warehouse for level in product.levels] == ["Berlin", "Leipzig"]


async def test_words_of_the_name_find_all_variants_by_code(world: Shop) -> None:
    found = await search(world, "kettle FERRUM")
    assert [product.sku for product in found] == ["ACM-KET-01", "ACM-KET-02", "ACM-KET-03"]
    assert [product.sku for product in await search(world, "kettle steel")] == ["ACM-KET-03"]


async def test_a_category_finds_its_products(world: Shop) -> None:
    found = await search(world, "tableware")
    assert len(found) == 12
    assert {product.category for product in found} == {"tableware"}


async def test_chinese_and_english_names_find_the_same_tea(world: Shop) -> None:
    chinese = await search(world, "龙井", tenant="lantern")
    english = await search(world, "longjing", tenant="lantern")
    assert chinese == english
    assert [product.sku for product in chinese] == ["LAN-LJG-01", "LAN-LJG-02", "LAN-LJG-03"]
    assert {product.price.currency for product in chinese} == {"CNY"}


async def test_a_sold_out_product_has_nothing_and_a_day_on_which_more_comes(world: Shop) -> None:
    [product] = await search(world, "ACM-TOA-01")
    assert product.available == 0
    assert [level.available for level in product.levels] == [0, 0]
    assert all(level.restock_on is not None for level in product.levels)


def test_what_is_available_is_the_sum_of_the_warehouses() -> None:
    levels = (Level("Berlin", 3, None), Level("Leipzig", 4, None))
    assert Product("X", "x", "y", Money(1, "EUR"), levels).available == 7
    assert Product("X", "x", "y", Money(1, "EUR"), ()).available == 0


async def test_no_more_than_the_limit_are_given(world: Shop) -> None:
    assert len(await search(world, "acm")) == 60
    assert len(await search(world, "acm", limit=7)) == 7


@pytest.mark.parametrize("query", ["", " ", "%", "ACM_KET_01", "unicorn", "kettle unicorn"])
async def test_what_is_not_there_is_not_found(world: Shop, query: str) -> None:
    assert await search(world, query) == ()
