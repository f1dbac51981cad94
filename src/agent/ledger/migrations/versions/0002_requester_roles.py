"""Whoever asks for approval keeps the own roles when somebody else's decision lets the run go on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column(
        "ledger_approvals",
        sa.Column("requester_roles", sa.String(200), nullable=False, server_default=""),
    )


def downgrade() -> None:
    op.drop_column("ledger_approvals", "requester_roles")
