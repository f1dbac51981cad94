"""A question about an order, end to end: the SDK, a real server, the scripted endpoint, the real shop."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from typing import Any, cast

import pytest
from langgraph_sdk.errors import NotFoundError

from agent.offline.script import ScriptedCall, Turn
from tests.support.dialogue import SUPPORT, Json, ask, message, new_thread, wait
from tests.support.endpoint import Conversation, Endpoint
from tests.support.server import Server, assistant

pytestmark = [pytest.mark.anyio, pytest.mark.server]


def look_up(number: int) -> Turn:
    return Turn(content="", tool_calls=(ScriptedCall(name="orders_get", args={"number": number}),))


async def test_an_order_is_looked_up_and_the_answer_streams(running: Server, model: Endpoint) -> None:
    [(status,)] = shop(running, "SELECT status FROM orders WHERE tenant = 'acme' AND number = 1001")
    talk = await model.script(look_up(1001), Turn(content=f"It is {status} now.", chunks=6))
    ann = running.client("acme", "ann")
    tokens: list[str] = []
    nodes: list[str] = []
    results: list[dict[str, Any]] = []
    stream = ann.runs.stream(
        await new_thread(ann),
        SUPPORT,
        input=message(talk.says("Where is order 1001?")),
        stream_mode=["messages-tuple", "updates"],
    )
    async for event in stream:
        part: Json = event
        if part.event == "messages" and part.data[0]["type"] == "AIMessageChunk":
            tokens.append(part.data[0]["content"])
        if part.event == "updates":
            nodes += part.data
            changes: list[Json] = [m for update in part.data.values() for m in update["messages"]]
            results += [json.loads(m["content"]) for m in changes if m["type"] == "tool"]
    spoken = [piece for piece in tokens if piece]
    assert len(spoken) >= 3
    assert "".join(spoken) == f"It is {status} now."
    assert nodes == ["model", "tools", "model"]
    assert [(result["order"], result["status"]) for result in results] == [(1001, status)]


async def test_each_tenant_gets_its_own_order_of_a_number(running: Server, model: Endpoint) -> None:
    seen: dict[str, str] = {}
    for tenant in ("acme", "globex"):
        client = running.client(tenant, "ann")
        talk = await model.script(look_up(1001), Turn(content="ok"))
        messages = await ask(
            client, await new_thread(client), talk.says("1001?"), to=assistant(f"{tenant}/support")
        )
        seen[tenant] = json.loads(messages[2]["content"])["customer"]["name"]
    assert seen["acme"] != seen["globex"]


async def test_a_second_turn_remembers_the_first(running: Server, model: Endpoint) -> None:
    ann = running.client("acme", "ann")
    talk = await model.script(look_up(1002), Turn(content="one"), Turn(content="two"))
    thread = await new_thread(ann)
    assert len(await ask(ann, thread, talk.says("order 1002?"))) == 4
    assert len(await ask(ann, thread, "and?")) == 6
    roles = [m["role"] for m in (await talk.requests())[-1].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


async def test_an_unauthenticated_call_is_401_with_a_hint(running: Server) -> None:
    async with running.anonymous() as client:
        answer = await client.post("/threads", json={})
        wrong = await client.post("/threads", json={}, headers={"Authorization": "Bearer nonsense"})
    assert (answer.status_code, wrong.status_code) == (401, 401)
    assert "signalbox token --tenant" in answer.json()["detail"]
    assert "the token was refused: its signature or claims are wrong" in wrong.json()["detail"]
    assert "nonsense" not in wrong.text


async def test_an_api_key_is_a_user_of_its_tenant(running: Server) -> None:
    async with running.anonymous({"x-api-key": "test-key-of-acme"}) as client:
        made = await client.post("/threads", json={})
        health = await client.get("/ops/health")
    assert made.json()["metadata"] == {"tenant": "acme", "owner": "acme/backend"}
    assert health.json()["you"] == {"identity": "acme/backend", "roles": ["user"]}
    assert health.json()["assistants"] == 2
    async with running.anonymous({"x-api-key": "test-key-of-acmf"}) as client:
        assert (await client.post("/threads", json={})).status_code == 401


async def test_a_model_endpoint_that_is_down_fails_readably_and_the_thread_goes_on(
    running: Server, model: Endpoint
) -> None:
    ann = running.client("acme", "ann")
    down = [Turn(status=503, error="upstream exploded at /srv/secret")] * 3
    talk = await model.script(*down, Turn(content="Back."))
    thread = await new_thread(ann)
    async with running.http("acme", "ann") as client:
        body = {"assistant_id": SUPPORT, "input": message(talk.says("hello"))}
        failed = (await client.post(f"/threads/{thread}/runs/wait", json=body)).json()
    assert failed["__error__"]["message"] == (
        "The endpoint of model 'openai:scripted' failed. Nothing is lost: send your message again later. "
        "[model_unavailable]"
    )
    state: Any = await ann.threads.get_state(thread)
    assert "secret" not in json.dumps(state)
    messages = await ask(ann, thread, "again")
    assert [m["type"] for m in messages] == ["human", "human", "ai"]


async def test_turns_of_one_tenant_run_side_by_side(running: Server, model: Endpoint) -> None:
    """Case 51: the development server runs one job at a time unless it is told otherwise; ours is told."""
    ann, bob = running.client("acme", "ann"), running.client("globex", "bob")
    slow = await model.script(Turn(content="slow", gate="go"))
    quick = await model.script(Turn(content="quick"))
    waiting = asyncio.create_task(ask(ann, await new_thread(ann), slow.says("x")))
    await slow.requests(wait_for=1)
    answer = await ask(bob, await new_thread(bob), quick.says("x"), to=assistant("globex/support"))
    assert answer[-1]["content"] == "quick"
    assert not waiting.done()
    await slow.open("go")
    assert (await waiting)[-1]["content"] == "slow"


async def test_a_refund_writes_one_row_and_one_that_needs_a_person_writes_it_after_the_approval(
    running: Server, model: Endpoint
) -> None:
    ann = running.client("acme", "ann")
    [(number,)] = shop(
        running,
        "SELECT number FROM orders WHERE tenant = 'acme' AND status = 'delivered' AND total_minor >= 20000 "
        "AND number NOT IN (SELECT order_number FROM refunds WHERE tenant = 'acme') ORDER BY number LIMIT 1",
    )
    refund = {"order": number, "reason": "dented box"}
    talk = await model.script(
        Turn(content="", tool_calls=(ScriptedCall(name="orders_refund", args={**refund, "amount": 100}),)),
        Turn(content="", tool_calls=(ScriptedCall(name="orders_refund", args={**refund, "amount": 1.5}),)),
        Turn(content="done"),
    )
    thread = await new_thread(ann)
    waiting = await wait(ann, thread, SUPPORT, talk.says("refund please"))
    assert [one["value"]["action_requests"][0]["args"]["amount"] for one in waiting["__interrupt__"]] == [100]
    assert shop(running, "SELECT 1 FROM refunds WHERE reason = 'dented box'") == []
    eve = running.client("acme", "eve", "approver")
    answer = {waiting["__interrupt__"][0]["id"]: {"decisions": [{"type": "approve"}]}}
    resume = cast("Json", eve.runs.wait)
    values = await resume(thread, SUPPORT, command={"resume": answer})
    approved, free = (json.loads(values["messages"][index]["content"]) for index in (2, 4))
    assert (approved["outcome"], free["outcome"]) == ("created", "created")
    rows = shop(running, "SELECT tenant, order_number, amount_minor FROM refunds WHERE reason = 'dented box'")
    assert sorted(rows) == [("acme", number, 150), ("acme", number, 10_000)]


def shop(running: Server, query: str) -> list[tuple[Any, ...]]:
    """Rows of the shop's database, read round the product."""
    with closing(sqlite3.connect(running.home / "shop.db")) as connection:
        return connection.execute(query).fetchall()


async def test_a_thread_of_another_user_is_not_found(running: Server, model: Endpoint) -> None:
    ann, ben = running.client("acme", "ann"), running.client("acme", "ben")
    talk: Conversation = await model.script(Turn(content="ok"))
    thread = await new_thread(ann)
    await ask(ann, thread, talk.says("hello"))
    with pytest.raises(NotFoundError):
        await ben.threads.get(thread)
    assert thread not in [found["thread_id"] for found in await ben.threads.search(limit=100)]
