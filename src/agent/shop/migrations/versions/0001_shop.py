"""The shop: customers, products, stock, orders, order lines, refunds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "customers",
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
    op.create_table(
        "products",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("sku", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(160), nullable=False),
        sa.Column("category", sa.String(40), nullable=False),
        sa.Column("price_minor", sa.BigInteger, nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("search", sa.String(400), nullable=False),
    )
    op.create_table(
        "stock",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("sku", sa.String(32), primary_key=True),
        sa.Column("warehouse", sa.String(40), primary_key=True),
        sa.Column("on_hand", sa.Integer, nullable=False),
        sa.Column("reserved", sa.Integer, nullable=False),
        sa.Column("restock_on", sa.Date),
        sa.ForeignKeyConstraint(["tenant", "sku"], ["products.tenant", "products.sku"], name="stock_product"),
        sa.CheckConstraint("reserved >= 0 AND on_hand >= reserved", name="stock_covers_reservations"),
    )
    _orders()
    _refunds()


def _orders() -> None:
    op.create_table(
        "orders",
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
    )
    op.create_index("orders_by_customer", "orders", ["tenant", "customer", "number"])
    op.create_table(
        "order_lines",
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


def _refunds() -> None:
    op.create_table(
        "refunds",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("key", sa.String(400), nullable=False),
        sa.Column("order_number", sa.Integer, nullable=False),
        sa.Column("amount_minor", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("requested_by", sa.String(200), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "order_number"], ["orders.tenant", "orders.number"], name="refunds_order"
        ),
        sa.UniqueConstraint("tenant", "key", name="refunds_key"),
        sa.CheckConstraint("amount_minor > 0", name="refunds_amount"),
    )
    op.create_index("refunds_by_order", "refunds", ["tenant", "order_number"])
