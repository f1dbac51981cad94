"""LangChain's callbacks become spans, in whatever order and number they come."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphInterrupt
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent.telemetry.handler import SpanHandler
from agent.telemetry.spans import Spans

CALL: dict[str, Any] = {"type": "tool_call", "name": "orders_get", "args": {}, "id": "call_1"}
ANSWER = LLMResult(
    generations=[
        [
            ChatGeneration(
                message=AIMessage(
                    "hi", usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
                )
            )
        ]
    ]
)


class Driver:
    """Calls a handler as LangChain and langgraph do."""

    def __init__(self, provider: TracerProvider, memory: InMemorySpanExporter) -> None:
        self.memory = memory
        self.spans = Spans(provider.get_tracer("tests"))
        self.handler = SpanHandler(self.spans, graph="react", tools=["orders_get"])

    def run(self, **metadata: Any) -> UUID:
        root = uuid4()
        self.handler.on_chain_start(None, {}, run_id=root, metadata=metadata, name="LangGraph")
        return root

    def node(self, parent: UUID, name: str = "model", given: Any = None) -> UUID:
        made = uuid4()
        self.handler.on_chain_start(
            None,
            given,
            run_id=made,
            parent_run_id=parent,
            tags=["graph:step:1"],
            metadata={"langgraph_node": name},
            name=name,
        )
        return made

    def chat(self, parent: UUID | None, *tags: str) -> UUID:
        made = uuid4()
        self.handler.on_chat_model_start(
            {}, [], run_id=made, parent_run_id=parent, tags=list(tags), invocation_params={"model": "m"}
        )
        return made

    def tool(self, parent: UUID | None, name: str = "orders_get") -> UUID:
        made = uuid4()
        self.handler.on_tool_start(
            {"name": name}, "secret", run_id=made, parent_run_id=parent, tool_call_id="call_1"
        )
        return made

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.memory.get_finished_spans()]

    def ended(self, name: str) -> ReadableSpan:
        [span] = [span for span in self.memory.get_finished_spans() if span.name == name]
        return span

    def told(self, name: str) -> dict[str, object]:
        return dict(self.ended(name).attributes or {})


@pytest.fixture
def driver(provider: TracerProvider, memory: InMemorySpanExporter) -> Driver:
    return Driver(provider, memory)


def test_a_step_in_between_has_no_span_and_hides_no_parent(driver: Driver) -> None:
    root = driver.run()
    node = driver.node(root)
    step = uuid4()
    driver.handler.on_chain_start(
        None, {}, run_id=step, parent_run_id=node, metadata={"langgraph_node": "model"}, name="Sequence"
    )
    chat = driver.chat(step)
    driver.handler.on_llm_end(ANSWER, run_id=chat)
    for one in (step, node, root):
        driver.handler.on_chain_end({}, run_id=one)
    assert driver.names == ["chat m", "node model", "invoke_agent react"]
    below, above = driver.ended("chat m"), driver.ended("node model")
    assert below.parent is not None
    assert above.context is not None
    assert below.parent.span_id == above.context.span_id
    assert len(driver.spans) == 0


def test_a_step_named_as_its_node_is_no_node(driver: Driver) -> None:
    """A node that runs a graph of its own name: the inner one has no span of its own."""
    root = driver.run()
    node = driver.node(root, "react")
    inner = uuid4()
    driver.handler.on_chain_start(
        None, {}, run_id=inner, parent_run_id=node, metadata={"langgraph_node": "react"}, name="react"
    )
    for one in (inner, node, root):
        driver.handler.on_chain_end({}, run_id=one)
    assert driver.names == ["node react", "invoke_agent react"]


def test_a_tool_inside_of_its_task_marks_the_call_as_executed(driver: Driver) -> None:
    root = driver.run()
    node = driver.node(root, "tools", [CALL])
    tool = driver.tool(node)
    chat = driver.chat(tool)  # a tool that asks a model
    driver.handler.on_llm_end(ANSWER, run_id=chat)
    driver.handler.on_tool_end("x", run_id=tool)
    driver.handler.on_chain_end({"messages": [ToolMessage("x", tool_call_id="call_1")]}, run_id=node)
    driver.handler.on_chain_end({}, run_id=root)
    assert driver.names == ["chat m", "execute_tool orders_get", "node tools", "invoke_agent react"]
    call = driver.ended("execute_tool orders_get")
    asked = driver.ended("chat m")
    assert call.context is not None
    assert asked.parent is not None
    assert asked.parent.span_id == call.context.span_id
    assert driver.told("execute_tool orders_get")["signalbox.tool.executed"] is True
    assert driver.told("invoke_agent react")["signalbox.tool_calls"] == 1


def test_a_tool_without_a_task_of_its_own_has_a_span(driver: Driver) -> None:
    root = driver.run()
    node = driver.node(root, "work")
    for name in ("first", "second"):
        tool = driver.tool(node, name)
        if name == "first":
            driver.handler.on_tool_end("x", run_id=tool)
        else:
            driver.handler.on_tool_error(ValueError("secret"), run_id=tool)
    driver.handler.on_chain_end({}, run_id=node)
    driver.handler.on_chain_end({}, run_id=root)
    assert driver.names == ["execute_tool first", "execute_tool second", "node work", "invoke_agent react"]
    first, second = driver.told("execute_tool first"), driver.told("execute_tool second")
    assert (first["signalbox.outcome"], second["signalbox.outcome"]) == ("ok", "error")
    assert second["error.type"] == "ValueError"
    assert first["signalbox.tool.executed"] is second["signalbox.tool.executed"] is True
    assert first["gen_ai.tool.call.id"] == "call_1"
    assert driver.told("invoke_agent react")["signalbox.tool_calls"] == 2


def test_attempts_are_counted_apart_for_answers_and_for_inner_calls(driver: Driver) -> None:
    root = driver.run()
    node = driver.node(root)
    for tags in ((TAG_NOSTREAM,), (TAG_NOSTREAM,), (), ()):
        driver.handler.on_llm_error(ValueError("x"), run_id=driver.chat(node, *tags))
    driver.handler.on_llm_end(ANSWER, run_id=driver.chat(node))
    driver.handler.on_llm_end(ANSWER, run_id=driver.chat(node))
    driver.handler.on_chain_end([], run_id=node)
    driver.handler.on_chain_end({}, run_id=root)
    told = [dict(span.attributes or {}) for span in driver.memory.get_finished_spans()[:6]]
    assert [
        (each["signalbox.model.purpose"], each["signalbox.model.attempt"], each["signalbox.outcome"])
        for each in told
    ] == [
        ("internal", 1, "error"),
        ("internal", 2, "error"),
        ("answer", 1, "error"),
        ("answer", 2, "error"),
        ("answer", 3, "ok"),
        ("answer", 1, "ok"),
    ]
    totals = driver.told("invoke_agent react")
    assert totals["signalbox.model_calls"] == 6
    assert (totals["gen_ai.usage.input_tokens"], totals["gen_ai.usage.output_tokens"]) == (6, 4)


def test_only_the_first_piece_of_an_answer_is_timed(driver: Driver) -> None:
    root = driver.run()
    chat = driver.chat(driver.node(root))
    driver.handler.on_llm_new_token("a", run_id=chat)
    branch = driver.spans.find(chat)
    assert branch is not None
    branch.began -= 100
    driver.handler.on_llm_new_token("b", run_id=chat)
    driver.handler.on_llm_end(ANSWER, run_id=chat)
    took = driver.told("chat m")["gen_ai.response.time_to_first_chunk"]
    assert isinstance(took, float)
    assert 0 <= took < 50


def test_an_interrupted_task_makes_the_run_interrupted_unless_it_fails(driver: Driver) -> None:
    for error, outcome in ((None, "interrupted"), (ValueError("x"), "error")):
        driver.memory.clear()
        root = driver.run()
        driver.handler.on_chain_error(GraphInterrupt(()), run_id=driver.node(root, "tools", [CALL]))
        if error is None:
            driver.handler.on_chain_end({}, run_id=root)
        else:
            driver.handler.on_chain_error(error, run_id=root)
        outcomes = [
            (span.attributes or {})["signalbox.outcome"] for span in driver.memory.get_finished_spans()
        ]
        assert outcomes == ["interrupted", "interrupted", outcome]


def test_two_handlers_on_one_run_tell_it_once(driver: Driver) -> None:
    """A graph with telemetry inside of another one gets each callback twice."""
    other = SpanHandler(driver.spans, graph="inner", tools=["orders_get"])
    identifiers = {"root": uuid4(), "node": uuid4(), "tool": uuid4(), "chat": uuid4()}
    for handler in (driver.handler, other):
        handler.on_chain_start(None, {}, run_id=identifiers["root"], metadata={}, name="react")
    for name, given in (("node", [CALL]),):
        for handler in (driver.handler, other):
            handler.on_chain_start(
                None,
                given,
                run_id=identifiers[name],
                parent_run_id=identifiers["root"],
                tags=["graph:step:2"],
                metadata={"langgraph_node": "tools"},
                name="tools",
            )
    for handler in (driver.handler, other):
        handler.on_tool_start({}, "", run_id=identifiers["tool"], parent_run_id=identifiers["node"])
    for handler in (driver.handler, other):
        handler.on_chat_model_start({}, [], run_id=identifiers["chat"], parent_run_id=identifiers["tool"])
    for handler in (driver.handler, other):
        handler.on_llm_end(ANSWER, run_id=identifiers["chat"])
    for handler in (driver.handler, other):
        handler.on_tool_end("x", run_id=identifiers["tool"])
    for name in ("node", "root"):
        for handler in (driver.handler, other):
            handler.on_chain_end({}, run_id=identifiers[name])
    assert driver.names == ["chat", "execute_tool orders_get", "node tools", "invoke_agent react"]
    totals = driver.told("invoke_agent react")
    assert (totals["signalbox.model_calls"], totals["signalbox.tool_calls"]) == (1, 1)
    assert totals["gen_ai.usage.input_tokens"] == 3
    assert len(driver.spans) == 0


def test_a_second_handler_repeats_no_tool_that_has_a_span_of_its_own(driver: Driver) -> None:
    root, tool = driver.run(), uuid4()
    node = driver.node(root, "work")
    for _ in range(2):
        driver.handler.on_tool_start({"name": "one"}, "", run_id=tool, parent_run_id=node)
    driver.handler.on_tool_end("x", run_id=tool)
    driver.handler.on_chain_end({}, run_id=root)
    assert driver.told("invoke_agent react")["signalbox.tool_calls"] == 1


def test_what_comes_after_its_run_has_ended_is_nothing(driver: Driver) -> None:
    root = driver.run()
    node = driver.node(root)
    driver.handler.on_chain_end({}, run_id=root)
    assert driver.names == ["node model", "invoke_agent react"]
    late = driver.node(node)
    chat, tool = driver.chat(node), driver.tool(node)
    driver.handler.on_llm_new_token("x", run_id=chat)
    driver.handler.on_llm_end(ANSWER, run_id=chat)
    driver.handler.on_llm_error(ValueError(), run_id=chat)
    driver.handler.on_tool_end("x", run_id=tool)
    driver.handler.on_tool_error(ValueError(), run_id=tool)
    for one in (late, node, root):
        driver.handler.on_chain_end({}, run_id=one)
        driver.handler.on_chain_error(ValueError(), run_id=one)
    assert len(driver.names) == 2
    assert len(driver.spans) == 0


def test_a_model_outside_of_any_run_is_not_told(driver: Driver) -> None:
    driver.handler.on_llm_end(ANSWER, run_id=driver.chat(None))
    driver.handler.on_tool_end("x", run_id=driver.tool(None))
    assert driver.names == []


@pytest.mark.parametrize(("said", "told"), [(3, 3), (None, 1), ("many", 1)])
def test_a_run_tells_which_attempt_it_is(driver: Driver, said: object, told: int) -> None:
    driver.handler.on_chain_end({}, run_id=driver.run(run_attempt=said))
    assert driver.told("invoke_agent react")["signalbox.run.attempt"] == told


def test_the_handler_is_called_at_once_and_its_faults_end_no_run(driver: Driver) -> None:
    assert driver.handler.run_inline is True
    assert driver.handler.raise_error is False


@pytest.mark.anyio
async def test_nothing_blocks_the_event_loop() -> None:
    memory = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(memory, max_queue_size=8, max_export_batch_size=2))
    driver = Driver(provider, memory)
    with blockbuster_ctx() as guard:
        guard.functions["threading.Lock.acquire"].deactivate()  # as the server does
        for _ in range(10):
            root = driver.run(tenant="acme")
            chat = driver.chat(driver.node(root))
            driver.handler.on_llm_end(ANSWER, run_id=chat)
            driver.handler.on_chain_end({}, run_id=root)
    provider.shutdown()
    assert 8 <= len(driver.names) <= 30
