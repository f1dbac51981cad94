"""The shop's tables. Every row belongs to a tenant, which leads every key; amounts are in minor units."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from agent.database import UtcDateTime

METADATA: Final = sa.MetaData()

CUSTOMERS: Final = sa.Table(
    "customers",
    METADATA,
    sa.Column("tenant", sa.String(64), primary_key=True),
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", sa.String(120), nullable=False),
    sa.Column("email", sa.String(200), nullable=False),
    sa.Column("city", sa.String(80), nullable=False),
    sa.Column("language", sa.String(8), nullable=False),
    sa.Column("joined_on", sa.Date, nullable=False),
    sa.Column("search", sa.String(400), nullable=False),
    sa.UniqueConstraint("tenant", "email", name="customers_email"),
)
"""`id` is `C-0001` and so on; `search` holds id, email and the name's spellings, folded (`spelling`)."""

PRODUCTS: Final = sa.Table(
    "products",
    METADATA,
    sa.Column("tenant", sa.String(64), primary_key=True),
    sa.Column("sku", sa.String(32), primary_key=True),
    sa.Column("name", sa.String(160), nullable=False),
    sa.Column("category", sa.String(40), nullable=False),
    sa.Column("price_minor", sa.BigInteger, nullable=False),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("search", sa.String(400), nullable=False),
)

STOCK: Final = sa.Table(
    "stock",
    METADATA,
    sa.Column("tenant", sa.String(64), primary_key=True),
    sa.Column("sku", sa.String(32), primary_key=True),
    sa.Column("warehouse", sa.String(40), primary_key=True),
    sa.Column("on_hand", sa.Integer, nullable=False),
    sa.Column("reserved", sa.Integer, nullable=False),
    sa.Column("restock_on", sa.Date),
    sa.ForeignKeyConstraint(["tenant", "sku"], ["products.tenant", "products.sku"], name="stock_product"),
    sa.CheckConstraint("reserved >= 0 AND on_hand >= reserved", name="stock_covers_reservations"),
)

ORDERS: Final = sa.Table(
    "orders",
    METADATA,
    sa.Column("tenant", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("customer", sa.String(16), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("shipping_minor", sa.BigInteger, nullable=False),
    sa.Column("total_minor", sa.BigInteger, nullable=False),
    sa.Column("carrier", sa.String(40)),
    sa.Column("tracking", sa.String(40)),
    sa.Column("placed_on", sa.Date, nullable=False),
    sa.Column("promised_on", sa.Date, nullable=False),
    sa.Column("shipped_on", sa.Date),
    sa.Column("delivered_on", sa.Date),
    sa.ForeignKeyConstraint(
        ["tenant", "customer"], ["customers.tenant", "customers.id"], name="orders_customer"
    ),
    sa.Index("orders_by_customer", "tenant", "customer", "number"),
)
"""`total_minor` is the sum of the lines plus `shipping_minor`."""

ORDER_LINES: Final = sa.Table(
    "order_lines",
    METADATA,
    sa.Column("tenant", sa.String(64), primary_key=True),
    sa.Column("order_number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("line", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sku", sa.String(32), nullable=False),
    sa.Column("quantity", sa.Integer, nullable=False),
    sa.Column("unit_minor", sa.BigInteger, nullable=False),
    sa.ForeignKeyConstraint(
        ["tenant", "order_number"], ["orders.tenant", "orders.number"], name="lines_order"
    ),
    sa.ForeignKeyConstraint(["tenant", "sku"], ["products.tenant", "products.sku"], name="lines_product"),
    sa.CheckConstraint("quantity > 0", name="lines_quantity"),
)

REFUNDS: Final = sa.Table(
    "refunds",
    METADATA,
    sa.Column("tenant", sa.String(64), primary_key=True),
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("key", sa.String(400), nullable=False),
    sa.Column("order_number", sa.Integer, nullable=False),
    sa.Column("amount_minor", sa.BigInteger, nullable=False),
    sa.Column("reason", sa.String(500), nullable=False),
    sa.Column("requested_by", sa.String(200), nullable=False),
    sa.Column("recorded_at", UtcDateTime, nullable=False),
    sa.ForeignKeyConstraint(
        ["tenant", "order_number"], ["orders.tenant", "orders.number"], name="refunds_order"
    ),
    sa.UniqueConstraint("tenant", "key", name="refunds_key"),
    sa.CheckConstraint("amount_minor > 0", name="refunds_amount"),
    sa.Index("refunds_by_order", "tenant", "order_number"),
)
"""`key` is the idempotency key of the decision; `id` is derived from it (`refunds.refund_id`)."""
