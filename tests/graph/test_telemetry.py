"""Telemetry of whole runs: the real react graph, a real OTLP receiver, spans as they arrive there."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.types import Command, interrupt

from agent.compaction.summariser import ModelSummariser
from agent.context import ModelChoice
from agent.errors import ModelUnavailable, RunRefused
from agent.models import Models
from agent.offline.script import RateLimit, ScriptedCall, Turn, UsageFigures
from agent.telemetry.destination import provider
from agent.telemetry.telemetry import Telemetry
from tests.graph.conftest import SECRET, Agent
from tests.graph.workbench import Log
from tests.support.server import free_port
from tests.unit.telemetry.collector import Collector, Seen, Tree, collector, trees

pytestmark = pytest.mark.anyio

MODEL: Tree = ("node model", (("chat scripted", ()),))
ECHO: Tree = ("node tools", (("execute_tool bench_echo", ()),))
TOOLS = ("bench.echo", "bench.slow", "bench.boom", "bench.fail", "bench.pay", "bench.hang", "bench.ask")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def receiver() -> Generator[Collector]:
    with collector() as seen:
        yield seen


@dataclass
class Watched:
    """The agent with telemetry attached, as the deployment attaches it."""

    agent: Agent
    telemetry: Telemetry
    receiver: Collector

    async def spans(self) -> list[Seen]:
        """Everything that was sent; nothing may be left under way."""
        assert self.telemetry.spans is not None
        assert len(self.telemetry.spans) == 0
        await self.telemetry.close()
        return self.receiver.spans

    async def run(self, text: str, *, thread: str | None = None, **context: Any) -> Any:
        settings = self.agent.context(**{"tools": TOOLS, **context})
        return await self.agent.run(text, thread=thread or str(uuid.uuid4()), context=settings)


def attach(agent: Agent, telemetry: Telemetry) -> None:
    agent.graph = telemetry.attach(agent.graph, tools=[tool.wire for tool in agent.registry])


@pytest.fixture
async def watched(
    agent: Agent, receiver: Collector, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Watched]:
    @agent.registry.tool("bench.ask", risk="read")
    async def ask() -> str:
        """Ask a person."""
        return str(interrupt("the secret question"))

    assert callable(ask)
    agent.__post_init__()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    telemetry = Telemetry(provider())
    attach(agent, telemetry)
    yield Watched(agent, telemetry, receiver)
    await telemetry.close()


def calls(*made: ScriptedCall) -> Turn:
    return Turn(content="", tool_calls=made)


def echo(text: str, **more: Any) -> ScriptedCall:
    return ScriptedCall(name="bench_echo", args={"text": text}, **more)


def call(name: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name=name, args=arguments)


def kind(spans: list[Seen], name: str) -> list[Seen]:
    return [span for span in spans if span.attributes["signalbox.kind"] == name]


async def test_a_run_with_two_tools_is_one_tree(watched: Watched) -> None:
    talk = await watched.agent.endpoint.script(calls(echo("one"), echo("two")), Turn(content="done"))
    await watched.run(talk.says("go"))
    spans = await watched.spans()
    assert trees(spans) == [("invoke_agent support", (MODEL, ECHO, ECHO, MODEL))]
    assert len({span.trace for span in spans}) == 1
    by_id = {span.id: span for span in spans}
    below = [(span, by_id[span.parent]) for span in spans if span.parent]
    assert len(below) == len(spans) - 1 == 8
    assert all(outer.began <= span.began <= span.ended <= outer.ended for span, outer in below)


async def test_what_each_span_tells_is_this_and_nothing_else(watched: Watched) -> None:
    place, one = str(uuid.uuid4()), echo("one", id="call_1")
    talk = await watched.agent.endpoint.script(calls(one), Turn(content="done"))
    await watched.run(talk.says("go"), thread=place)
    spans = await watched.spans()
    run, node, chat, _, tool, *_ = spans
    identity = {
        "signalbox.tenant": "acme",
        "signalbox.assistant": "support",
        "signalbox.release": "0" * 64,
        "signalbox.thread": place,
        "signalbox.run": run.attributes["signalbox.run"],
    }
    uuid.UUID(str(identity["signalbox.run"]))
    spent = [each.number("gen_ai.usage.input_tokens") for each in kind(spans, "model")]
    written = [each.number("gen_ai.usage.output_tokens") for each in kind(spans, "model")]
    assert min(*spent, *written) > 0
    assert run.attributes == {
        **identity,
        "signalbox.kind": "run",
        "signalbox.graph": "react",
        "signalbox.run.attempt": 1,
        "signalbox.model_calls": 2,
        "signalbox.tool_calls": 1,
        "signalbox.outcome": "ok",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "support",
        "gen_ai.conversation.id": place,
        "gen_ai.usage.input_tokens": sum(spent),
        "gen_ai.usage.output_tokens": sum(written),
    }
    assert node.attributes == {
        **identity,
        "signalbox.kind": "node",
        "signalbox.node": "model",
        "signalbox.outcome": "ok",
    }
    assert chat.attributes == {
        **identity,
        "signalbox.kind": "model",
        "signalbox.model.attempt": 1,
        "signalbox.model.purpose": "answer",
        "signalbox.usage.estimated": False,
        "signalbox.outcome": "ok",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.model": "scripted",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": spent[0],
        "gen_ai.usage.output_tokens": written[0],
    }
    assert tool.attributes == {
        **identity,
        "signalbox.kind": "tool",
        "signalbox.tool.executed": True,
        "signalbox.outcome": "ok",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bench_echo",
        "gen_ai.tool.call.id": "call_1",
    }
    assert [span.kind for span in (run, node, chat, tool)] == ["internal", "internal", "client", "internal"]
    assert {(span.error, span.message, span.events) for span in spans} == {(False, "", 0)}


async def test_no_word_of_the_conversation_and_no_secret_is_sent(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_MODEL_KEY", "sk-watermelon")
    talk = await watched.agent.endpoint.script(
        calls(
            echo("argument-kumquat"),
            call("bench_boom"),
            call("bench_fail"),
            call("refund_Ann_lychee", amount="argument-mango"),
        ),
        Turn(status=500, error="provider-papaya"),
        Turn(content="answer-tamarind"),
    )
    choice = ModelChoice(
        name="openai:scripted", base_url=watched.agent.endpoint.url, api_key="env:ACME_MODEL_KEY"
    )
    await watched.run(talk.says("question-quince"), model=choice, prompt="prompt-durian")
    assert len(await watched.spans()) == 14
    sent = b"".join(watched.receiver.bodies)
    assert b"invoke_agent support" in sent
    said = ("kumquat", "mango", "papaya", "tamarind", "quince", "durian", "lychee", "Ann", "no such thing")
    hidden = (
        "sk-123",
        "passwd",
        "watermelon",
        "ACME_MODEL_KEY",
        SECRET,
        "You are",
        watched.agent.endpoint.url,
    )
    assert [word for word in (*said, *hidden, talk.key) if word.encode() in sent] == []


async def test_a_call_that_is_not_executed_or_fails_tells_its_code(watched: Watched) -> None:
    talk = await watched.agent.endpoint.script(
        calls(
            call("bench_boom"),
            call("bench_fail"),
            call("bench_slow"),
            call("bench_pay", amount=-1),
            call("bench_meet", place="x"),
            call("made up by the model"),
        ),
        Turn(content="sorry"),
    )
    await watched.run(talk.says("go"))
    tools = kind(await watched.spans(), "tool")
    told = {
        span.attributes["gen_ai.tool.name"]: (span.attributes["signalbox.tool.executed"], span.outcome)
        for span in tools
    }
    assert told == {
        "bench_boom": (True, "tool_failed"),
        "bench_fail": (True, "tool_failed"),
        "bench_slow": (True, "tool_timeout"),
        "bench_pay": (False, "arguments_invalid"),
        "bench_meet": (False, "tool_denied"),
        "_OTHER": (False, "tool_denied"),
    }
    assert all(span.error and span.attributes["error.type"] == span.outcome for span in tools)


async def test_runs_that_take_turns_never_mix(watched: Watched) -> None:
    """Both are inside of a model call, then inside of a tool call, at the same time."""
    agent = watched.agent
    first = await agent.endpoint.script(
        Turn(content="", tool_calls=(call("bench_meet", place="a"),), gate="both"), Turn(content="done")
    )
    second = await agent.endpoint.script(calls(call("bench_meet", place="b")), Turn(content="done"))
    places = {"acme": str(uuid.uuid4()), "globex": str(uuid.uuid4())}
    releases = {"acme": "a" * 64, "globex": "b" * 64}

    def start(tenant: str, text: str) -> asyncio.Task[Any]:
        facts = {"tenant": tenant, "assistant": f"{tenant}-desk", "release": releases[tenant]}
        return asyncio.create_task(watched.run(text, thread=places[tenant], tools=("bench.meet",), **facts))

    one = start("acme", first.says("go"))
    await first.requests(wait_for=1)
    two = start("globex", second.says("go"))
    await second.requests(wait_for=1)
    await first.open("both")
    await asyncio.gather(one, two)
    spans = await watched.spans()
    meet: Tree = ("node tools", (("execute_tool bench_meet", ()),))
    for tenant in ("acme", "globex"):
        own = [span for span in spans if span.attributes["signalbox.tenant"] == tenant]
        assert trees(own) == [(f"invoke_agent {tenant}-desk", (MODEL, meet, MODEL))]
        [run] = {span.attributes["signalbox.run"] for span in own}
        expected = (tenant, f"{tenant}-desk", releases[tenant], places[tenant], run)
        assert {span.identity for span in own} == {expected}
        assert len({span.trace for span in own}) == 1
    tools = kind(spans, "tool")
    assert max(span.began for span in tools) < min(span.ended for span in tools)
    assert len(spans) == 14
    assert len({span.trace for span in spans}) == 2


async def test_a_repeated_model_call_is_numbered_and_only_the_failed_one_is_an_error(
    watched: Watched,
) -> None:
    talk = await watched.agent.endpoint.script(
        calls(echo("x")), Turn(content="done"), rate_limit_at=RateLimit(call=1, retry_after=0)
    )
    await watched.run(talk.says("go"))
    spans = await watched.spans()
    twice: Tree = ("node model", (("chat scripted", ()), ("chat scripted", ())))
    assert trees(spans) == [("invoke_agent support", (twice, ECHO, MODEL))]
    chats = kind(spans, "model")
    assert [span.attributes["signalbox.model.attempt"] for span in chats] == [1, 2, 1]
    assert [span.error for span in chats] == [True, False, False]
    assert "RateLimit" in str(chats[0].attributes["error.type"])
    assert "gen_ai.usage.input_tokens" not in chats[0].attributes
    others = [span for span in spans if span not in chats]
    assert {(span.error, span.outcome) for span in others} == {(False, "ok")}
    assert kind(spans, "run")[0].attributes["signalbox.model_calls"] == 3


async def test_a_fallback_is_a_further_attempt_under_its_own_name(watched: Watched) -> None:
    talk = await watched.agent.endpoint.script(
        *[Turn(status=503, error="down", headers={"retry-after": "0"})] * 3, Turn(content="done")
    )
    url = watched.agent.endpoint.url
    choice = ModelChoice(name="openai:first", base_url=url, fallbacks=("openai:second",))
    await watched.run(talk.says("go"), model=choice)
    spans = await watched.spans()
    first, second = ("chat first", ()), ("chat second", ())
    assert trees(spans) == [("invoke_agent support", (("node model", (first, first, first, second)),))]
    assert [span.attributes["signalbox.model.attempt"] for span in kind(spans, "model")] == [1, 2, 3, 4]


async def test_a_summary_is_a_child_and_root_spans_alone_add_up(watched: Watched) -> None:
    agent = watched.agent
    agent.harness(summariser=ModelSummariser(Models()))
    attach(agent, watched.telemetry)
    place = str(uuid.uuid4())
    talk = await agent.endpoint.script(*[Turn(content=f"answer {n} {'word ' * 60}") for n in range(12)])
    texts = [talk.says("the goal"), *[f"question {n} {'word ' * 60}" for n in range(7)]]
    for text in texts:
        await watched.run(text, thread=place, compaction={"max_tokens": 1_200, "keep_recent": 2})
    spans = await watched.spans()
    runs, chats = kind(spans, "run"), kind(spans, "model")
    summaries = [span for span in chats if span.attributes["signalbox.model.purpose"] == "internal"]
    assert len(summaries) >= 1
    nodes = {span.id for span in kind(spans, "node")}
    assert all(span.parent in nodes for span in chats)
    assert len(chats) == len(runs) + len(summaries) == len(await talk.requests())
    for key in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
        total = sum(span.number(key) for span in spans if not span.parent)
        assert total == sum(span.number(key) for span in chats) > 0
    assert len(runs) == len(texts)
    assert all(not span.parent for span in runs)


async def test_a_streamed_answer_tells_how_long_its_first_piece_took(watched: Watched) -> None:
    usage = UsageFigures(prompt_tokens=70, completion_tokens=4)
    talk = await watched.agent.endpoint.script(Turn(content="one two three", chunks=4, usage=usage))
    parts = [part async for part in watched.agent.stream(talk.says("go"), thread=str(uuid.uuid4()))]
    assert len(parts) >= 4
    [chat] = kind(await watched.spans(), "model")
    took = chat.attributes["gen_ai.response.time_to_first_chunk"]
    assert isinstance(took, float)
    assert 0 < took < (chat.ended - chat.began) / 1e9
    assert chat.attributes["gen_ai.usage.input_tokens"] == 70
    assert chat.attributes["gen_ai.usage.output_tokens"] == 4


async def test_an_interrupt_is_no_error_and_its_answer_is_a_run_of_its_own(watched: Watched) -> None:
    place = str(uuid.uuid4())
    talk = await watched.agent.endpoint.script(calls(call("bench_ask"), echo("x")), Turn(content="done"))
    await watched.run(talk.says("go"), thread=place)
    context = watched.agent.context(tools=TOOLS)
    result = await watched.agent.invoke(Command(resume="a yes"), thread=place, context=context)
    assert result["messages"][-1].content == "done"
    spans = await watched.spans()
    asked, answered = kind(spans, "run")
    assert (asked.outcome, answered.outcome) == ("interrupted", "ok")
    assert asked.trace != answered.trace
    assert {span.attributes["signalbox.thread"] for span in spans} == {place}
    outcomes = {
        (span.attributes["gen_ai.tool.name"], span.outcome)
        for span in kind(spans, "tool")
        if span.trace == asked.trace
    }
    assert outcomes == {("bench_ask", "interrupted"), ("bench_echo", "ok")}
    assert not any(span.error for span in spans)
    sent = b"".join(watched.receiver.bodies)
    assert b"secret question" not in sent
    assert b"a yes" not in sent


async def test_a_cancelled_run_ends_every_span_and_is_no_error(watched: Watched, log: Log) -> None:
    talk = await watched.agent.endpoint.script(calls(call("bench_hang")))
    task = asyncio.create_task(watched.run(talk.says("go")))
    await log.hanging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    spans = await watched.spans()
    assert trees(spans) == [
        ("invoke_agent support", (MODEL, ("node tools", (("execute_tool bench_hang", ()),))))
    ]
    outcomes = {span.name: span.outcome for span in spans}
    assert outcomes == {
        "invoke_agent support": "cancelled",
        "node model": "ok",
        "chat scripted": "ok",
        "node tools": "cancelled",
        "execute_tool bench_hang": "cancelled",
    }
    assert not any(span.error for span in spans)


async def test_a_failure_passes_unchanged_and_is_told_by_its_type(watched: Watched) -> None:
    talk = await watched.agent.endpoint.script(Turn(status=401, error="bad key sk-proj-9x"))
    with pytest.raises(ModelUnavailable, match="refused the key"):
        await watched.run(talk.says("go"))
    run, node, chat = await watched.spans()
    assert [(span.error, span.outcome, span.message) for span in (run, node, chat)] == [
        (True, "error", "")
    ] * 3
    assert run.attributes["error.type"] == node.attributes["error.type"] == "agent.errors.ModelUnavailable"
    assert str(chat.attributes["error.type"]).endswith("AuthenticationError")
    assert {span.identity[:2] for span in (run, node, chat)} == {("acme", "support")}


async def test_a_run_that_never_reached_a_model_is_told_as_the_server_announced_it(watched: Watched) -> None:
    """A context without a stamp is not trusted; the run's metadata are the server's."""
    agent, place, run_id = watched.agent, str(uuid.uuid4()), str(uuid.uuid4())
    config: Any = {
        "configurable": {"thread_id": place, "run_id": run_id, "assistant_id": "x"},
        "metadata": {"tenant": "acme", "assistant": "acme/support", "release": "c" * 64, "run_attempt": 2},
    }
    with pytest.raises(RunRefused):
        await agent.graph.ainvoke(
            {"messages": [("user", "hi")]}, config=config, context=agent.context(tenant="globex")
        )
    run, node = await watched.spans()
    assert (run.name, node.name) == ("invoke_agent support", "node model")
    assert run.identity == node.identity == ("acme", "support", "c" * 64, place, run_id)
    assert run.attributes["error.type"] == node.attributes["error.type"] == "agent.errors.RunRefused"
    assert run.attributes["signalbox.run.attempt"] == 2


async def test_what_a_run_returns_is_what_it_returns_without_telemetry(watched: Watched) -> None:
    results: list[list[tuple[str, str, object]]] = []
    for _ in range(2):
        talk = await watched.agent.endpoint.script(calls(echo("same", id="call_1")), Turn(content="done"))
        messages = await watched.run(talk.says("go"))
        results.append(
            [
                (each.type, str(each.content).replace(talk.key, ""), getattr(each, "usage_metadata", None))
                for each in messages
            ]
        )
        watched.agent.__post_init__()  # the second time: the same graph with nothing attached
    assert [each[0] for each in results[0]] == ["human", "ai", "tool", "ai"]
    assert results[0] == results[1]
    assert len(kind(await watched.spans(), "run")) == 1


async def test_a_collector_that_hangs_slows_neither_runs_nor_the_end(
    watched: Watched, receiver: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.mood = "hangs"
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    telemetry = Telemetry(provider())
    watched.agent.__post_init__()
    attach(watched.agent, telemetry)
    talk = await watched.agent.endpoint.script(*[Turn(content=f"answer {n}") for n in range(3)])
    place = str(uuid.uuid4())
    await watched.run(talk.says("go"), thread=place)
    await receiver.requested()
    messages = [await watched.run("more", thread=place) for _ in range(2)]
    assert messages[-1][-1].content == "answer 2"
    assert len(receiver.bodies) == 1  # still unanswered: the two runs went by meanwhile
    began = time.monotonic()
    await telemetry.close(grace=0.2)
    assert 0.2 <= time.monotonic() - began < 2


async def test_a_collector_that_is_gone_costs_nothing(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    telemetry = Telemetry(provider())
    attach(agent, telemetry)
    talk = await agent.endpoint.script(calls(echo("x")), Turn(content="done"))
    messages = await agent.run(talk.says("go"), thread=str(uuid.uuid4()))
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
    began = time.monotonic()
    await telemetry.close(grace=0.2)
    assert time.monotonic() - began < 2


async def test_a_sampler_that_drops_a_run_drops_all_of_it(
    watched: Watched, receiver: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    telemetry = Telemetry(provider())
    watched.agent.__post_init__()
    attach(watched.agent, telemetry)
    talk = await watched.agent.endpoint.script(calls(echo("x")), Turn(content="done"))
    messages = await watched.run(talk.says("go"))
    assert messages[-1].content == "done"
    assert telemetry.spans is not None
    assert len(telemetry.spans) == 0
    await telemetry.close()
    assert receiver.bodies == []


async def test_with_nothing_set_the_graph_is_the_very_same(agent: Agent) -> None:
    telemetry = Telemetry(provider())
    assert telemetry.attach(agent.graph, tools=()) is agent.graph
    assert not (agent.graph.config or {}).get("callbacks")
    await telemetry.close()
