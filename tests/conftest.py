"""Fixtures that every test may use."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as the server does; one loop a session, so that servers can be shared."""
    return "asyncio"
