"""A real server as tests use it: `signalbox dev` in a process, with a home of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from assistants.identity import assistant_id
from assistants.principal import principal
from assistants.server.token import Expectation, issue, now

PROJECT = Path(__file__).parent.parent.parent
SECRET = "a9x-Test-7Qm2vLr8Kd5Zt1Wc4Yb6Hn3Jf0Gp"
_CLEARED = (
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "SIGNALBOX_TOKEN", "SIGNALBOX_URL", "SIGNALBOX_CATALOG"),
    *("SIGNALBOX_JWKS_URL", "SIGNALBOX_DB", "SIGNALBOX_SHOP_DB", "SIGNALBOX_MESSAGES"),
)


def free_port() -> int:
    """A port on 127.0.0.1 that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def token(tenant: str, user: str, *roles: str, secret: str = SECRET) -> str:
    """A valid token of the test servers."""
    who = principal(f"{tenant}/{user}", roles or ("user",))
    return issue(who, secret=secret, ttl=timedelta(hours=1), expectation=Expectation(), now=now())


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    url: str
    process: asyncio.subprocess.Process
    home: Path
    log: Path
    opened: dict[tuple[str, ...], LangGraphClient] = field(
        default_factory=dict[tuple[str, ...], LangGraphClient]
    )

    def client(self, tenant: str, user: str, *roles: str) -> LangGraphClient:
        """An SDK client that speaks as `tenant/user`; closed with the server."""
        who = (tenant, user, *roles)
        if who not in self.opened:
            headers = {"Authorization": f"Bearer {token(tenant, user, *roles)}"}
            self.opened[who] = get_client(url=self.url, api_key=None, headers=headers)
        return self.opened[who]

    def http(self, tenant: str, user: str, *roles: str) -> httpx.AsyncClient:
        """A plain HTTP client that speaks as `tenant/user`."""
        headers = {"Authorization": f"Bearer {token(tenant, user, *roles)}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60.0)

    def anonymous(self, headers: Mapping[str, str] | None = None) -> httpx.AsyncClient:
        """A plain HTTP client without credentials."""
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60.0)


def assistant(name: str) -> str:
    """The id of `tenant/name`."""
    tenant, _, own = name.partition("/")
    return str(assistant_id(tenant, own))


def environment(home: Path, **settings: str) -> dict[str, str]:
    """The environment of a test server: nothing of the developer's own, everything under `home`."""
    return {
        **os.environ,
        **dict.fromkeys(_CLEARED, ""),  # empty, so that the developer's own .env does not fill them in
        "SIGNALBOX_ENV": "dev",
        "SIGNALBOX_HOME": str(home),
        "SIGNALBOX_JWT_SECRET": SECRET,
        "SIGNALBOX_SERVER_SECRET": f"stamp-{SECRET}",
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        **settings,
    }


@asynccontextmanager
async def server(home: Path, **settings: str) -> AsyncGenerator[Server]:
    """A server on a free port; its output goes to `server.log` in `home`."""
    port = free_port()
    log = home / "server.log"
    with _opened(log) as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "assistants.cli", "dev", "--port", str(port)),
            cwd=PROJECT,
            env=environment(home, **settings),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    running = Server(f"http://127.0.0.1:{port}", process, home, log)
    try:
        await _ready(running)
        yield running
    finally:
        for client in running.opened.values():
            await client.aclose()
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.wait()


def _opened(log: Path) -> BinaryIO:
    log.parent.mkdir(parents=True, exist_ok=True)
    return log.open("ab")


async def _ready(running: Server) -> None:
    async with httpx.AsyncClient() as client, asyncio.timeout(90):
        while True:
            if running.process.returncode is not None:
                raise AssertionError(f"the server ended:\n{running.log.read_text()[-4000:]}")
            try:
                if (
                    await client.get(f"{running.url}/ok")
                ).is_success and "Ctrl-C stops" in running.log.read_text():
                    return
                await asyncio.sleep(0.05)
            except httpx.TransportError:
                await asyncio.sleep(0.1)
