"""Every route of the server's OpenAPI document, with a request for it and what another tenant gets.

The table is compared with the live document, so a route that appears with a new server version fails the
suite until somebody has decided about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

Json = Any
MESSAGE: Json = {"messages": [{"role": "user", "content": "hello"}]}
RUN: Json = {"assistant_id": "{assistant_id}", "input": MESSAGE}
CRON: Json = {**RUN, "schedule": "0 0 1 1 *"}
RPC: Json = {"jsonrpc": "2.0", "id": 1}
TALK: Json = {"message": {"role": "user", "messageId": "1", "parts": [{"kind": "text", "text": "hello"}]}}


@dataclass(frozen=True)
class Route:
    """One method of one path; `{…}` in body and parameters is filled with the ids of the object."""

    method: str
    path: str
    foreign: int
    """The status that a user of another tenant gets for it."""
    body: Json = None
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    public: bool = False
    streams: bool = False
    """The answer is a stream without an end; only its start is read."""
    listing: bool = False
    """It names no object; what it lists must hold nothing of another tenant."""

    @property
    def key(self) -> tuple[str, str]:
        return self.method, self.path

    def filled(self, ids: Mapping[str, str]) -> dict[str, Any]:
        """The request's arguments for httpx."""
        request: dict[str, Any] = {
            "method": self.method,
            "url": self.path.format(**ids),
            "headers": {"accept": "application/json, text/event-stream"},
            "params": {name: value.format(**ids) for name, value in self.params.items()},
        }
        return request if self.body is None else {**request, "json": fill(self.body, ids)}


def fill(value: Json, ids: Mapping[str, str]) -> Json:
    """The value with every `{name}` in its texts replaced."""
    if isinstance(value, str):
        return value.format(**ids) if value.startswith("{") and value.endswith("}") else value
    if isinstance(value, list):
        return [fill(item, ids) for item in cast("list[Json]", value)]
    if isinstance(value, dict):
        return {name: fill(item, ids) for name, item in cast("dict[str, Json]", value).items()}
    return value


THREAD = "/threads/{thread_id}"
ASSISTANT = "/assistants/{assistant_id}"

