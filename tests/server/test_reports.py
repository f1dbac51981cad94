"""Usage and audit of real runs, read from a real server by every role."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from agent.offline.script import ScriptedCall, Turn, UsageFigures
from tests.server.conftest import CATALOG
from tests.support.dialogue import READER, ask, new_thread
from tests.support.endpoint import Endpoint
from tests.support.server import Server, server

pytestmark = [pytest.mark.anyio, pytest.mark.server, pytest.mark.e2e]

PRICES = {"models": {"scripted": {"input": 2_000_000, "output": 8_000_000}}}
PATHS = ["/ops/usage", "/ops/audit", "/ops/audit/verify"]


@pytest.fixture(scope="module")
async def priced(model: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Server]:
    """A server of this file's own: what it reports is what these tests did, at 2 and 8 dollars a million."""
    home = tmp_path_factory.mktemp("reports")
    (home / "prices.json").write_text(json.dumps(PRICES))
    settings = {"SIGNALBOX_CATALOG": str(CATALOG), "SIGNALBOX_PRICES": str(home / "prices.json")}
    async with server(home, OPENAI_BASE_URL=model.url, **settings) as one:
        yield one


async def read(client: httpx.AsyncClient, path: str, **parameters: str | int) -> Any:
    """The JSON of a route that must answer."""
    answer = await client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def calling(name: str, *, tokens: tuple[int, int], **arguments: Any) -> Turn:
    """The model calls a tool and says what that took."""
    call = ScriptedCall(name=name, args=arguments)
    return Turn(content="", tool_calls=(call,), usage=figures(tokens))


def answering(text: str, *, tokens: tuple[int, int]) -> Turn:
    return Turn(content=text, usage=figures(tokens))


def figures(tokens: tuple[int, int]) -> UsageFigures:
    prompt, completion = tokens
    return UsageFigures(prompt_tokens=prompt, completion_tokens=completion)


async def test_what_real_runs_used_is_reported_once(priced: Server, model: Endpoint) -> None:
    """A run with tools: the calls inside it are counted, and the run adds nothing to them."""
    since = datetime.now(UTC).isoformat()
    ann = priced.client("acme", "ann")
    talk = await model.script(
        calling("orders_get", tokens=(100, 10), number=1001),
        calling("orders_get", tokens=(200, 20), number=999_999_999),
        answering("Delivered.", tokens=(300, 30)),
        answering("You are welcome.", tokens=(400, 40)),
    )
    thread = await new_thread(ann)
    assert len(await ask(ann, thread, talk.says("Where is order 1001?"))) == 6
    assert len(await ask(ann, thread, "Thanks.")) == 8
    metadata: Any = (await ann.runs.list(thread))[0]["metadata"]
    async with priced.http("acme", "ann") as client:
        found = await read(client, "/ops/usage", since=since)
    (row,) = found["rows"]
    assert (row["tenant"], row["assistant"], row["release"]) == ("acme", "support", metadata["release"])
    assert found["totals"] == {
        "runs": 2,
        "turns": 2,
        "steps": 6,
        "model_calls": 4,
        "model_failures": 0,
        "tokens_in": 1000,
        "tokens_out": 100,
        "estimated_calls": 0,
        "micros": 2800,
        "usd": "0.002800",
        "tool_calls": 2,
        "tool_failures": 1,
        "denials": 0,
        "interrupts": 0,
        "approved": 0,
        "rejected": 0,
        "approval_rate": None,
    }
    assert {name: row[name] for name in found["totals"]} == found["totals"]
    assert {node for node, milliseconds in row["p95_ms"].items() if milliseconds >= 0} == {"model", "tools"}


async def test_a_denied_call_is_in_the_audit_of_its_tenant_and_the_chain_holds(
    priced: Server, model: Endpoint
) -> None:
    ann = priced.client("acme", "ann")
    talk = await model.script(
        calling("orders_refund", tokens=(1, 1), order=1001, amount=1, reason="x"),
        answering("I may not.", tokens=(1, 1)),
    )
    thread = await new_thread(ann)
    await ask(ann, thread, talk.says("Refund it."), to=READER)
    async with priced.http("acme", "boss", "approver") as client:
        page = await read(client, "/ops/audit", thread=thread)
        verdict = await read(client, "/ops/audit/verify")
        head = await read(client, "/ops/audit/verify", **verdict["head"])
        export = await client.get("/ops/audit", headers={"accept": "application/x-ndjson"})
    (entry,) = [entry for entry in page["entries"] if entry["action"] == "tool.denied"]
    assert (entry["actor"], entry["assistant"], entry["thread"]) == ("acme/ann", "reader", thread)
    assert json.loads(entry["facts"])["tool"] == "orders_refund"
    assert (verdict["tenant"], verdict["verdict"], head["verdict"]) == ("acme", "intact", "intact")
    exported = [json.loads(line) for line in export.text.splitlines()]
    assert [line["seq"] for line in exported[: verdict["count"]]] == list(range(1, verdict["count"] + 1))
    assert entry in exported


@pytest.mark.parametrize("path", PATHS)
async def test_without_a_token_nothing_is_told(priced: Server, path: str) -> None:
    async with priced.anonymous() as client:
        answer = await client.get(path, params={"tenant": "acme"})
    assert answer.status_code == 401
    assert list(answer.json()) == ["detail"]


@pytest.mark.parametrize("path", PATHS)
async def test_each_role_reads_what_it_may(priced: Server, path: str) -> None:
    expected = {
        ("acme", "ann"): (200 if path == "/ops/usage" else 403, 403),
        ("acme", "boss", "approver"): (200, 403),
        ("platform", "ops", "operator"): (200, 200),
    }
    for who, statuses in expected.items():
        async with priced.http(*who) as client:
            answers = [await client.get(path, params={"tenant": tenant}) for tenant in ("acme", "globex")]
        assert tuple(answer.status_code for answer in answers) == statuses, who
        assert all("globex" not in answer.text for answer in answers if answer.status_code == 403)
