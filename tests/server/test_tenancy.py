"""Invariant 1: no tenant sees, runs, changes or infers anything of another, on any path of the server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from agent.offline.script import ScriptedCall, Turn
from tests.server.surface import ROUTES, Route
from tests.support.dialogue import new_thread, wait
from tests.support.endpoint import Endpoint
from tests.support.server import Server, assistant

pytestmark = [pytest.mark.anyio, pytest.mark.server]

CANARY = "canary-7f3a"


@dataclass(frozen=True)
class Belongings:
    """What Ann of acme has, by the names that paths use."""

    ids: Mapping[str, str]


@pytest.fixture(scope="module")
async def anns(running: Server, model: Endpoint) -> Belongings:
    """A finished run, a store item, a cron and a pending approval of acme, each with the canary in it."""
    ann, operator = running.client("acme", "ann"), running.client("acme", "olga", "operator")
    talk = await model.script(Turn(content=f"{CANARY} answer"))
    thread = (await ann.threads.create(metadata={"note": CANARY}))["thread_id"]
    message = {"role": "user", "content": talk.says(CANARY)}
    run = await ann.runs.create(thread, assistant("acme/support"), input={"messages": [message]})
    await ann.runs.join(thread, run["run_id"])
    assert (await ann.runs.get(thread, run["run_id"]))["status"] == "success"
    await ann.store.put_item(["notes"], "k", {"secret": CANARY})
    cron: Any = await operator.crons.create(
        assistant("acme/support"),
        schedule="0 0 1 1 *",
        input={"messages": [{"role": "user", "content": CANARY}]},
    )
    checkpoint = (await ann.threads.get_state(thread))["checkpoint"]
    return Belongings(
        {
            "thread_id": thread,
            "run_id": run["run_id"],
            "cron_id": cron["cron_id"],
            "checkpoint_id": str(checkpoint["checkpoint_id"]),
            "assistant_id": assistant("acme/support"),
            "approval_id": await asked(running, model),
            **INERT,
        }
    )


async def asked(running: Server, model: Endpoint) -> str:
    """The id of an approval that a thread of Ann's waits for."""
    ann = running.client("acme", "ann")
    refund = {"order": 1001, "amount": 100, "reason": CANARY}
    call = ScriptedCall(name="orders_refund", args=refund)
    talk = await model.script(Turn(content="", tool_calls=(call,)))
    thread = await new_thread(ann)
    await wait(ann, thread, assistant("acme/support"), talk.says("refund please"))
    async with running.http("acme", "ann") as client:
        answer = await client.get("/ops/approvals", params={"thread": thread})
    (record,) = answer.json()["approvals"]
    assert record["arguments"]["reason"] == CANARY
    return record["id"]


INERT = {"namespace": "x", "operation_id": "x", "graph_id": "react"}


def nobodys() -> dict[str, str]:
    """Ids of the same form that belong to nothing."""
    names = ("thread_id", "run_id", "cron_id", "checkpoint_id", "assistant_id", "approval_id")
    return {**{name: str(uuid.uuid4()) for name in names}, **INERT}


async def send(client: httpx.AsyncClient, route: Route, ids: Mapping[str, str]) -> tuple[int, str]:
    """Status and body; of a stream that does not end, what comes within a second."""
    async with client.stream(**route.filled(ids), timeout=1.0 if route.streams else 30.0) as answer:
        body = b""
        try:
            async for piece in answer.aiter_bytes():
                body += piece
        except httpx.ReadTimeout:
            assert route.streams, "only streams may stay open"
        return answer.status_code, body.decode()


def named(route: Route) -> str:
    return f"{route.method} {route.path}"


async def test_every_route_of_the_server_is_listed(running: Server) -> None:
    """Case 34: a path that appears is closed until somebody decides about it."""
    async with running.anonymous() as client:
        document = (await client.get("/openapi.json")).json()
    methods = {"get", "post", "put", "patch", "delete"}
    live = {
        (method.upper(), path)
        for path, item in document["paths"].items()
        for method in item
        if method in methods
    }
    assert len(live) > 60
    assert live == {route.key for route in ROUTES}


