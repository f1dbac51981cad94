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
    if jobs < 1:
        raise SignalboxError(f"--jobs is {jobs}; expected at least 1.")
    chosen = _port(os.environ.get("PORT") or str(DEFAULT_PORT)) if port is None else _port(str(port))
    return await serve(folder(), port=chosen, jobs=jobs, reload=reload)


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if not 0 < number < 65536:
        raise SignalboxError(f"The port is {text!r}; expected a number from 1 to 65535.")
    return number
