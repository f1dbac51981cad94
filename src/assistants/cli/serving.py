"""`signalbox dev`."""

from __future__ import annotations

import os

from assistants.cli.launcher import DEFAULT_PORT, serve
from assistants.cli.project import folder
from assistants.errors import SignalboxError


async def dev(*, port: int | None = None, jobs: int = 10, reload: bool = False) -> int:
    """Start the server with everything it needs on 127.0.0.1 (development).

    Parameters
    ----------
    port
        The port; by default PORT, else 2024. A busy port is an error.
    jobs
        Runs at once.
    reload
        Start again when code changes.
    """
    return await serve(folder(), port=_port() if port is None else port, jobs=jobs, reload=reload)


def _port() -> int:
    named = os.environ.get("PORT") or str(DEFAULT_PORT)
    if not named.isdecimal() or not 0 < int(named) < 65536:
        raise SignalboxError(f"PORT is {named!r}; expected a number from 1 to 65535.")
    return int(named)
