"""The moment, as the ledger counts it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)
