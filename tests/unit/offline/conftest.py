"""The two servers, started once for all tests of the offline model."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from agent.offline.app import rules_app, script_app
from agent.offline.serving import serving
from tests.unit.offline.stand import Stand, client_of


@pytest.fixture(scope="session")
async def stand(anyio_backend: str) -> AsyncGenerator[Stand]:
    """A script server; each test uses a key of its own."""
    assert anyio_backend == "asyncio"
    async with serving(script_app()) as url, client_of(url) as http:
        yield Stand(url, http)


@pytest.fixture(scope="session")
async def rules(anyio_backend: str) -> AsyncGenerator[Stand]:
    """A rules server."""
    assert anyio_backend == "asyncio"
    async with serving(rules_app()) as url, client_of(url) as http:
        yield Stand(url, http)
