"""A real HTTP server on a free port of this machine, for as long as a test needs it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncGenerator[str]:
    """Serve `app`; yields its URL.

    The socket listens before, so that no request comes too early; each answer ends its connection, so that no
    client of a test leaves one open.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        last = [("connection", "close")]
        server = uvicorn.Server(
            uvicorn.Config(app, lifespan="off", ws="none", log_level="error", headers=last)
        )
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            await serving
