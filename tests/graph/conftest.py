"""Whole-graph tests: the real graph and ChatOpenAI against the scripted endpoint, over HTTP."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.context import AgentContext, ModelChoice
from agent.graphs.react import build
from agent.ledger import Ledger
from agent.models import Models
from agent.stamp import RunKey, sign
from agent.tools.registry import Registry
from tests.graph.workbench import Log, workbench
from tests.support.endpoint import Endpoint, endpoint

SECRET = "graph-tests-7Qm2vLr8Kd5Zt1Wc4Yb6Hn3"
ASSISTANT = "5f0b1c1e-3f0e-4f53-9d3e-0c8f6d1f7a10"


@pytest.fixture(scope="session")
async def model_endpoint() -> AsyncGenerator[Endpoint]:
    async with endpoint() as running:
        yield running


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def registry(log: Log) -> Registry:
    return workbench(log)


@pytest.fixture(scope="session")
async def ledger(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Ledger]:
    """One ledger for all graph tests: threads and, where money matters, tenants are a test's own."""
    database = tmp_path_factory.mktemp("ledger") / "ledger.db"
    kept = Ledger(f"sqlite+aiosqlite:///{database.as_posix()}")
    await kept.open()
    yield kept
    await kept.dispose()


@dataclass
class Agent:
    """The react graph over the workbench tools; each `run` is admitted as the door would."""

    registry: Registry
    endpoint: Endpoint
    ledger: Ledger
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    unattended: bool = False

    def __post_init__(self) -> None:
        self.graph = build(self.registry, Models(), self.ledger).copy(update={"checkpointer": self.saver})

    def harness(self, *, models: Models | None = None, **options: Any) -> Agent:
        """This agent with clients, a history mode, a summariser or concerns of a test's own."""
        options = {"summariser": None, **options}
        graph = build(self.registry, models or Models(), self.ledger, **options)
        self.graph = graph.copy(update={"checkpointer": self.saver})
        return self

    async def put(self, messages: list[BaseMessage], *, thread: str, after: str = "model") -> None:
        """Write messages into the thread as if node `after` had left them."""
        config: Any = {"configurable": {"thread_id": thread}}
        await self.graph.aupdate_state(config, {"messages": messages}, as_node=after)

    async def messages(self, thread: str) -> list[BaseMessage]:
        """What the thread holds."""
        config: Any = {"configurable": {"thread_id": thread}}
        return (await self.graph.aget_state(config)).values["messages"]

    def context(self, **changes: Any) -> AgentContext:
        values: dict[str, Any] = {
            "tenant": "acme",
            "assistant": "support",
            "release": "0" * 64,
            "model": ModelChoice(name="openai:scripted", base_url=self.endpoint.url),
            "prompt": "You are the workbench.",
            "tools": ("bench.echo", "bench.slow", "bench.boom", "bench.fail", "bench.pay"),
        }
        return AgentContext.model_validate({**values, **changes})

    async def run(
        self, text: str, *, thread: str, context: AgentContext | None = None, stamped: bool = True
    ) -> list[BaseMessage]:
        """One turn; the thread's messages afterwards."""
        sent = {"messages": [{"role": "user", "content": text}]}
        result = await self.invoke(sent, thread=thread, context=context, stamped=stamped)
        return result["messages"]

    async def resume(self, *, thread: str, context: AgentContext | None = None) -> list[BaseMessage]:
        """A run without input, as after a failure; the thread's messages afterwards."""
        return (await self.invoke(None, thread=thread, context=context))["messages"]

    async def invoke(
        self, sent: Any, *, thread: str, context: AgentContext | None = None, stamped: bool = True
    ) -> dict[str, Any]:
        """One run with any input; the graph's output."""
        context = context or self.context()
        key = RunKey(run=str(uuid.uuid4()), thread=thread, assistant=ASSISTANT)
        if stamped:
            principal = f"{context.tenant}/ann"
            stamp = sign(
                context, key, principal=principal, unattended=self.unattended, secret=SECRET.encode()
            )
            context = context.model_copy(update={"stamp": stamp})
        return await self.graph.ainvoke(sent, config=self.config(key), context=context)

    async def stream(
        self, text: str, *, thread: str, context: AgentContext | None = None
    ) -> AsyncGenerator[BaseMessage]:
        """One turn as a client with the stream mode `messages` sees it."""
        async for message, _ in self._parts(text, thread, context or self.context(), mode="messages"):
            yield message

    async def custom(self, text: str, **changes: Any) -> AsyncGenerator[Any]:
        """One turn on a new thread as a client with the stream mode `custom` sees it."""
        async for part in self._parts(text, str(uuid.uuid4()), self.context(**changes), mode="custom"):
            yield part

    def _parts(self, text: str, thread: str, context: AgentContext, *, mode: str) -> Any:
        key = RunKey(run=str(uuid.uuid4()), thread=thread, assistant=ASSISTANT)
        stamp = sign(context, key, principal="acme/ann", unattended=False, secret=SECRET.encode())
        sent: Any = {"messages": [{"role": "user", "content": text}]}
        stamped = context.model_copy(update={"stamp": stamp})
        streaming: Any = self.graph
        return streaming.astream(sent, config=self.config(key), context=stamped, stream_mode=mode)

    @staticmethod
    def config(key: RunKey) -> Any:
        return {"configurable": {"thread_id": key.thread, "run_id": key.run, "assistant_id": key.assistant}}

    async def history(self, thread: str) -> list[Any]:
        config: Any = {"configurable": {"thread_id": thread}}
        return [snapshot async for snapshot in self.graph.aget_state_history(config)]


@pytest.fixture
def agent(
    registry: Registry, model_endpoint: Endpoint, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> Agent:
    monkeypatch.setenv("SIGNALBOX_SERVER_SECRET", SECRET)
    return Agent(registry, model_endpoint, ledger)
