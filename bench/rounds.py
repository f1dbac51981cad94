"""What a round of the react graph costs, beside a bare `create_agent` and a stock stack of middleware.

Same process, same scripted model without latency, same tool, in turn: A B C A B C …, so that a machine whose
speed drifts does not favour one of them.
"""

from __future__ import annotations

import asyncio
import statistics
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from agent.context import AgentContext, Limits, ModelChoice
from agent.graphs.react import build
from agent.models import Models
from agent.stamp import RunKey, sign
from agent.tools.registry import Registry

SECRET = b"benchmark-secret"
Graph = CompiledStateGraph[Any, Any, Any, Any]


class Scripted(BaseChatModel):
    """Calls a tool a number of times in a turn, then answers; no latency."""

    rounds: int

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The script does not depend on the tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ANN401
        newest = max(i for i, message in enumerate(messages) if message.type == "human")
        done = sum(1 for message in messages[newest:] if message.type == "ai")
        calls: list[Any] = []
        if done < self.rounds:
            calls = [
                {
                    "name": "bench_echo",
                    "args": {"text": str(done)},
                    "id": uuid.uuid4().hex,
                    "type": "tool_call",
                }
            ]
        message = AIMessage("" if calls else "done", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ANN401
        return self._generate(messages)


class OneModel(Models):
    """Gives the scripted model whatever is asked for."""

    def __init__(self, model: BaseChatModel) -> None:
        super().__init__()
        self._model = model

    async def get(self, choice: ModelChoice, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The scripted model."""
        return self._model


def registry() -> Registry:
    """One reading tool."""
    tools = Registry()

    @tools.tool("bench.echo", risk="read")
    async def echo(text: str) -> str:
        """Say it back."""
        return text

    del echo  # the registry has it
    return tools


@tool("bench_echo")
async def stock_echo(text: str) -> str:
    """Say it back."""
    return text


def contestants(rounds: int) -> dict[str, Graph]:
    """The graphs that are compared, each with a saver of its own."""
    model = Scripted(rounds=rounds)
    stock: Sequence[Any] = [
        ModelCallLimitMiddleware(run_limit=50),
        ToolCallLimitMiddleware(run_limit=50),
        HumanInTheLoopMiddleware(interrupt_on={"nothing": True}),
        SummarizationMiddleware(model=model, trigger=("messages", 1000)),
    ]
    graphs: dict[str, Any] = {
        "signalbox": build(registry(), OneModel(model)),
        "bare create_agent": create_agent(model, [stock_echo]),
        "stock middleware": create_agent(model, [stock_echo], middleware=stock),
    }
    return {name: graph.copy(update={"checkpointer": InMemorySaver()}) for name, graph in graphs.items()}


def admitted(thread: str) -> tuple[AgentContext, dict[str, Any]]:
    """A stamped context and the configuration of a run on a thread."""
    context = AgentContext(
        tenant="acme",
        assistant="bench",
        release="0" * 64,
        model=ModelChoice(name="openai:scripted"),
        prompt="You are measured.",
        tools=("bench.echo",),
        limits=Limits(steps=1000, model_calls=1000, tool_calls=1000, repeats=10),
    )
    key = RunKey(run=str(uuid.uuid4()), thread=thread, assistant="bench")
    stamp = sign(context, key, principal="acme/ann", unattended=False, secret=SECRET)
    configurable = {"thread_id": thread, "run_id": key.run, "assistant_id": key.assistant}
    return context.model_copy(update={"stamp": stamp}), {
        "configurable": configurable,
        "recursion_limit": 1000,
    }


async def turn(name: str, graph: Graph, thread: str) -> None:
    """One turn on a thread."""
    context, config = admitted(thread)
    sent: Any = {"messages": [{"role": "user", "content": "go"}]}
    more: dict[str, Any] = {"context": context} if name == "signalbox" else {}
    anything: Any = graph
    await anything.ainvoke(sent, config=config, **more)


async def checkpoints(rounds: int) -> dict[str, int]:
    """How many checkpoints one turn of so many rounds leaves behind."""
    counted: dict[str, int] = {}
    for name, graph in contestants(rounds).items():
        await turn(name, graph, "t")
        config: Any = {"configurable": {"thread_id": "t"}}
        counted[name] = len([entry async for entry in graph.aget_state_history(config)])
    return counted


async def seconds(rounds: int, *, repeats: int) -> dict[str, list[float]]:
    """Seconds a round, for each contestant, one value a repeat."""
    graphs = contestants(rounds)
    for name, graph in graphs.items():
        await turn(name, graph, "warm-up")
    measured: dict[str, list[float]] = {name: [] for name in graphs}
    for repeat in range(repeats):
        for name, graph in graphs.items():
            started = time.perf_counter()
            await turn(name, graph, f"t{repeat}")
            measured[name].append((time.perf_counter() - started) / rounds)
    return measured


def ratio(measured: dict[str, list[float]], name: str, other: str) -> float:
    """Median of the ratios pair by pair."""
    return statistics.median(a / b for a, b in zip(measured[name], measured[other], strict=True))


def run(report: Callable[[str, Any], None]) -> None:
    """Measure and report."""
    report("checkpoints of a turn of three rounds", asyncio.run(checkpoints(3)))
    measured = asyncio.run(seconds(10, repeats=15))
    report(
        "milliseconds a round, median",
        {n: round(statistics.median(v) * 1000, 3) for n, v in measured.items()},
    )
    report(
        "ratio of signalbox to",
        {other: round(ratio(measured, "signalbox", other), 3) for other in measured if other != "signalbox"},
    )
