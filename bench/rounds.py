"""What a round of the react graph costs, beside a bare `create_agent` and a stock stack of middleware.

Same process, same scripted model without latency, same tool, in turn: A B C, B C A, C A B, …, so that a
machine whose speed drifts does not favour one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - untyped saver
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from bench.harness import Graph, context, react, turn
from bench.plot import Bars, page
from bench.sample import Work, interleaved, quartiles, ratios
from bench.scripted import Caller

OURS = "signalbox"
CHECKPOINTS = "checkpoints of a turn of three rounds"
MILLISECONDS = "milliseconds a round"
RATIO = "ratio of signalbox to"


@tool("bench_echo")
async def stock_echo(text: str) -> str:
    """Say it back."""
    return text


def contestants(rounds: int) -> dict[str, Graph]:
    """The graphs that are compared, each with a saver of its own."""
    model = Caller(rounds=rounds)
    stock: Sequence[Any] = [
        ModelCallLimitMiddleware(run_limit=50),
        ToolCallLimitMiddleware(run_limit=50),
        HumanInTheLoopMiddleware(interrupt_on={"nothing": True}),
        SummarizationMiddleware(model=model, trigger=("messages", 1000)),
    ]
    others: dict[str, Any] = {
        "bare create_agent": create_agent(model, [stock_echo]),
        "stock middleware": create_agent(model, [stock_echo], middleware=stock),
    }
    saved = {name: graph.copy(update={"checkpointer": InMemorySaver()}) for name, graph in others.items()}
    return {OURS: react(model, saver=InMemorySaver()), **saved}


async def play(name: str, graph: Graph, thread: str) -> None:
    """One turn on a thread."""
    await turn(graph, "go", thread=thread, admit=context() if name == OURS else None)


async def checkpoints(rounds: int) -> dict[str, int]:
    """How many checkpoints one turn of so many rounds leaves behind."""
    counted: dict[str, int] = {}
    for name, graph in contestants(rounds).items():
        await play(name, graph, "t")
        config: Any = {"configurable": {"thread_id": "t"}}
        counted[name] = len([entry async for entry in graph.aget_state_history(config)])
    return counted


async def measure(*, rounds: int = 10, repeats: int = 60) -> dict[str, Any]:
    """Quartiles of the milliseconds a round, and of the ratios pair by pair."""

    def works(name: str, graph: Graph) -> Any:  # noqa: ANN401 - a function of the repeat's number
        def work(repeat: int) -> Work:
            return lambda: play(name, graph, f"t{repeat}")

        return work

    graphs = contestants(rounds)
    measured = await interleaved({n: works(n, graph) for n, graph in graphs.items()}, repeats=repeats)
    milliseconds = {n: [value * 1000 / rounds for value in values] for n, values in measured.items()}
    return {
        "rounds a turn": rounds,
        "repeats": repeats,
        CHECKPOINTS: await checkpoints(3),
        MILLISECONDS: {name: quartiles(values) for name, values in milliseconds.items()},
        RATIO: {n: quartiles(ratios(milliseconds, OURS, to=n)) for n in milliseconds if n != OURS},
    }


def drawn(result: dict[str, Any]) -> str:
    """The result as SVG."""
    spans = result[MILLISECONDS]
    return page(
        [
            Bars(CHECKPOINTS, result[CHECKPOINTS]),
            Bars(
                f"{MILLISECONDS}, median and quartiles",
                {name: span["median"] for name, span in spans.items()},
                {name: (span["low"], span["high"]) for name, span in spans.items()},
            ),
        ]
    )


def rows(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Figure, value, aim."""
    counted = result[CHECKPOINTS]
    beside = ", ".join(f"{count} {name}" for name, count in counted.items() if name != OURS)
    found = [(CHECKPOINTS, f"{counted[OURS]} ({beside})", "9")]
    for name, aim in (("bare create_agent", "≤ 1.15"), ("stock middleware", "")):
        span = result[RATIO][name]
        found.append(
            (f"time of a round, ratio to {name}", f"{span['median']} ({span['low']} to {span['high']})", aim)
        )
    own = result[MILLISECONDS][OURS]
    return [*found, (MILLISECONDS, f"{own['median']} ({own['low']} to {own['high']})", "")]