ROUTES: tuple[Route, ...] = (
    # assistants: reading is filtered, writing belongs to operators
    Route("POST", "/assistants", 403, {"graph_id": "react"}),
    Route("POST", "/assistants/search", 200, {}, listing=True),
    Route("POST", "/assistants/count", 200, {}, listing=True),
    Route("GET", ASSISTANT, 404),
    Route("DELETE", ASSISTANT, 403),
    Route("PATCH", ASSISTANT, 403, {"name": "mine"}),
    Route("GET", f"{ASSISTANT}/graph", 404),
    Route("GET", f"{ASSISTANT}/subgraphs", 404),
    Route("GET", f"{ASSISTANT}/subgraphs/{{namespace}}", 404),
    Route("GET", f"{ASSISTANT}/schemas", 404),
    Route("POST", f"{ASSISTANT}/versions", 404, {}),
    Route("POST", f"{ASSISTANT}/latest", 403, {"version": 1}),
    # threads
    Route("POST", "/threads", 200, {}, listing=True),
    Route("POST", "/threads/search", 200, {}, listing=True),
    Route("POST", "/threads/count", 200, {}, listing=True),
    Route("POST", "/threads/prune", 404, {"thread_ids": ["{thread_id}"]}),
    Route("GET", f"{THREAD}/storage", 404),
    Route("GET", f"{THREAD}/state", 404),
    Route("POST", f"{THREAD}/state", 403, {"values": {"messages": []}}),
    Route("GET", f"{THREAD}/state/{{checkpoint_id}}", 404),
    Route("POST", f"{THREAD}/state/checkpoint", 404, {"checkpoint": {"checkpoint_id": "{checkpoint_id}"}}),
    Route("GET", f"{THREAD}/history", 404),
    Route("POST", f"{THREAD}/history", 404, {}),
    Route("POST", f"{THREAD}/copy", 403, {}),
    Route("GET", THREAD, 404),
    Route("DELETE", THREAD, 404),
    Route("PATCH", THREAD, 404, {"metadata": {"note": "mine"}}),
    Route("GET", f"{THREAD}/stream", 200, streams=True),
    Route("POST", f"{THREAD}/stream/events", 200, {"channels": ["values"]}, streams=True),
    Route("POST", f"{THREAD}/commands", 200, {"id": 1, "method": "run.start", "params": RUN}),
    # runs
    Route("GET", f"{THREAD}/runs", 404),
    Route("POST", f"{THREAD}/runs", 404, RUN),
    Route("POST", f"{THREAD}/runs/crons", 403, CRON),
    Route("POST", f"{THREAD}/runs/stream", 404, RUN),
    Route("POST", f"{THREAD}/runs/wait", 404, RUN),
    Route("GET", f"{THREAD}/runs/{{run_id}}", 404),
    Route("DELETE", f"{THREAD}/runs/{{run_id}}", 404),
    Route("GET", f"{THREAD}/runs/{{run_id}}/join", 404),
    Route("GET", f"{THREAD}/runs/{{run_id}}/stream", 200, streams=True),
    Route("POST", f"{THREAD}/runs/{{run_id}}/cancel", 404, {}),
    Route("POST", "/runs/stream", 404, RUN),
    Route("POST", "/runs/cancel", 404, {"thread_id": "{thread_id}", "run_ids": ["{run_id}"]}),
    Route("POST", "/runs/wait", 404, RUN),
    Route("POST", "/runs", 404, RUN),
    Route("POST", "/runs/batch", 404, [RUN]),
    # crons
    Route("POST", "/runs/crons", 403, CRON),
    Route("POST", "/runs/crons/search", 200, {}, listing=True),
    Route("POST", "/runs/crons/count", 200, {}, listing=True),
    Route("GET", "/runs/crons/{cron_id}", 404),
    Route("PATCH", "/runs/crons/{cron_id}", 403, {"schedule": "0 0 1 1 *"}),
    Route("DELETE", "/runs/crons/{cron_id}", 403),
    # the store: every namespace becomes one of the caller's own
    Route("PUT", "/store/items", 204, {"namespace": ["acme", "ann", "notes"], "key": "k", "value": {}}),
    Route("DELETE", "/store/items", 204, {"namespace": ["acme", "ann", "notes"], "key": "k"}),
    Route("GET", "/store/items", 200, params={"namespace": "acme.ann.notes", "key": "k"}, listing=True),
    Route("POST", "/store/items/search", 200, {"namespace_prefix": ["acme"]}, listing=True),
    Route("POST", "/store/namespaces", 200, {"prefix": ["acme"]}, listing=True),
    # protocols on top of runs
    Route("POST", "/mcp", 200, {**RPC, "method": "tools/list"}, listing=True),
    Route("GET", "/mcp", 405),
    Route("DELETE", "/mcp", 404),
    Route("POST", "/mcp/", 307, {**RPC, "method": "tools/list"}),
    Route("GET", "/mcp/", 307),
    Route("DELETE", "/mcp/", 307),
    Route("POST", "/a2a/{assistant_id}", 200, {**RPC, "method": "message/send", "params": TALK}),
    Route("GET", "/a2a/{assistant_id}", 400),
    Route("DELETE", "/a2a/{assistant_id}", 405),
    Route("GET", "/a2a/{assistant_id}/.well-known/agent-card.json", 400),
    Route("GET", "/a2a/{assistant_id}/.well-known/agent.json", 400),
    Route("GET", "/.well-known/agent-card.json", 400, params={"assistant_id": "{assistant_id}"}),
    Route("POST", "/ui/{graph_id}", 404, {}),
    # ours
    Route("GET", "/ops/health", 200, listing=True),
    Route("GET", "/ops/usage", 200, listing=True),
    Route("GET", "/ops/audit", 403),
    Route("GET", "/ops/audit/verify", 403),
    Route("GET", "/ops/approvals", 200, listing=True),
    Route("GET", "/ops/approvals/{approval_id}", 404),
    Route("POST", "/ops/approvals/{approval_id}", 404, {"decision": "approve"}),
    # public by design: they name no tenant
    Route("GET", "/", 200, public=True, listing=True),
    Route("GET", "/ok", 200, public=True, listing=True),
    Route("GET", "/info", 200, public=True, listing=True),
    Route("GET", "/metrics", 200, public=True, listing=True),
    Route("GET", "/docs", 200, public=True, listing=True),
    Route("GET", "/openapi.json", 200, public=True, listing=True),
    # side doors of the server: shut for everybody
    Route("POST", "/internal/truncate", 404, {}, public=True),
    Route("GET", "/internal/debug/thread/{thread_id}", 404, public=True),
    Route("GET", "/deploy", 404, public=True),
    Route("POST", "/deploy", 404, {}, public=True),
    Route("GET", "/deploy/{operation_id}/stream", 404, public=True),
)
