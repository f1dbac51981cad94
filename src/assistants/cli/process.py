"""Child processes of the launcher: started in sessions of their own, ended together, never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PATIENCE = 10.0  # seconds that a child may take to end before it is killed
_SET_PARENT_DEATH_SIGNAL = 1  # linux, prctl(2)


@dataclass(frozen=True, slots=True)
class Child:
    """A started child: its name for messages and its process."""

    name: str
    process: asyncio.subprocess.Process

    async def stop(self) -> None:
        """End the child with SIGTERM, after ten seconds with SIGKILL; its own children go with it."""
        if self.process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        try:
            async with asyncio.timeout(_PATIENCE):
                await self.process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()


async def start(
    name: str,
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path | None = None,
    capture: bool = False,
) -> Child:
    """Start a child that does not see the terminal's Ctrl-C and dies with the launcher.

    Args:
        name: What messages call it.
        command: Program and arguments.
        environment: The child's whole environment.
        cwd: The child's working directory.
        capture: Whether the child's standard output is a pipe to read from.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        env=dict(environment),
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE if capture else None,
        start_new_session=True,
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,
    )
    return Child(name, process)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
