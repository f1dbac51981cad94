"""`customers.find` gives the customers a query names, at most ten of them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent.tools.customers import MOST
from agent.tools.registry import Registry
from tests.unit.tools.invoking import call, failure, invoke

pytestmark = pytest.mark.anyio

HALINA = {
    "id": "C-0011",
    "name": "Halina Wrzosek",
    "email": "halina.wrzosek@example.org",
    "city": "Köln",
    "language": "pl",
    "joined_on": "2025-05-21",
}


@pytest.mark.parametrize(
    "query", ["C-0011", "halina.wrzosek@example.org", "Halina Wrzosek", "wrzosek HALINA"]
)
async def test_id_address_and_name_find_the_customer(reader: Registry, query: str) -> None:
    assert await invoke(reader, "customers.find", query=query) == {
        "query": query,
        "customers": [HALINA],
        "more": False,
    }


async def test_at_most_ten_are_given_and_that_there_are_more_is_said(reader: Registry) -> None:
    found = await invoke(reader, "customers.find", query="example")
    assert [customer["id"] for customer in found["customers"]] == [f"C-{index:04}" for index in range(1, 11)]
    assert len(found["customers"]) == MOST == 10
    assert found["more"] is True


async def test_exactly_ten_are_not_more(reader: Registry) -> None:
    found = await invoke(reader, "customers.find", query="C-001")
    assert [customer["id"] for customer in found["customers"]] == [f"C-001{index}" for index in range(10)]
    assert found["more"] is False


async def test_who_is_not_found_is_named_with_what_to_do(reader: Registry) -> None:
    said = await failure(reader, "customers.find", query="Zebulon Nobody")
    assert said.startswith("No customer matches 'Zebulon Nobody'.")
    assert "e-mail address" in said


@pytest.mark.parametrize("query", ["%", "   ", "\x00", "' OR 1=1 --"])
async def test_signs_are_no_wildcards(reader: Registry, query: str) -> None:
    assert repr(query) in await failure(reader, "customers.find", query=query)


@pytest.mark.parametrize(
    "arguments", [{"query": ""}, {"query": "x" * 201}, {"query": None}, {}, {"q": "C-0011"}]
)
async def test_other_arguments_do_not_reach_the_shop(reader: Registry, arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        await invoke(reader, "customers.find", **arguments)


async def test_chinese_names_are_found_at_the_tea_shop(reader: Registry) -> None:
    found = await invoke(reader, "customers.find", call("lantern"), query="阮兰馨")
    assert [(customer["id"], customer["name"]) for customer in found["customers"]] == [("C-0001", "阮兰馨")]
