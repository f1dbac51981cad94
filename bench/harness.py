"""The react graph as the benchmarks run it: how it is built and admitted stands here and nowhere else."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from agent.context import AgentContext, Limits, ModelChoice
from agent.graphs.react import build
from agent.models import Models
from agent.stamp import RunKey, sign
from agent.state import HistoryMode
from agent.tools.registry import Registry
from agent.tools.shipped import ledger

Graph = CompiledStateGraph[Any, Any, Any, Any]

_SECRET = "benchmark-secret"  # noqa: S105 - signs nothing but the benchmark's runs


class OneModel(Models):
    """Gives one model, whatever is asked for."""

    def __init__(self, model: BaseChatModel) -> None:
        super().__init__()
        self._model = model

    async def get(self, choice: ModelChoice, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The model."""
        return self._model


def registry() -> Registry:
    """One reading tool, `bench.echo`."""
    tools = Registry()

    @tools.tool("bench.echo", risk="read")
    async def echo(text: str) -> str:
        """Say it back."""
        return text

    del echo  # the registry has it
    return tools


def react(model: BaseChatModel, *, saver: BaseCheckpointSaver[Any], mode: HistoryMode = "delta") -> Graph:
    """The product's graph around a model, its messages kept as `SIGNALBOX_MESSAGES` = `mode` says."""
    with patch.dict(os.environ, {"SIGNALBOX_MESSAGES": mode}):
        graph = build(registry(), OneModel(model), ledger)
    return graph.copy(update={"checkpointer": saver})


def context(**changes: Any) -> AgentContext:  # noqa: ANN401 - fields of the context
    """An assistant that may call the tool as often as it wants."""
    values: dict[str, Any] = {
        "tenant": "acme",
        "assistant": "bench",
        "release": "0" * 64,
        "model": ModelChoice(name="openai:scripted"),
        "prompt": "You are measured.",
        "tools": ("bench.echo",),
        "limits": Limits(steps=1000, model_calls=1000, tool_calls=1000, repeats=10),
    }
    return AgentContext.model_validate({**values, **changes})


async def turn(graph: Graph, text: str, *, thread: str, admit: AgentContext | None = None) -> None:
    """A person's message and everything up to its answer; `admit` stamps the run as the door would."""
    key = RunKey(run=str(uuid.uuid4()), thread=thread, assistant="bench")
    more: dict[str, Any] = {}
    if admit is not None:
        stamp = sign(admit, key, principal="acme/ann", unattended=False, secret=_SECRET.encode())
        more = {"context": admit.model_copy(update={"stamp": stamp})}
    ids = {"thread_id": thread, "run_id": key.run, "assistant_id": key.assistant}
    sent: Any = {"messages": [{"role": "user", "content": text}]}
    anything: Any = graph
    await anything.ainvoke(sent, config={"configurable": ids, "recursion_limit": 1000}, **more)


@contextmanager
def environment() -> Generator[None]:
    """The environment of a benchmark: a secret, and databases of its own that are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="signalbox-bench-") as directory:
        own: Mapping[str, str] = {
            "SIGNALBOX_SERVER_SECRET": _SECRET,
            "SIGNALBOX_HOME": directory,
            "SIGNALBOX_DB": f"sqlite+aiosqlite:///{(Path(directory) / 'ledger.db').as_posix()}",
            "LANGSMITH_TRACING": "false",
        }
        with patch.dict(os.environ, own):
            yield
