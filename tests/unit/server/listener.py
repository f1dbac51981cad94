"""A real HTTP server on a free port of this machine, for as long as a test needs it."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncGenerator[str]:
    """Serve `app`; yields its URL.

    The socket listens before, so that no request comes too early; each answer ends its connection, so that no
    client of a test leaves one open. Between startup and shutdown uvicorn's own loop does not run: it notices
    an end only every tenth of a second.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        last = [("connection", "close")]
        config = uvicorn.Config(app, lifespan="off", ws="none", log_level="error", headers=last)
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[listener])
        await server.on_tick(0)  # puts the headers above into place
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            await server.shutdown(sockets=[listener])
