"""The server around an app: uvicorn on a loopback port, in the running loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio
import uvicorn
from starlette.types import ASGIApp

HOST = "127.0.0.1"
"""The only interface that is served: the script's control routes have no other protection."""

_KEEP_ALIVE = (
    120  # seconds; longer than clients keep idle connections, so that none is closed under a request
)


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers; it tells when it listens, and drops what is in flight to stop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = anyio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the process's signal handlers alone; whoever serves decides when to stop."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell so."""
        await super().startup(sockets)
        self.listening.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the connections; a request in flight sees its client leave, and ends."""
        for connection in list(self.server_state.connections):
            connection.transport.close()
        await super().shutdown(sockets)


def _bound(port: int) -> socket.socket:
    # asyncio switches Nagle's algorithm off only where the protocol is named; with it a stream waits 40 ms.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except OSError as error:
        bound.close()
        text = f"Port {port} on {HOST} cannot be used ({error.strerror}); choose another one, or 0."
        raise OSError(error.errno, text) from error
    return bound


@asynccontextmanager
async def serving(app: ASGIApp, *, port: int = 0) -> AsyncGenerator[str]:
    """Serve an app on 127.0.0.1 while the block runs; yields its base URL, such as `http://127.0.0.1:4711/v1`.

    Args:
        app: What `agent.offline.app` makes.
        port: The port; 0 takes a free one.

    Raises:
        OSError: The port cannot be used.
    """
    bound = _bound(port)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        await server.listening.wait()
        yield f"http://{HOST}:{bound.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        await task
