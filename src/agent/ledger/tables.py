"""The ledger's tables. Every row belongs to a tenant; money is in micro-dollars, durations in milliseconds.

Names begin with `ledger_`, because the database may hold another program's tables too.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from agent.database import UtcDateTime
from agent.ledger.identity import Identity

METADATA: Final = sa.MetaData()

_SERIAL: Final = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # SQLite counts only INTEGER keys

TURNS: Final = sa.Table(
    "ledger_turns",
    METADATA,
    sa.Column("tenant", Identity, primary_key=True),
    sa.Column("thread", Identity, primary_key=True),
    sa.Column("turn", Identity, primary_key=True),
    sa.Column("assistant", Identity, nullable=False),
    sa.Column("release", Identity, nullable=False),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("steps", sa.BigInteger, nullable=False),
    sa.Column("model_calls", sa.BigInteger, nullable=False),
    sa.Column("tool_calls", sa.BigInteger, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("micros", sa.BigInteger, nullable=False),
    sa.Column("approvals", sa.BigInteger, nullable=False),
    sa.Index("ledger_turns_by_start", "tenant", "started_at"),
)
"""What each turn has used, open reservations included; `started_at` is its first reservation."""

DAYS: Final = sa.Table(
    "ledger_days",
    METADATA,
    sa.Column("tenant", Identity, primary_key=True),
    sa.Column("assistant", Identity, primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("micros", sa.BigInteger, nullable=False),
)
"""Money by UTC day, open reservations included; an empty `assistant` is the whole tenant."""

RESERVATIONS: Final = sa.Table(
    "ledger_reservations",
    METADATA,
    sa.Column("tenant", Identity, primary_key=True),
    sa.Column("thread", Identity, primary_key=True),
    sa.Column("turn", Identity, primary_key=True),
    sa.Column("key", Identity, primary_key=True),
    sa.Column("assistant", Identity, nullable=False),
    sa.Column("day", sa.Date, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("steps", sa.BigInteger, nullable=False),
    sa.Column("model_calls", sa.BigInteger, nullable=False),
    sa.Column("tool_calls", sa.BigInteger, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("micros", sa.BigInteger, nullable=False),
    sa.Column("approvals", sa.BigInteger, nullable=False),
)
"""`state` is `held`, `settled` or `released`; a held one that has expired counts as spent."""

MODEL_CALLS: Final = sa.Table(
    "ledger_model_calls",
    METADATA,
    sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("tenant", Identity, nullable=False),
    sa.Column("assistant", Identity, nullable=False),
    sa.Column("release", Identity, nullable=False),
    sa.Column("thread", Identity, nullable=False),
    sa.Column("turn", Identity, nullable=False),
    sa.Column("run", Identity, nullable=False),
    sa.Column("node", Identity, nullable=False),
    sa.Column("model", Identity, nullable=False),
    sa.Column("tokens_in", sa.BigInteger, nullable=False),
    sa.Column("tokens_out", sa.BigInteger, nullable=False),
    sa.Column("estimated", sa.Boolean, nullable=False),
    sa.Column("micros", sa.BigInteger, nullable=False),
    sa.Column("latency_ms", sa.BigInteger, nullable=False),
    sa.Column("outcome", Identity, nullable=False),
    sa.Index("ledger_model_calls_by_time", "tenant", "at"),
)

TOOL_CALLS: Final = sa.Table(
    "ledger_tool_calls",
    METADATA,
    sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("tenant", Identity, nullable=False),
    sa.Column("assistant", Identity, nullable=False),
    sa.Column("release", Identity, nullable=False),
    sa.Column("thread", Identity, nullable=False),
    sa.Column("turn", Identity, nullable=False),
    sa.Column("run", Identity, nullable=False),
    sa.Column("node", Identity, nullable=False),
    sa.Column("call_id", Identity, nullable=False),
    sa.Column("tool", Identity, nullable=False),
    sa.Column("risk", Identity, nullable=False),
    sa.Column("latency_ms", sa.BigInteger, nullable=False),
    sa.Column("outcome", Identity, nullable=False),
    sa.Index("ledger_tool_calls_by_time", "tenant", "at"),
)

AUDIT: Final = sa.Table(
    "ledger_audit",
    METADATA,
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.String(27), nullable=False),
    sa.Column("action", sa.String(200), nullable=False),
    sa.Column("actor", sa.String(200), nullable=False),
    sa.Column("assistant", sa.String(200), nullable=False),
    sa.Column("release", sa.String(200), nullable=False),
    sa.Column("thread", sa.String(200), nullable=False),
    sa.Column("turn", sa.String(200), nullable=False),
    sa.Column("run", sa.String(200), nullable=False),
    sa.Column("facts", sa.Text, nullable=False),
    sa.Column("prev", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)
"""Append-only (triggers refuse the rest); text as it was hashed, so that no byte can change unseen."""

AUDIT_HEADS: Final = sa.Table(
    "ledger_audit_heads",
    METADATA,
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)
"""The last entry of each chain; its row is the lock under which the next one is appended."""

APPROVALS: Final = sa.Table(
    "ledger_approvals",
    METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("tenant", Identity, nullable=False),
    sa.Column("assistant", Identity, nullable=False),
    sa.Column("release", Identity, nullable=False),
    sa.Column("thread", Identity, nullable=False),
    sa.Column("turn", Identity, nullable=False),
    sa.Column("run", Identity, nullable=False),
    sa.Column("call_id", Identity, nullable=False),
    sa.Column("interrupt", Identity),
    sa.Column("tool", Identity, nullable=False),
    sa.Column("arguments", sa.Text, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("requester", Identity, nullable=False),
    sa.Column("requester_roles", sa.String(200), nullable=False, server_default=""),
    sa.Column("role", Identity, nullable=False),
    sa.Column("self_approval", sa.Boolean, nullable=False),
    sa.Column("decisions", sa.String(40), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("decided_by", Identity),
    sa.Column("decided_at", UtcDateTime),
    sa.Column("edited", sa.Text),
    sa.Column("granted_digest", sa.String(64)),
    sa.Column("reason", sa.Text),
    sa.Column("consumed_at", UtcDateTime),
    sa.Column("consumed_key", Identity),
    sa.Index("ledger_approvals_by_call", "tenant", "thread", "turn", "call_id"),
    sa.Index("ledger_approvals_by_state", "state", "expires_at"),
    sa.Index("ledger_approvals_by_time", "tenant", "created_at"),
)
"""`decisions` and `requester_roles` are lists with commas; `arguments`, `edited`, `reason` are JSON text."""

RESULTS: Final = sa.Table(
    "ledger_results",
    METADATA,
    sa.Column("tenant", Identity, primary_key=True),
    sa.Column("thread", Identity, primary_key=True),
    sa.Column("call_id", Identity, primary_key=True),
    sa.Column("outcome", Identity, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("length", sa.BigInteger, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)
"""`text` is a JSON string: null bytes and lone surrogates come back as they were."""
