"""Secrets and internals: what must never turn up in states, records, logs, prompts and answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.offline.script import ScriptedCall, Turn
from tests.server.conftest import CATALOG, PRICES
from tests.support.dialogue import SUPPORT, Json, ask, message, new_thread
from tests.support.endpoint import Endpoint
from tests.support.process import commands
from tests.support.server import SECRET, Server, assistant, server, token

pytestmark = [pytest.mark.anyio, pytest.mark.server]

KEY = "sk-canary-9d1f7c33"
STAMP_SECRET = "canary-stamp-Qm2vLr8Kd5Zt1Wc4Yb6Hn3Jf0Gp"


async def test_no_secret_turns_up_anywhere(model: Endpoint, tmp_path: Path) -> None:
    """Case 41: a canary for each secret, then a search through everything that was written or answered."""
    home = tmp_path / "home"
    async with server(
        home,
        OPENAI_BASE_URL=model.url,
        OPENAI_API_KEY=KEY,
        SIGNALBOX_CATALOG=str(CATALOG),
        SIGNALBOX_PRICES=str(PRICES),
        SIGNALBOX_SERVER_SECRET=STAMP_SECRET,
        LOG_LEVEL="DEBUG",
    ) as running:
        bearer = token("acme", "ann")
        look = ScriptedCall(name="orders_get", args={"number": 1001})
        talk = await model.script(
            Turn(content="", tool_calls=(look,)), Turn(content="ok"), *[Turn(status=503)] * 3
        )
        answers: list[str] = []
        async with running.http("acme", "ann") as client:
            client.headers["authorization"] = f"Bearer {bearer}"
            thread = (await client.post("/threads", json={})).json()["thread_id"]
            body: Json = {
                "assistant_id": SUPPORT,
                "input": message(talk.says("hi")),
                "stream_mode": ["debug"],
            }
            async with client.stream("POST", f"/threads/{thread}/runs/stream", json=body) as answer:
                answers.append((await answer.aread()).decode())
            answers.append((await client.post(f"/threads/{thread}/runs/wait", json=body)).text)
            paths = [f"/threads/{thread}{part}" for part in ("", "/state", "/history", "/runs")]
            paths += [f"/assistants/{SUPPORT}", "/info", "/ops/health"]
            answers += [(await client.get(path)).text for path in paths]
        async with running.anonymous({"x-api-key": "test-key-of-acme"}) as client:
            answers.append((await client.post("/threads", json={})).text)
        requests = await talk.requests()
    assert requests[0].authorization.present
    assert len(requests) == 5
    secrets = (KEY, SECRET, STAMP_SECRET, bearer, bearer.rsplit(".", 1)[1], "test-key-of-acme")
    written = {file.name: file.read_bytes() for file in home.rglob("*") if file.is_file()}
    assert {"server.log", "shop.db", ".langgraph_ops.pckl"} <= set(written)
    assert b"You answer customers of Acme." in written[".langgraph_ops.pckl"]
    for secret in secrets:
        assert [name for name, content in written.items() if secret.encode() in content] == []
        assert secret not in "".join(answers)
        assert secret not in "".join(json.dumps(request.body) for request in requests)
    assert b"acme/ann" in written[".langgraph_ops.pckl"]  # the search above looked where it had to


async def test_error_texts_tell_a_code_and_no_internals(running: Server, model: Endpoint) -> None:
    """Case 50: neither the provider's text nor a path, but what happened and what to do."""
    ann = running.client("acme", "ann")
    talk = await model.script(
        Turn(status=400, error="bad request: /srv/internal/model.py line 7 key sk-upstream")
    )
    thread = await new_thread(ann)
    async with running.http("acme", "ann") as client:
        body = {"assistant_id": SUPPORT, "input": message(talk.says("hi"))}
        failed: Json = (await client.post(f"/threads/{thread}/runs/wait", json=body)).json()
        state = (await client.get(f"/threads/{thread}/state")).text
        runs = (await client.get(f"/threads/{thread}/runs")).text
    assert failed["__error__"]["error"] == "ModelUnavailable"
    assert failed["__error__"]["message"].endswith("[model_unavailable]")
    for text in (json.dumps(failed), state, runs):
        assert "sk-upstream" not in text
        assert "/srv/internal" not in text
    assert "model_unavailable" in state


