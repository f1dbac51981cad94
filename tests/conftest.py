"""Fixtures that every test may use."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A busy machine must not fail a test: how long an example takes is the benchmarks' subject.
settings.register_profile("signalbox", deadline=None)
settings.load_profile("signalbox")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as the server does; one loop a session, so that servers can be shared."""
    return "asyncio"
