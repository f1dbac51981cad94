"""One real server and one scripted endpoint for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.support.endpoint import Endpoint, endpoint
from tests.support.server import Server, server

CATALOG = Path(__file__).parent / "catalog"
PRICES = Path(__file__).parent / "prices.json"


@pytest.fixture(scope="session")
async def model() -> AsyncGenerator[Endpoint]:
    async with endpoint() as running:
        yield running


@pytest.fixture(scope="session")
async def running(model: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Server]:
    home = tmp_path_factory.mktemp("server")
    settings = {"SIGNALBOX_CATALOG": str(CATALOG), "SIGNALBOX_PRICES": str(PRICES)}
    async with server(home, OPENAI_BASE_URL=model.url, **settings) as one:
        yield one
