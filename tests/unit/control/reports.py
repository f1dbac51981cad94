"""A served deployment for the commands that read reports, and the command as a person runs it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from assistants.cli.main import main
from tests.unit.server.listener import listening
from tests.unit.server.reporting import SERVED, Desk, desk


@dataclass(frozen=True)
class Office:
    """A deployment that listens, and what its command prints."""

    desk: Desk
    printed: pytest.CaptureFixture[str]

    async def run(self, line: str) -> tuple[int, str, str]:
        """Exit code, output and errors of `signalbox` with these words; in a thread, as it brings a loop."""
        code = await asyncio.to_thread(main, line.split())
        streams = self.printed.readouterr()
        return code, streams.out, streams.err


@asynccontextmanager
async def office(tmp_path: Path, printed: pytest.CaptureFixture[str]) -> AsyncGenerator[Office]:
    """A served deployment; commands find it and sign their own token, as on a developer's machine."""
    async with desk(tmp_path) as one, listening(SERVED) as url:
        os.environ["SIGNALBOX_URL"] = url
        yield Office(one, printed)
