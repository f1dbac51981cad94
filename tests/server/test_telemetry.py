"""Telemetry of a real server: spans go where the `OTEL_` variables say, whoever the client claims to be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from agent.offline.script import ScriptedCall, Turn
from tests.server.conftest import CATALOG, PRICES
from tests.support.dialogue import SUPPORT, Json, message, new_thread, wait
from tests.support.endpoint import Endpoint
from tests.support.server import SECRET, Server, server
from tests.unit.telemetry.collector import Collector, Seen, collector, trees

pytestmark = [pytest.mark.anyio, pytest.mark.server, pytest.mark.e2e]


@pytest.fixture(scope="module")
def receiver() -> Generator[Collector]:
    with collector() as seen:
        yield seen


@pytest.fixture(scope="module")
async def watched(
    model: Endpoint, receiver: Collector, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Server]:
    home = tmp_path_factory.mktemp("watched")
    async with server(home, **settings(model, receiver)) as one:
        yield one


def settings(model: Endpoint, receiver: Collector) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": model.url,
        "SIGNALBOX_CATALOG": str(CATALOG),
        "SIGNALBOX_PRICES": str(PRICES),
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-collector-token=sesame",
        "OTEL_SERVICE_NAME": "the-watched-one",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }


async def spans_of(receiver: Collector, thread: str) -> list[Seen]:
    """The spans of a thread's only run; the root span is the last one to be sent."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = [span for span in receiver.spans if span.attributes.get("signalbox.thread") == thread]
        if any(not span.parent for span in found):
            return found
        await receiver.until(len(receiver.spans) + 1, within=20)
    raise AssertionError(f"no root span of thread {thread!r}")


def look_up(number: int) -> Turn:
    return Turn(content="", tool_calls=(ScriptedCall(name="orders_get", args={"number": number}),))


async def test_a_run_arrives_with_its_tenant_assistant_release_and_thread(
    watched: Server, model: Endpoint, receiver: Collector
) -> None:
    ann = watched.client("acme", "ann")
    thread = await new_thread(ann)
    talk = await model.script(look_up(1001), Turn(content="It is on its way, wanderlust."))
    values = await wait(ann, thread, SUPPORT, talk.says("Where is my periwinkle umbrella?"))
    assert values["messages"][-1]["content"] == "It is on its way, wanderlust."
    spans = await spans_of(receiver, thread)
    assert trees(spans) == [
        (
            "invoke_agent support",
            (
                ("node model", (("chat scripted", ()),)),
                ("node tools", (("execute_tool orders_get", ()),)),
                ("node model", (("chat scripted", ()),)),
            ),
        )
    ]
    operator: Json = watched.client("platform", "op", "operator")
    release = (await operator.assistants.get(SUPPORT))["metadata"]["release"]
    [run] = [one["run_id"] for one in await ann.runs.list(thread)]
    assert len(release) == 64
    assert {span.identity for span in spans} == {("acme", "support", release, thread, run)}
    assert {span.resource["service.name"] for span in spans} == {"the-watched-one"}
    assert {span.outcome for span in spans} == {"ok"}
    assert {headers["x-collector-token"] for headers in receiver.headers} == {"sesame"}
    assert set(receiver.paths) == {"/v1/traces"}


async def test_a_client_moves_its_spans_neither_to_another_tenant_nor_into_another_trace(
    watched: Server, model: Endpoint, receiver: Collector
) -> None:
    eve: Json = watched.client("acme", "eve")
    thread = await new_thread(eve)
    talk = await model.script(Turn(content="no"))
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    await eve.runs.wait(
        thread,
        SUPPORT,
        input=message(talk.says("hi")),
        metadata={"tenant": "globex", "assistant": "globex/support", "release": "f" * 64},
        config={"run_name": "spoofed-name", "tags": ["spoofed-tag"], "metadata": {"tenant": "globex"}},
        headers={"traceparent": f"00-{trace}-{parent}-00", "tracestate": "v=spoofed-state"},
    )
    spans = await spans_of(receiver, thread)
    assert trees(spans) == [("invoke_agent support", (("node model", (("chat scripted", ()),)),))]
    assert {span.identity[:2] for span in spans} == {("acme", "support")}
    assert {span.trace for span in spans}.isdisjoint({trace})
    assert not [body for body in receiver.bodies if b"globex" in body or b"spoofed" in body]


async def test_a_run_whose_model_fails_is_an_error_of_its_tenant(
    watched: Server, model: Endpoint, receiver: Collector
) -> None:
    bob = watched.client("acme", "bob")
    thread = await new_thread(bob)
    talk = await model.script(Turn(status=401, error="Incorrect API key provided: sk-proj-9x"))
    answer = await wait(bob, thread, SUPPORT, talk.says("hi"), raise_error=False)
    assert "refused the key" in str(answer)
    run, node, chat = await spans_of(receiver, thread)
    assert [span.error for span in (run, node, chat)] == [True, True, True]
    assert run.attributes["error.type"] == "agent.errors.ModelUnavailable"
    assert {span.identity[:2] for span in (run, node, chat)} == {("acme", "support")}
    assert {span.message for span in (run, node, chat)} == {""}


async def test_nothing_that_was_said_and_no_secret_is_in_what_was_sent(
    watched: Server, receiver: Collector
) -> None:
    sent = b"".join(receiver.bodies)
    assert b"invoke_agent support" in sent
    words = ("periwinkle", "umbrella", "wanderlust", "on its way", "Where is", "sk-proj", "API key")
    assert [word for word in (*words, SECRET, str(watched.home)) if word.encode() in sent] == []


async def test_a_collector_that_hangs_costs_neither_answers_nor_the_servers_end(
    model: Endpoint, tmp_path: Path
) -> None:
    with collector() as stuck:
        stuck.mood = "hangs"
        async with server(tmp_path, **settings(model, stuck)) as one:
            ann = one.client("acme", "ann")
            talk = await model.script(Turn(content="first"), Turn(content="second"))
            thread = await new_thread(ann)
            await wait(ann, thread, SUPPORT, talk.says("hi"))
            await stuck.requested()
            values = await wait(ann, thread, SUPPORT, "again")
            assert values["messages"][-1]["content"] == "second"
            async with asyncio.timeout(20):
                one.process.terminate()
                await one.process.wait()
        assert not stuck.released.is_set()
        assert "Traceback" not in one.log.read_text()
