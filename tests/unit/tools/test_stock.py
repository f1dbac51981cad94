"""`stock.check` gives prices and pieces, warehouse by warehouse."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent.tools.registry import Registry
from agent.tools.stock import MOST
from tests.unit.tools.invoking import call, failure, invoke

pytestmark = pytest.mark.anyio


async def test_a_code_gives_price_and_pieces(reader: Registry) -> None:
    found = await invoke(reader, "stock.check", product="ACM-KET-01")
    [product] = found["products"]
    assert found["query"] == "ACM-KET-01"
    assert found["more"] is False
    assert product["sku"] == "ACM-KET-01"
    assert product["name"] == "Kettle Ferrum 1.7 l, matt black"
    assert product["category"] == "kitchen"
    assert product["price"] == "49.90 EUR"
    assert [place["warehouse"] for place in product["warehouses"]] == ["Berlin", "Leipzig"]
    assert product["available"] == sum(place["available"] for place in product["warehouses"])


async def test_what_is_sold_out_says_when_more_comes(reader: Registry) -> None:
    [product] = (await invoke(reader, "stock.check", product="ACM-TOA-01"))["products"]
    assert product["available"] == 0
    assert [(place["available"], place["restock_on"][:4]) for place in product["warehouses"]] == [
        (0, "2026")
    ] * 2


async def test_words_find_every_variant(reader: Registry) -> None:
    found = await invoke(reader, "stock.check", product="toaster")
    assert [product["sku"] for product in found["products"]] == ["ACM-TOA-01", "ACM-TOA-02", "ACM-TOA-03"]


async def test_at_most_ten_are_given_and_that_there_are_more_is_said(reader: Registry) -> None:
    found = await invoke(reader, "stock.check", product="tableware")
    assert len(found["products"]) == MOST == 10
    assert found["more"] is True


async def test_names_in_chinese_and_english_find_the_same_tea(reader: Registry) -> None:
    chinese = await invoke(reader, "stock.check", call("lantern"), product="普洱熟茶")
    english = await invoke(reader, "stock.check", call("lantern"), product="ripe pu-erh")
    assert chinese["products"] == english["products"]
    assert [product["price"] for product in chinese["products"]] == ["128.00 CNY", "218.00 CNY", "348.00 CNY"]


async def test_what_is_not_found_is_named_with_what_to_do(reader: Registry) -> None:
    said = await failure(reader, "stock.check", product="unicorn saddle")
    assert said.startswith("No product matches 'unicorn saddle'.")
    assert "SKU" in said


@pytest.mark.parametrize("arguments", [{"product": ""}, {"product": "x" * 201}, {"product": 7}, {}])
async def test_other_arguments_do_not_reach_the_shop(reader: Registry, arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        await invoke(reader, "stock.check", **arguments)