class TestStore:
    """Case 33: metadata filters do not guard the store; the namespace does."""

    async def test_each_verb_stays_in_the_callers_space(self, running: Server) -> None:
        ann, ben, bob = (
            running.client(*who) for who in (("acme", "ann"), ("acme", "ben"), ("globex", "bob"))
        )
        await ann.store.put_item(["mem", "deep"], "k", {"fact": "Ann likes tea"})
        for other in (ben, bob):
            for asked in (["mem", "deep"], ["acme", "ann", "mem", "deep"], ["acme", "ann"], ["acme"], []):
                assert await other.store.get_item(asked, "k") is None if asked else True
                found = await other.store.search_items(asked)
                assert "tea" not in json.dumps(found)
                listed = await other.store.list_namespaces(prefix=asked)
                own = json.loads(json.dumps(listed))["namespaces"]
                assert [space for space in own if space[:2] == ["acme", "ann"]] == []
            await other.store.put_item(["acme", "ann", "mem", "deep"], "k", {"fact": "forged"})
            await other.store.delete_item(["acme", "ann", "mem", "deep"], "k")
        kept = await ann.store.get_item(["mem", "deep"], "k")
        assert kept["value"] == {"fact": "Ann likes tea"}

    async def test_what_was_listed_can_be_asked_for(self, running: Server) -> None:
        cat = running.client("acme", "cat")
        await cat.store.put_item(["notes"], "k", {"v": 1})
        listed: Json = await cat.store.list_namespaces()
        assert listed["namespaces"] == [["acme", "cat", "notes"]]
        found: Json = await cat.store.search_items(listed["namespaces"][0])
        assert [item["value"] for item in found["items"]] == [{"v": 1}]

    async def test_a_user_with_a_dot_has_a_space_of_its_own(self, running: Server) -> None:
        """Labels of a namespace can't hold a dot; people's ids often are e-mail addresses."""
        dotted, plain = running.client("acme", "d.e@example.org"), running.client("acme", "d%2Ee@example.org")
        await dotted.store.put_item(["notes"], "k", {"v": "dotted"})
        assert await plain.store.get_item(["notes"], "k") is None
        assert (await dotted.store.get_item(["notes"], "k"))["value"] == {"v": "dotted"}


async def test_deleting_a_thread_takes_its_runs_and_state_along(running: Server, model: Endpoint) -> None:
    """Case 45, the part of it that is a thread's."""
    ann = running.client("acme", "ann")
    talk = await model.script(Turn(content="ok"))
    thread = await new_thread(ann)
    await ask(ann, thread, talk.says("hi"))
    (run,) = await ann.runs.list(thread)
    await ann.threads.delete(thread)
    async with running.http("acme", "ann") as client:
        for path in ("", "/state", "/history", "/runs", f"/runs/{run['run_id']}"):
            assert (await client.get(f"/threads/{thread}{path}")).status_code == 404
    async with running.http("acme", "olga", "operator") as client:
        assert (await client.get(f"/threads/{thread}")).status_code == 404


async def test_no_blocking_call_was_met_on_any_path(running: Server, model: Endpoint) -> None:
    """Case 99: strict detection is on, also on the path of retries; a blocking call would fail the run."""
    ann = running.client("acme", "ann")
    busy = Turn(status=429, headers={"retry-after": "1"})
    search = ScriptedCall(name="kb_search", args={"query": "returns"})
    talk = await model.script(busy, Turn(content="", tool_calls=(search,)), Turn(content="done"))
    messages = await ask(ann, await new_thread(ann), talk.says("hi"))
    assert messages[-1]["content"] == "done"
    assert "BlockingError" not in running.log.read_text()
    (server_command,) = [line for line in commands(running.process.pid) if "langgraph_cli" in line]
    assert "--n-jobs-per-worker" in server_command
    assert "--allow-blocking" not in server_command


async def test_ids_of_the_catalog_are_stable(running: Server) -> None:
    ann = running.client("acme", "ann")
    found: Json = await ann.assistants.search(limit=10)
    assert {one["assistant_id"] for one in found} == {assistant("acme/support"), assistant("acme/reader")}
    assert assistant("acme/support") == "16dc331c-08eb-58d5-a659-96bc03db5720"
