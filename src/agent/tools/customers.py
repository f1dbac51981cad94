"""`customers.find`: the tenant's customers, as the model sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from agent.errors import ToolFailure
from agent.shop import Shop
from agent.shop.customers import Customer, find_customers
from agent.tools.registry import Registry, ToolCall

MOST: Final = 10
"""How many customers one search gives."""


@dataclass(frozen=True, slots=True)
class CustomerTools:
    """The customer tools of one shop."""

    shop: Shop

    async def find(
        self,
        query: Annotated[
            str,
            Field(
                min_length=1,
                max_length=200,
                description="Customer id (C-0001), e-mail address, or part of the name.",
            ),
        ],
        *,
        call: ToolCall,
    ) -> dict[str, object]:
        """Find customers by id, e-mail address or part of the name.

        Gives at most 10; when `more` is true there are others, so narrow the query.
        """
        async with self.shop.reading() as connection:
            found = await find_customers(connection, tenant=call.tenant, query=query, limit=MOST + 1)
        if not found:
            raise ToolFailure(
                f"No customer matches {query!r}. Try the e-mail address, the id or a part of the name."
            )
        return {
            "query": query,
            "customers": [_entry(customer) for customer in found[:MOST]],
            "more": len(found) > MOST,
        }


def register(registry: Registry, *, shop: Shop) -> None:
    """Register the customer tools."""
    registry.tool("customers.find", risk="read")(CustomerTools(shop).find)


def _entry(customer: Customer) -> dict[str, object]:
    return {
        "id": customer.id,
        "name": customer.name,
        "email": customer.email,
        "city": customer.city,
        "language": customer.language,
        "joined_on": customer.joined_on.isoformat(),
    }
