"""Telemetry is attached to graphs, and closed within a bound."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from typing import Any, TypedDict

import pytest
from blockbuster import blockbuster_ctx
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent.telemetry import destination
from agent.telemetry.telemetry import Telemetry
from tests.unit.telemetry.collector import Collector

pytestmark = pytest.mark.anyio


class State(TypedDict):
    """A number."""

    number: int


def graph(name: str, node: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    builder: Any = StateGraph(State)
    builder.add_node(name, node)
    builder.add_edge(START, name)
    builder.add_edge(name, END)
    return builder.compile(name=name)


async def add(state: State) -> State:
    return {"number": state["number"] + 1}


async def test_without_a_provider_the_graph_is_the_very_same() -> None:
    plain = graph("plain", add)
    telemetry = Telemetry(None)
    assert telemetry.attach(plain, tools=()) is plain
    assert not (plain.config or {}).get("callbacks")
    assert telemetry.spans is None
    await telemetry.close()


async def test_a_graph_with_telemetry_is_of_the_same_class_and_gives_the_same(
    provider: TracerProvider, memory: InMemorySpanExporter
) -> None:
    plain = graph("plain", add).with_config(tags=["kept"])
    attached = Telemetry(provider).attach(plain, tools=())
    assert type(attached) is CompiledStateGraph
    assert attached is not plain
    assert attached.get_name() == "plain"
    assert (attached.config or {}).get("tags") == ["kept"]
    assert await attached.ainvoke({"number": 1}) == {"number": 2}
    assert [span.name for span in memory.get_finished_spans()] == ["node plain", "invoke_agent plain"]


async def test_a_graph_inside_of_another_is_told_once(
    provider: TracerProvider, memory: InMemorySpanExporter
) -> None:
    telemetry = Telemetry(provider)
    inner = telemetry.attach(graph("inner", add), tools=())
    outer = telemetry.attach(graph("outer", inner), tools=())
    assert await outer.ainvoke({"number": 1}) == {"number": 2}
    spans = memory.get_finished_spans()
    assert [span.name for span in spans] == ["node inner", "node outer", "invoke_agent outer"]
    assert [span.name for span in spans if span.parent is None] == ["invoke_agent outer"]
    assert telemetry.spans is not None
    assert len(telemetry.spans) == 0


async def test_the_global_provider_is_left_alone(
    receiver: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = trace.get_tracer_provider()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    telemetry = Telemetry(destination.provider())
    await telemetry.attach(graph("plain", add), tools=()).ainvoke({"number": 1})
    await telemetry.close()
    assert trace.get_tracer_provider() is before
    assert len(receiver.spans) == 2


async def test_closing_sends_what_waits_without_blocking_the_loop(
    receiver: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    telemetry = Telemetry(destination.provider())
    attached = telemetry.attach(graph("plain", add), tools=())
    for _ in range(3):
        await attached.ainvoke({"number": 1})
    assert receiver.bodies == []
    with blockbuster_ctx() as guard:
        guard.functions["threading.Lock.acquire"].deactivate()  # as the server does
        await telemetry.close()
    assert len(receiver.spans) == 6
    await telemetry.close()
    assert await attached.ainvoke({"number": 1}) == {"number": 2}
    assert len(receiver.spans) == 6


async def test_closing_waits_no_longer_than_it_may(
    receiver: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.mood = "hangs"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    telemetry = Telemetry(destination.provider())
    await telemetry.attach(graph("plain", add), tools=()).ainvoke({"number": 1})
    began, ticks = time.monotonic(), 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await telemetry.close(grace=0.3)
    ticking.cancel()
    assert 0.3 <= time.monotonic() - began < 2
    assert ticks >= 5
    assert len(receiver.bodies) == 1
    closing = [one for one in threading.enumerate() if one.name == "signalbox-telemetry-close"]
    assert len(closing) >= 1
    assert all(one.daemon for one in closing)  # or the process would wait for it


async def test_an_exporter_that_raises_fails_no_run() -> None:
    class Broken(InMemorySpanExporter):
        def export(self, spans: Any) -> Any:
            raise OSError("gone")

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Broken(), schedule_delay_millis=1))
    telemetry = Telemetry(provider)
    attached = telemetry.attach(graph("plain", add), tools=())
    for number in range(5):
        assert await attached.ainvoke({"number": number}) == {"number": number + 1}
    await telemetry.close()


async def test_a_loop_that_has_gone_is_no_error(receiver: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends while the last spans hang: its thread finds nobody to tell."""
    receiver.mood = "hangs"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    made = destination.provider()
    assert made is not None
    telemetry = Telemetry(made)
    made.get_tracer("tests").start_span("one").end()
    await asyncio.to_thread(lambda: asyncio.run(telemetry.close(grace=0.1)))
    await receiver.requested()
    receiver.released.set()
    closing = [one for one in threading.enumerate() if one.name == "signalbox-telemetry-close"]
    for one in closing:
        await asyncio.to_thread(one.join, 20)
    assert not any(one.is_alive() for one in closing)


_FRESH = """
import threading
from agent.telemetry.process import telemetry
print(telemetry.spans is not None, sorted(t.name for t in threading.enumerate() if "Otel" in t.name))
"""


@pytest.mark.parametrize(
    ("variables", "printed"),
    [
        ({}, "False []"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "True ['OtelBatchSpanRecordProcessor']"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}, "False []"),
    ],
)
async def test_a_process_has_telemetry_if_its_environment_asks_for_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], printed: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", _FRESH], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, printed, "")
