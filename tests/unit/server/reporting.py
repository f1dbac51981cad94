"""The routes of usage and audit as they are served: real tokens, a catalog, a ledger in a SQLite file."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, BaseUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection

from agent.ledger import Ledger, ModelUse, ToolUse, Turn, day
from agent.tools.shipped import ledger as deployed
from assistants.principal import Principal, principal
from assistants.server.app import app
from assistants.server.authenticate import authenticate
from assistants.server.deployment import deployment
from assistants.server.token import Expectation, issue, now
from tests.unit.server.catalogs import written

SECRET = "q7Zk3v9Qw10f8Hc7Lr5Ty2Ux4Bn6Mp0Ea9Jd"
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = {"since": "2026-03-01", "until": "2026-03-02"}
R1, R2 = "3f9a1c" + "0" * 58, "3f9a1d" + "0" * 58


class Known(BaseUser):
    """A caller, as the server gives it to routes."""

    def __init__(self, who: Principal) -> None:
        self._who = who

    @property
    def identity(self) -> str:
        return self._who.identity


class Tokens(AuthenticationBackend):
    """The server's own authentication, in the form that starlette asks for."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser]:
        here = deployment()
        who = await authenticate(
            dict(conn.headers.raw), conn.scope, catalog=here.catalog, tokens=here.tokens, development=False
        )
        return AuthCredentials(sorted(who.roles)), Known(who)


SERVED = Starlette(routes=app.routes, middleware=[Middleware(AuthenticationMiddleware, backend=Tokens())])
"""Our routes behind our authentication, without the rest of the server."""


@dataclass(frozen=True)
class Desk:
    """A deployment for one test: its ledger, the ledger's file, and who may ask."""

    ledger: Ledger
    url: str
    file: Path

    async def get(
        self, path: str, who: str = "platform/ops operator", *, accept: str = "*/*", **parameters: str | int
    ) -> httpx.Response:
        """What `who` (an identity and roles) is answered."""
        headers = {"Authorization": f"Bearer {token(who)}", "Accept": accept}
        transport = httpx.ASGITransport(app=SERVED)
        async with httpx.AsyncClient(transport=transport, base_url="http://desk", headers=headers) as client:
            return await client.get(path, params=parameters)


def token(who: str) -> str:
    """A token for an identity and its roles, such as `acme/ann user`."""
    identity, *roles = who.split(" ")
    return issue(
        principal(identity, roles),
        secret=SECRET,
        ttl=timedelta(hours=1),
        expectation=Expectation(),
        now=now(),
    )


@asynccontextmanager
async def desk(tmp_path: Path, **settings: str) -> AsyncGenerator[Desk]:
    """A deployment of two tenants, acme and globex, in a process environment of its own."""
    file = tmp_path / "signalbox.db"
    url = f"sqlite+aiosqlite:///{file}"
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("SIGNALBOX_")]:
        del os.environ[name]
    os.environ.update(
        {
            "SIGNALBOX_ENV": "dev",
            "SIGNALBOX_JWT_SECRET": SECRET,
            "SIGNALBOX_CATALOG": str(written(tmp_path / "catalog")),
            "SIGNALBOX_DB": url,
            **settings,
        }
    )
    deployment.cache_clear()
    try:
        yield Desk(deployed, url, file)
    finally:
        await deployed.dispose()
        os.environ.clear()
        os.environ.update(before)
        deployment.cache_clear()


def turn(identity: str = "m1", **changes: Any) -> Turn:
    """A turn of acme's support assistant."""
    base = Turn(tenant="acme", thread="t1", id=identity, assistant="support", release=R1, day=day(NOON))
    return replace(base, **changes)


MODEL = ModelUse("run1", "model", "gpt-5-mini", 1000, 50, estimated=False, micros=350, latency_ms=800)
TOOL = ToolUse("run1", "tools", "call1", "orders.get", "read", latency_ms=20)


async def model(ledger: Ledger, of: Turn | None = None, *, at: datetime = NOON, **changes: Any) -> None:
    """Record a model call."""
    await ledger.usage.model(of or turn(), replace(MODEL, **changes), at=at)


async def tool(ledger: Ledger, of: Turn | None = None, *, at: datetime = NOON, **changes: Any) -> None:
    """Record a tool call."""
    await ledger.usage.tool(of or turn(), replace(TOOL, **changes), at=at)


def figures(**known: Any) -> Mapping[str, Any]:
    """Figures as JSON: those that are given, nothing of the others."""
    names = (
        *("runs", "turns", "steps", "model_calls", "model_failures", "tokens_in", "tokens_out"),
        *("estimated_calls", "micros", "tool_calls", "tool_failures", "denials"),
        *("interrupts", "approved", "rejected"),
    )
    return {**dict.fromkeys(names, 0), "usd": "0.000000", "approval_rate": None, **known}
