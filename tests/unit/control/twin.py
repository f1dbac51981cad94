"""The assistants of a LangGraph Server in memory: what it stores, and how it may disappoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Stored = dict[str, Any]


class Twin:
    """Creates, updates and gives assistants as the server does: contexts whole, metadata merged.

    `bent` changes what is stored, for a server or another writer that is not to be trusted.
    """

    def __init__(self, *, bent: Callable[[Stored], Stored] | None = None) -> None:
        self.stored: dict[str, Stored] = {}
        self.writes: list[tuple[str, str]] = []
        self._bent = bent

    def client(self) -> LangGraphClient:
        """A client of langgraph-sdk that speaks to this server."""
        app = Starlette(
            routes=[
                Route("/assistants", self._create, methods=["POST"]),
                Route("/assistants/{id}", self._update, methods=["PATCH"]),
                Route("/assistants/{id}", self._get, methods=["GET"]),
            ]
        )
        return LangGraphClient(
            httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://twin")
        )

    async def _create(self, request: Request) -> Response:
        sent = await request.json()
        empty: Stored = {
            "config": {},
            "context": {},
            "metadata": {},
            "name": "Untitled",
            "description": None,
            "version": 1,
        }
        return self._keep("create", {**empty, **sent})

    async def _update(self, request: Request) -> Response:
        sent = await request.json()
        old = self.stored[request.path_params["id"]]
        metadata = {**old["metadata"], **sent.get("metadata", {})}
        return self._keep("update", {**old, **sent, "metadata": metadata, "version": old["version"] + 1})

    async def _get(self, request: Request) -> Response:
        found = self.stored.get(request.path_params["id"])
        return JSONResponse({"detail": "Not found"}, 404) if found is None else JSONResponse(found)

    def _keep(self, verb: str, value: Stored) -> Response:
        self.writes.append((verb, value["name"]))
        kept = value if self._bent is None else self._bent(value)
        if kept:
            self.stored[value["assistant_id"]] = kept
        return JSONResponse(value)
