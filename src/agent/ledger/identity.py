"""Ids as the ledger keeps them: bounded, printable, and refused by no database.

Ids of messages and tool calls are chosen by clients and models. They may be endless, hold null bytes (which
Postgres cannot store) or lone surrogates (which nothing can encode).
"""

from __future__ import annotations

import hashlib
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect

LENGTH: Final = 200


def stored(text: str) -> str:
    """The id as it is stored: itself, or `sha256:` and the digest when it is too long or not printable."""
    if len(text) <= LENGTH and text.isprintable():
        return text
    return f"sha256:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


class Identity(sa.TypeDecorator[str]):
    """A column for ids; whatever is written or compared goes through `stored`."""

    impl = sa.String(LENGTH)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """The stored form."""
        return None if value is None else stored(value)
