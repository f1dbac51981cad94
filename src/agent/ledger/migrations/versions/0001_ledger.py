"""The ledger: turns, days, reservations, usage, audit chains, approvals, results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_TABLES = (
    "ledger_turns",
    "ledger_days",
    "ledger_reservations",
    "ledger_model_calls",
    "ledger_tool_calls",
    "ledger_audit",
    "ledger_audit_heads",
    "ledger_approvals",
    "ledger_results",
)
_ID = sa.String(200)
_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_FUNCTION = """
CREATE FUNCTION ledger_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit chain is append-only'; END $$
"""


def upgrade() -> None:
    _budgets()
    _usage()
    _audit()
    _approvals()
    _results()
    _append_only()


def downgrade() -> None:
    for name in _TABLES:
        op.drop_table(name)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION ledger_audit_is_append_only()")


def _budgets() -> None:
    op.create_table(
        "ledger_turns",
        sa.Column("tenant", _ID, primary_key=True),
        sa.Column("thread", _ID, primary_key=True),
        sa.Column("turn", _ID, primary_key=True),
        sa.Column("assistant", _ID, nullable=False),
        sa.Column("release", _ID, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("steps", sa.BigInteger, nullable=False),
        sa.Column("model_calls", sa.BigInteger, nullable=False),
        sa.Column("tool_calls", sa.BigInteger, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("micros", sa.BigInteger, nullable=False),
        sa.Column("approvals", sa.BigInteger, nullable=False),
    )
    op.create_index("ledger_turns_by_start", "ledger_turns", ["tenant", "started_at"])
    op.create_table(
        "ledger_days",
        sa.Column("tenant", _ID, primary_key=True),
        sa.Column("assistant", _ID, primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("micros", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "ledger_reservations",
        sa.Column("tenant", _ID, primary_key=True),
        sa.Column("thread", _ID, primary_key=True),
        sa.Column("turn", _ID, primary_key=True),
        sa.Column("key", _ID, primary_key=True),
        sa.Column("assistant", _ID, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("steps", sa.BigInteger, nullable=False),
        sa.Column("model_calls", sa.BigInteger, nullable=False),
        sa.Column("tool_calls", sa.BigInteger, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("micros", sa.BigInteger, nullable=False),
        sa.Column("approvals", sa.BigInteger, nullable=False),
    )


def _usage() -> None:
    op.create_table(
        "ledger_model_calls",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tenant", _ID, nullable=False),
        sa.Column("assistant", _ID, nullable=False),
        sa.Column("release", _ID, nullable=False),
        sa.Column("thread", _ID, nullable=False),
        sa.Column("turn", _ID, nullable=False),
        sa.Column("run", _ID, nullable=False),
        sa.Column("node", _ID, nullable=False),
        sa.Column("model", _ID, nullable=False),
        sa.Column("tokens_in", sa.BigInteger, nullable=False),
        sa.Column("tokens_out", sa.BigInteger, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False),
        sa.Column("micros", sa.BigInteger, nullable=False),
        sa.Column("latency_ms", sa.BigInteger, nullable=False),
        sa.Column("outcome", _ID, nullable=False),
    )
    op.create_index("ledger_model_calls_by_time", "ledger_model_calls", ["tenant", "at"])
    op.create_table(
        "ledger_tool_calls",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tenant", _ID, nullable=False),
        sa.Column("assistant", _ID, nullable=False),
        sa.Column("release", _ID, nullable=False),
        sa.Column("thread", _ID, nullable=False),
        sa.Column("turn", _ID, nullable=False),
        sa.Column("run", _ID, nullable=False),
        sa.Column("node", _ID, nullable=False),
        sa.Column("call_id", _ID, nullable=False),
        sa.Column("tool", _ID, nullable=False),
        sa.Column("risk", _ID, nullable=False),
        sa.Column("latency_ms", sa.BigInteger, nullable=False),
        sa.Column("outcome", _ID, nullable=False),
    )
    op.create_index("ledger_tool_calls_by_time", "ledger_tool_calls", ["tenant", "at"])


def _audit() -> None:
    op.create_table(
        "ledger_audit",
        sa.Column("tenant", _ID, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(27), nullable=False),
        sa.Column("action", _ID, nullable=False),
        sa.Column("actor", _ID, nullable=False),
        sa.Column("assistant", _ID, nullable=False),
        sa.Column("release", _ID, nullable=False),
        sa.Column("thread", _ID, nullable=False),
        sa.Column("turn", _ID, nullable=False),
        sa.Column("run", _ID, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("prev", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "ledger_audit_heads",
        sa.Column("tenant", _ID, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )


def _approvals() -> None:
    op.create_table(
        "ledger_approvals",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("tenant", _ID, nullable=False),
        sa.Column("assistant", _ID, nullable=False),
        sa.Column("release", _ID, nullable=False),
        sa.Column("thread", _ID, nullable=False),
        sa.Column("turn", _ID, nullable=False),
        sa.Column("run", _ID, nullable=False),
        sa.Column("call_id", _ID, nullable=False),
        sa.Column("interrupt", _ID),
        sa.Column("tool", _ID, nullable=False),
        sa.Column("arguments", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("requester", _ID, nullable=False),
        sa.Column("role", _ID, nullable=False),
        sa.Column("self_approval", sa.Boolean, nullable=False),
        sa.Column("decisions", sa.String(40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("decided_by", _ID),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("edited", sa.Text),
        sa.Column("granted_digest", sa.String(64)),
        sa.Column("reason", sa.Text),
        sa.Column("consumed_at", sa.DateTime(timezone=True)),
        sa.Column("consumed_key", _ID),
    )
    op.create_index("ledger_approvals_by_call", "ledger_approvals", ["tenant", "thread", "turn", "call_id"])
    op.create_index("ledger_approvals_by_state", "ledger_approvals", ["state", "expires_at"])
    op.create_index("ledger_approvals_by_time", "ledger_approvals", ["tenant", "created_at"])


def _results() -> None:
    op.create_table(
        "ledger_results",
        sa.Column("tenant", _ID, primary_key=True),
        sa.Column("thread", _ID, primary_key=True),
        sa.Column("call_id", _ID, primary_key=True),
        sa.Column("outcome", _ID, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("length", sa.BigInteger, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )


def _append_only() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_FUNCTION)
        op.execute(
            "CREATE TRIGGER ledger_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_audit "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_audit_is_append_only()"
        )
        return
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER ledger_audit_no_{verb.lower()} BEFORE {verb} ON ledger_audit "
            "BEGIN SELECT RAISE(ABORT, 'the audit chain is append-only'); END"
        )
