"""`orders.get`, `orders.list`, `orders.refund`: the tenant's orders, as the model sees them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from agent.errors import ToolFailure
from agent.shop import Shop
from agent.shop.customers import customer_exists
from agent.shop.errors import ShopRefused
from agent.shop.lifecycle import REFUNDABLE, Status
from agent.shop.money import Money, minor_units
from agent.shop.orders import Order, find_order, list_orders
from agent.shop.refunds import refund
from agent.shop.spelling import plain
from agent.tools.registry import Registry, ToolCall

OrderNumber = Annotated[int, Field(ge=1, le=2_000_000_000, description="Order number, such as 1042.")]


@dataclass(frozen=True, slots=True)
class OrderTools:
    """The order tools of one shop."""

    shop: Shop

    async def get(self, number: OrderNumber, *, call: ToolCall) -> dict[str, object]:
        """Look up one order by its number.

        Gives status, dates, days late, carrier and tracking code, lines with prices, the total, and what was
        and what can still be refunded.
        """
        async with self.shop.reading() as connection:
            order = await find_order(connection, tenant=call.tenant, number=number)
        if order is None:
            raise ToolFailure(
                f"Order {number} is unknown. Check the number with the customer, or find the customer with "
                "customers.find and list the orders with orders.list."
            )
        return _details(order)

    async def list_of(
        self,
        customer: Annotated[
            str, Field(min_length=1, max_length=40, description="Customer id, such as C-0001.")
        ],
        status: Annotated[
            Status | None, Field(description="Only orders in this state; leave out for all.")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=50, description="At most so many orders.")] = 10,
        *,
        call: ToolCall,
    ) -> dict[str, object]:
        """List the orders of one customer, newest first, with status, dates and totals.

        Needs the customer's id; find it with customers.find.
        """
        wanted = plain(customer).upper()
        async with self.shop.reading() as connection:
            if not await customer_exists(connection, tenant=call.tenant, customer=wanted):
                raise ToolFailure(
                    f"Customer {customer!r} is unknown; expected an id such as C-0001. "
                    "Find it with customers.find."
                )
            orders = await list_orders(
                connection, tenant=call.tenant, customer=wanted, status=status, limit=limit
            )
        if not orders:
            state = "no orders" if status is None else f"no order in state {status!r}"
            raise ToolFailure(f"Customer {wanted} has {state}.")
        return {"customer": wanted, "orders": [_summary(order) for order in orders]}

    async def refund(
        self,
        order: OrderNumber,
        amount: Annotated[
            float,
            Field(
                gt=0,
                le=1_000_000,
                allow_inf_nan=False,
                description="Amount in the order's currency, such as 84.90; at most two decimals.",
            ),
        ],
        reason: Annotated[
            str, Field(min_length=3, max_length=500, description="Why the customer gets the money back.")
        ],
        *,
        call: ToolCall,
    ) -> dict[str, object]:
        """Refund an amount of one order to the customer; this moves money.

        Look the order up with orders.get first: the amount must not exceed what is refundable. The result's
        outcome is `created`, or `already_recorded` when this very call was carried out before.
        """
        try:
            async with self.shop.writing() as connection:
                entry, outcome = await refund(
                    connection,
                    tenant=call.tenant,
                    order=order,
                    amount_minor=minor_units(amount),
                    reason=plain(reason),
                    key=call.key,
                    requested_by=call.principal,
                    now=datetime.now(UTC),
                )
        except ShopRefused as refusal:
            raise ToolFailure(f"Nothing more was refunded. {refusal.detail}") from refusal
        return {
            "outcome": outcome,
            "refund": entry.id,
            "order": entry.order,
            "amount": str(entry.amount),
            "reason": entry.reason,
            "recorded_at": entry.recorded_at.isoformat(timespec="seconds"),
        }


def register(registry: Registry, *, shop: Shop) -> None:
    """Register the order tools; a refund waits for a person unless an assistant's file says otherwise."""
    tools = OrderTools(shop)
    registry.tool("orders.get", risk="read")(tools.get)
    registry.tool("orders.list", risk="read")(tools.list_of)
    registry.tool("orders.refund", risk="write", idempotent=True, approval="always")(tools.refund)


def _summary(order: Order) -> dict[str, object]:
    return {
        "order": order.number,
        "status": order.status,
        "placed_on": order.placed_on.isoformat(),
        "promised_on": order.promised_on.isoformat(),
        "shipped_on": order.shipped_on.isoformat() if order.shipped_on else None,
        "delivered_on": order.delivered_on.isoformat() if order.delivered_on else None,
        "days_late": order.days_late,
        "total": str(order.total),
        "refunded": str(order.refunded),
        "products": [f"{line.quantity} x {line.product}" for line in order.lines],
    }


def _details(order: Order) -> dict[str, object]:
    rest = order.total.minor - order.refunded.minor if order.status in REFUNDABLE else 0
    lines = [
        {
            "sku": line.sku,
            "product": line.product,
            "quantity": line.quantity,
            "unit_price": str(line.unit),
            "sum": str(Money(line.unit.minor * line.quantity, line.unit.currency)),
        }
        for line in order.lines
    ]
    summary = {key: value for key, value in _summary(order).items() if key != "products"}
    return summary | {
        "customer": {"id": order.customer, "name": order.customer_name},
        "carrier": order.carrier,
        "tracking": order.tracking,
        "lines": lines,
        "shipping": str(order.shipping),
        "refundable": str(Money(rest, order.total.currency)),
    }
