"""`react`: an agent that calls tools until it can answer (B-01).

Agent and tools are the only two nodes: the harness lives in wrap hooks, so a round stays two super-steps.
The topology is the same for every tenant; model, prompt and tools come with the run's context.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - untyped saver
from langgraph.graph.state import CompiledStateGraph

from agent.context import AgentContext
from agent.execution import served
from agent.ledger import Ledger
from agent.middleware.harness import Harness
from agent.middleware.model import Unbound
from agent.models import Models
from agent.state import HistoryMode, conversation
from agent.telemetry.process import telemetry
from agent.tools.registry import Registry
from agent.tools.shipped import ledger
from agent.tools.shipped import registry as shipped

Graph = CompiledStateGraph[Any, AgentContext, Any, Any]


def build(
    registry: Registry,
    models: Models,
    ledger: Ledger,
    *,
    mode: HistoryMode | None = None,
    **options: Any,  # noqa: ANN401
) -> Graph:
    """The graph over the tools of `registry`, compiled without a checkpointer: the server brings its own.

    Args:
        registry: The tools.
        models: The model clients.
        ledger: The ledger.
        mode: How checkpoints hold the messages, by default as the environment says (`agent.state`).
        options: Of the harness (`agent.middleware.harness`).
    """
    return create_agent(
        model=Unbound(),
        tools=served(registry),
        middleware=[Harness(registry, models, ledger, **options)],
        state_schema=conversation(mode),
        context_schema=AgentContext,
        name="react",
    )


graph = telemetry.attach(build(shipped, Models(), ledger), tools=(tool.wire for tool in shipped))