@pytest.mark.parametrize("route", ROUTES, ids=named)
async def test_without_a_token_only_public_routes_answer(
    running: Server, anns: Belongings, route: Route
) -> None:
    """Case 38: what answers without a token is a list, and it names no tenant."""
    async with running.anonymous() as client:
        status, body = await send(client, route, anns.ids)
    assert status == (route.foreign if route.public else 401)
    assert CANARY not in body
    if status == 401:
        assert "Expected 'Authorization: Bearer <token>'" in json.loads(body)["detail"]


@pytest.mark.parametrize("route", ROUTES, ids=named)
async def test_another_tenant_gets_nothing(running: Server, anns: Belongings, route: Route) -> None:
    async with running.http("globex", "bob") as client:
        status, body = await send(client, route, anns.ids)
        assert status == route.foreign
        assert CANARY not in body
        if route.listing:
            own = '"globex","bob","acme"'  # what bob asked for as another's became a namespace of his own
            assert "acme" not in body.replace(own, "")
            return
        same_status, same_body = await send(client, route, (other := nobodys()))
    assert (same_status, anonymised(same_body, other)) == (status, anonymised(body, anns.ids)), (
        "an id of another tenant and an id of nothing are told apart"
    )


def anonymised(body: str, ids: Mapping[str, str]) -> str:
    for name, value in ids.items():
        if name not in INERT:
            body = body.replace(value, name)
    return body


@pytest.mark.parametrize("route", [r for r in ROUTES if "{thread_id}" in r.path and not r.public], ids=named)
async def test_another_user_of_the_tenant_gets_no_thread_of_anns(
    running: Server, anns: Belongings, route: Route
) -> None:
    async with running.http("acme", "ben") as client:
        status, body = await send(client, route, anns.ids)
    assert status == route.foreign
    assert CANARY not in body


async def test_everything_is_still_there_afterwards(running: Server, anns: Belongings) -> None:
    """Nothing that others tried above has changed or removed anything."""
    ann, operator = running.client("acme", "ann"), running.client("acme", "olga", "operator")
    ids = anns.ids
    thread = await ann.threads.get(ids["thread_id"])
    assert thread["metadata"] == {
        "note": CANARY,
        "tenant": "acme",
        "owner": "acme/ann",
        "graph_id": "react",
        "assistant_id": ids["assistant_id"],
    }
    state: Any = await ann.threads.get_state(ids["thread_id"])
    assert [message["type"] for message in state["values"]["messages"]] == ["human", "ai"]
    assert (await ann.runs.get(ids["thread_id"], ids["run_id"]))["status"] == "success"
    assert (await ann.store.get_item(["notes"], "k"))["value"] == {"secret": CANARY}
    crons = await operator.crons.search(assistant_id=ids["assistant_id"])
    assert [cron["cron_id"] for cron in crons] == [ids["cron_id"]]
    assert (await ann.assistants.get(ids["assistant_id"]))["name"] == "acme/support"


async def test_a_websocket_without_or_with_a_foreign_token_sees_nothing(
    running: Server, anns: Belongings
) -> None:
    """The stream's WebSocket is not in the OpenAPI document."""
    from websockets.asyncio.client import connect  # noqa: PLC0415
    from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: PLC0415

    from tests.support.server import token  # noqa: PLC0415

    url = f"{running.url.replace('http', 'ws', 1)}/threads/{anns.ids['thread_id']}/stream/events"
    with pytest.raises(InvalidStatus):
        async with connect(url):
            pass
    headers = {"Authorization": f"Bearer {token('globex', 'bob')}"}
    heard: list[str] = []
    try:
        async with connect(url, additional_headers=headers) as socket:
            command = {"id": 1, "method": "run.start", "params": {"assistant_id": anns.ids["assistant_id"]}}
            await socket.send(json.dumps(command))
            heard.append(str(await socket.recv()))
    except (ConnectionClosed, InvalidStatus):
        pass
    assert CANARY not in "".join(heard)
    assert '"type":"success"' not in "".join(heard).replace(" ", "")
    own = {"Authorization": f"Bearer {token('acme', 'ann')}"}
    async with connect(url, additional_headers=own) as socket:  # the same socket works for its owner
        await socket.send(json.dumps({"id": 2, "method": "subscription.list", "params": {}}))
        assert json.loads(await socket.recv())["id"] == 2
