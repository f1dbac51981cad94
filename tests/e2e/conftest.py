"""The whole stack as a stranger meets it: the shipped catalog, the offline model, no key."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.support.server import Server, server


@pytest.fixture(scope="session")
async def offline(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Server]:
    async with server(tmp_path_factory.mktemp("offline")) as running:
        yield running
