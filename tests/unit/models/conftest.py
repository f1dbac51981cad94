"""The scripted endpoint, started once for the tests of the model clients."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.support.endpoint import Endpoint, endpoint


@pytest.fixture(scope="session")
async def scripted(anyio_backend: str) -> AsyncGenerator[Endpoint]:
    """The endpoint in a process of its own; each test scripts a conversation of its own."""
    assert anyio_backend == "asyncio"
    async with endpoint() as running:
        yield running


@pytest.fixture(autouse=True)
def _no_endpoint_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_API_BASE", "SIGNALBOX_MODEL_PROFILE"):
        monkeypatch.delenv(name, raising=False)
