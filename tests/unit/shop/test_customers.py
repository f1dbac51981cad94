"""Customers are found by what people have at hand: id, address, a piece of the name."""

from __future__ import annotations

from datetime import date

import pytest

from agent.shop import Shop
from agent.shop.customers import Customer, customer_exists, find_customers

pytestmark = pytest.mark.anyio


async def search(shop: Shop, query: str, *, tenant: str = "acme", limit: int = 200) -> tuple[Customer, ...]:
    async with shop.reading() as connection:
        return await find_customers(connection, tenant=tenant, query=query, limit=limit)


async def test_an_id_finds_its_customer_with_all_facts(world: Shop) -> None:
    assert await search(world, "C-0001") == (
        Customer(
            id="C-0001",
            name="Grażyna Jarzyna",
            email="grazyna.jarzyna@example.org",
            city="Hamburg",
            language="pl",
            joined_on=date(2025, 12, 30),
        ),
    )


@pytest.mark.parametrize(
    "query",
    [
        "c-0001",
        "grazyna.jarzyna@example.org",
        "GRAZYNA.JARZYNA@EXAMPLE.ORG",
        "Grażyna Jarzyna",
        "jarzyna grażyna",
        "grazyna jarz",
        "  Grażyna\tJarzyna ",
    ],
)
async def test_case_accents_order_and_spaces_do_not_matter(world: Shop, query: str) -> None:
    assert [customer.id for customer in await search(world, query)] == ["C-0001"]


async def test_every_word_has_to_fit(world: Shop) -> None:
    assert len(await search(world, "Jarzyna")) >= 1
    assert await search(world, "Jarzyna Nobody") == ()


async def test_a_piece_of_a_name_finds_all_who_have_it_by_id(world: Shop) -> None:
    found = await search(world, "ann")
    assert len(found) > 1
    assert [customer.id for customer in found] == sorted(customer.id for customer in found)
    assert all("ann" in f"{customer.name} {customer.email}".casefold() for customer in found)


async def test_no_more_than_the_limit_are_given(world: Shop) -> None:
    assert len(await search(world, "example", limit=200)) == 150
    assert [customer.id for customer in await search(world, "example", limit=2)] == ["C-0001", "C-0002"]


@pytest.mark.parametrize("query", ["%", "_", "C_0001", "C%1", "'", '"', "\\", "C-0001' OR '1'='1"])
async def test_signs_of_the_query_language_are_just_signs(world: Shop, query: str) -> None:
    assert await search(world, query) == ()


@pytest.mark.parametrize("query", ["", "   ", "\x00", "\ud800"])
async def test_a_query_without_a_word_finds_nobody(world: Shop, query: str) -> None:
    assert await search(world, query) == ()


async def test_a_chinese_name_is_found_in_characters_and_in_letters(world: Shop) -> None:
    by_characters = await search(world, "阮兰馨", tenant="lantern")
    by_letters = await search(world, "ruan lanxin", tenant="lantern")
    assert by_characters == by_letters
    assert [(customer.id, customer.name) for customer in by_characters] == [("C-0001", "阮兰馨")]
    assert len(await search(world, "阮", tenant="lantern")) > 1


async def test_the_same_id_is_another_person_at_another_tenant(world: Shop) -> None:
    names = {
        tenant: (await search(world, "C-0001", tenant=tenant))[0].name
        for tenant in ("acme", "globex", "lantern")
    }
    assert names == {"acme": "Grażyna Jarzyna", "globex": "Bogusław Dąbrówka", "lantern": "阮兰馨"}


async def test_a_customer_exists_by_its_exact_id_at_its_tenant(world: Shop) -> None:
    async with world.reading() as connection:
        assert await customer_exists(connection, tenant="acme", customer="C-0150")
        assert not await customer_exists(connection, tenant="acme", customer="C-0151")
        assert not await customer_exists(connection, tenant="acme", customer="c-0150")
        assert not await customer_exists(connection, tenant="umbrella", customer="C-0150")
