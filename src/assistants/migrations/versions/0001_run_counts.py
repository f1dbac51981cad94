"""Runs started, by tenant and minute."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_counts",
        sa.Column("tenant", sa.String(63), primary_key=True),
        sa.Column("minute", sa.BigInteger, primary_key=True),
        sa.Column("runs", sa.Integer, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("run_counts")
