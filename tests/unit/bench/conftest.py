from __future__ import annotations

from tests.support.postgres import postgres

__all__ = ["postgres"]
