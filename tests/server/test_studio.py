"""LangGraph Studio: what it sends, in the order in which it does, and what it needs to get back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.offline.script import ScriptedCall, Turn
from tests.server.conftest import CATALOG, PRICES
from tests.support.dialogue import Json, message, wait
from tests.support.endpoint import Endpoint
from tests.support.server import SECRET, Server, assistant, server

pytestmark = [pytest.mark.anyio, pytest.mark.server]

STUDIO = {"x-auth-scheme": "langsmith", "origin": "https://smith.langchain.com"}
READING = [
    ("POST", "/assistants/search"),
    ("POST", "/threads/search"),
    ("GET", "/ops/health"),
    ("POST", "/threads"),
    ("GET", f"/assistants/{assistant('acme/support')}/schemas"),
]


async def test_studio_finds_an_assistant_and_draws_it(running: Server) -> None:
    async with running.anonymous(STUDIO) as studio:
        preflight = await studio.options(
            "/assistants/search",
            headers={
                "access-control-request-method": "POST",
                "access-control-request-headers": "content-type,x-auth-scheme",
            },
        )
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == "https://smith.langchain.com"
        assert (await studio.get("/info")).json()["flags"]["assistants"] is True
        found: Json = (await studio.post("/assistants/search", json={"limit": 100})).json()
        assert {one["metadata"]["kind"] for one in found} == {"channel"}
        names = [one["name"] for one in found]
        assert sorted(names) == [
            "acme/reader",
            "acme/support",
            "globex/desk",
            "globex/hasty",
            "globex/lenient",
            "globex/support",
            "hooli/support",
            "initech/support",
            "lantern/spare",
            "lantern/support",
            "lantern/thinker",
        ]
        chosen = found[names.index("acme/support")]
        assert chosen["context"]["prompt"] == "You answer customers of Acme."
        graph: Json = (await studio.get(f"/assistants/{chosen['assistant_id']}/graph?xray=true")).json()
        assert {node["id"] for node in graph["nodes"]} == {"__start__", "model", "tools", "__end__"}
        schemas: Json = (await studio.get(f"/assistants/{chosen['assistant_id']}/schemas")).json()
        assert "messages" in schemas["input_schema"]["properties"]
        assert "messages" in schemas["state_schema"]["properties"]
        assert "prompt" in schemas["context_schema"]["properties"]


async def test_studio_runs_reads_and_forks(running: Server, model: Endpoint) -> None:
    look = ScriptedCall(name="orders_get", args={"number": 1001})
    talk = await model.script(
        Turn(content="", tool_calls=(look,)), Turn(content="It is here."), Turn(content="Forked answer.")
    )
    target = assistant("acme/support")
    async with running.anonymous(STUDIO) as studio:
        thread: Json = (await studio.post("/threads", json={"metadata": {}})).json()
        path = f"/threads/{thread['thread_id']}"
        assert thread["metadata"]["owner"] == "platform/studio"
        body: Json = {
            "assistant_id": target,
            "input": message(talk.says("Where is 1001?")),
            "stream_mode": ["values", "messages-tuple", "updates", "debug"],
            "stream_subgraphs": True,
            "context": {"prompt": "from Studio's form"},
        }
        events = await stream(studio, f"{path}/runs/stream", body)
        assert "error" not in events
        assert {"values", "messages", "updates", "debug"} <= events
        state: Json = (await studio.get(f"{path}/state")).json()
        assert [m["type"] for m in state["values"]["messages"]] == ["human", "ai", "tool", "ai"]
        history: Json = (await studio.post(f"{path}/history", json={"limit": 50})).json()
        assert [len(entry["values"].get("messages", [])) for entry in history] == [4, 3, 2, 1, 0]
        before_answer = history[1]["checkpoint"]
        edited = {"messages": [{**history[1]["values"]["messages"][0], "content": talk.says("And 1002?")}]}
        forked: Json = (
            await studio.post(f"{path}/state", json={"values": edited, "checkpoint": before_answer})
        ).json()
        fork = {**body, "input": None, "checkpoint": forked["checkpoint"]}
        assert "error" not in await stream(studio, f"{path}/runs/stream", fork)
        after: Json = (await studio.get(f"{path}/state")).json()
        assert after["values"]["messages"][0]["content"] == talk.says("And 1002?")
        assert after["values"]["messages"][-1]["content"] == "Forked answer."
        original: Json = (
            await studio.get(f"{path}/state/{history[0]['checkpoint']['checkpoint_id']}")
        ).json()
        assert original["values"]["messages"][-1]["content"] == "It is here."
    assert "from Studio's form" not in json.dumps([r.body for r in await talk.requests()])


async def stream(client: httpx.AsyncClient, path: str, body: Mapping[str, Any]) -> set[str]:
    """The kinds of events that a run streams."""
    async with client.stream("POST", path, json=body) as answer:
        assert answer.status_code == 200
        return {
            line.removeprefix("event: ") async for line in answer.aiter_lines() if line.startswith("event: ")
        }


@pytest.mark.parametrize(
    "changed",
    [
        {"x-forwarded-for": "10.0.0.7"},
        {"forwarded": "for=10.0.0.7"},
        {"host": "evil.example"},
        {"x-auth-scheme": "LangSmith"},
    ],
    ids=["forwarded", "forwarded-standard", "rebound-name", "other-scheme"],
)
async def test_the_header_counts_on_this_machine_only(running: Server, changed: dict[str, str]) -> None:
    """Case 35: through a proxy, or from a page that points its own name here, the header is nothing."""
    async with running.anonymous({**STUDIO, **changed}) as client:
        for method, path in READING:
            answer = await client.request(method, path, json={} if method == "POST" else None)
            assert answer.status_code == 401, path


async def test_in_production_the_header_is_nothing(model: Endpoint, tmp_path: Path) -> None:
    """Case 35, and `disable_studio_auth` keeps the server's own back door shut."""
    async with server(
        tmp_path,
        SIGNALBOX_ENV="prod",
        OPENAI_BASE_URL=model.url,
        SIGNALBOX_CATALOG=str(CATALOG),
        SIGNALBOX_PRICES=str(PRICES),
    ) as prod:
        async with prod.anonymous(STUDIO) as client:
            for method, path in READING:
                answer = await client.request(method, path, json={} if method == "POST" else None)
                assert answer.status_code == 401, path
                assert "signalbox token" not in answer.text
        talk = await model.script(Turn(content="served"))
        values = await wait(prod.client("acme", "ann"), None, assistant("acme/support"), talk.says("hi"))
        assert values["messages"][-1]["content"] == "served"
    assert SECRET not in prod.log.read_text()
