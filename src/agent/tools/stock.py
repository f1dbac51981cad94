"""`stock.check`: what the tenant can sell, as the model sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from agent.errors import ToolFailure
from agent.shop import Shop
from agent.shop.stock import Product, find_products
from agent.tools.registry import Registry, ToolCall

MOST: Final = 10
"""How many products one check gives."""


@dataclass(frozen=True, slots=True)
class StockTools:
    """The stock tools of one shop."""

    shop: Shop

    async def check(
        self,
        product: Annotated[
            str,
            Field(
                min_length=1, max_length=200, description="SKU, or words of the product's name or category."
            ),
        ],
        *,
        call: ToolCall,
    ) -> dict[str, object]:
        """Check price and stock of products by SKU or by words of their name.

        Gives for each product the pieces that can be sold, warehouse by warehouse, and the day on which more
        are expected. At most 10; when `more` is true there are others, so narrow the words.
        """
        async with self.shop.reading() as connection:
            found = await find_products(connection, tenant=call.tenant, query=product, limit=MOST + 1)
        if not found:
            raise ToolFailure(
                f"No product matches {product!r}. Try the SKU or fewer words of the product's name."
            )
        return {
            "query": product,
            "products": [_entry(entry) for entry in found[:MOST]],
            "more": len(found) > MOST,
        }


def register(registry: Registry, *, shop: Shop) -> None:
    """Register the stock tools."""
    registry.tool("stock.check", risk="read")(StockTools(shop).check)


def _entry(product: Product) -> dict[str, object]:
    return {
        "sku": product.sku,
        "name": product.name,
        "category": product.category,
        "price": str(product.price),
        "available": product.available,
        "warehouses": [
            {
                "warehouse": level.warehouse,
                "available": level.available,
                "restock_on": level.restock_on.isoformat() if level.restock_on else None,
            }
            for level in product.levels
        ],
    }
