"""Our routes beside the server's, and what surrounds both.

The lifespan checks that authentication is really on, migrates the databases and applies the catalog before
the server takes requests. `Shield` hides the server's unauthenticated side doors; `Info` adds to `/info`
what a client should know of this deployment, above all whether the answers come from the offline model.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agent.telemetry.process import telemetry
from agent.tools.shipped import ledger, shop
from assistants import store
from assistants.configuration import AUTH_TARGET
from assistants.errors import ConfigurationInvalid
from assistants.principal import principal
from assistants.reconcile import apply
from assistants.server import approvals, audit, usage
from assistants.server.deployment import deployment, engines
from assistants.server.inbox import close_late
from assistants.server.surround import Info, Shield


async def health(request: Request) -> JSONResponse:
    """What serves: the model's kind, the assistants that the caller may run, and who the caller is."""
    here = deployment()
    who = principal(request.user.identity, request.auth.scopes)
    own = [one for one in here.catalog.assistants if who.operator or one.tenant == who.tenant]
    return JSONResponse(
        {
            "status": "ok",
            "environment": here.settings.environment,
            "model": model_facts(),
            "assistants": len(own),
            "you": {"identity": who.identity, "roles": sorted(who.roles)},
        }
    )


def model_facts() -> dict[str, str]:
    """How answers are made: `mode` is `endpoint`, `offline` or `none`, `note` says it in words."""
    mode = deployment().settings.model_mode
    notes = {
        "endpoint": "Answers come from the configured OpenAI-compatible endpoint.",
        "offline": "Answers come from the offline model: rules, for demonstration; no key is configured.",
        "none": "No model is configured: set OPENAI_API_KEY or OPENAI_BASE_URL. Runs fail until then.",
    }
    return {"mode": mode, "note": notes[mode]}


def authentication_on(environment: Mapping[str, str]) -> None:
    """Refuse to start where the server's authentication is not ours.

    A misspelt key in `auth` of `langgraph.json` passes the server's own validation and starts it without any
    authentication (docs/facts.md, F1).

    Raises:
        ConfigurationInvalid: Authentication is off, another one, or open to Studio's header.
    """
    configured: Any = json.loads(environment.get("LANGGRAPH_AUTH") or "null")
    if isinstance(configured, dict) and configured == {"path": AUTH_TARGET, "disable_studio_auth": True}:
        return
    wanted = json.dumps({"path": AUTH_TARGET, "disable_studio_auth": True})
    raise ConfigurationInvalid(
        [f"authentication is not on: 'auth' in langgraph.json must be exactly {wanted}"]
    )


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """Make ready before the first request: databases migrated, catalog applied and read back."""
    authentication_on(os.environ)
    here = await asyncio.to_thread(deployment)
    await store.prepare(here.settings.database)
    await ledger.open()
    await shop.prepare(sorted(here.catalog.tenants))
    await apply(here.catalog, get_client())
    closing = asyncio.create_task(close_late(ledger))
    yield
    await telemetry.close()
    closing.cancel()
    await asyncio.wait([closing])
    await shop.dispose()
    await ledger.dispose()
    await engines.dispose()


def info() -> dict[str, Any]:
    """Our part of `/info`; read without a token, so it names no tenant."""
    return {"signalbox": {"environment": deployment().settings.environment, "model": model_facts()}}


app = Starlette(
    routes=[
        Route("/ops/health", health, methods=["GET"]),
        Route("/ops/usage", usage.usage, methods=["GET"]),
        Route("/ops/audit", audit.audit, methods=["GET"]),
        Route("/ops/audit/verify", audit.verify, methods=["GET"]),
        Route("/ops/approvals", approvals.listed, methods=["GET"]),
        Route("/ops/approvals/{approval_id}", approvals.one, methods=["GET"]),
        Route("/ops/approvals/{approval_id}", approvals.decide, methods=["POST"]),
    ],
    middleware=[Middleware(Shield), Middleware(Info, extra=info)],
    lifespan=lifespan,
)
