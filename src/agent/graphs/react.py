"""`react`: an agent that calls tools until it can answer (B-01).

Agent and tools are the only two nodes: the harness lives in wrap hooks, so a round stays two super-steps.
The topology is the same for every tenant; model, prompt and tools come with the run's context.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - untyped saver
from langgraph.graph.state import CompiledStateGraph

from agent.compaction.summariser import ModelSummariser
from agent.context import AgentContext
from agent.middleware.admission import Admission
from agent.middleware.compaction import Compaction
from agent.middleware.guard import ToolGuard, served
from agent.middleware.history import History
from agent.middleware.limits import TurnLimits
from agent.middleware.model import AssistantModel, Unbound
from agent.models import Models
from agent.state import conversation
from agent.tools.registry import Registry
from agent.tools.shipped import registry as shipped


def build(registry: Registry, models: Models) -> CompiledStateGraph[Any, AgentContext, Any, Any]:
    """The graph over the tools of `registry`, compiled without a checkpointer: the server brings its own."""
    return create_agent(
        model=Unbound(),
        tools=served(registry),
        middleware=[
            Admission(),
            History(registry),
            ToolGuard(registry),
            AssistantModel(models),
            TurnLimits(),
            Compaction(ModelSummariser(models)),
        ],
        state_schema=conversation(),
        context_schema=AgentContext,
        name="react",
    )


graph = build(shipped, Models())
