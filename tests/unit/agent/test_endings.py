"""How a call ends at a bad moment: its run is cancelled while it is recorded, or its tool never returns."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - untyped saver

from agent.context import AgentContext, ModelChoice
from agent.execution import Ended, execute
from agent.ledger import Ledger
from agent.middleware.admission import Admission
from agent.middleware.guard import ToolGuard, served
from agent.middleware.model import AssistantModel, Unbound
from agent.stamp import RunKey, sign
from agent.tools.registry import Registry, ToolCall
from tests.unit.agent import contexts
from tests.unit.agent.stage import SECRET, Cast, Speaker, calls

pytestmark = pytest.mark.anyio

RUN = RunKey(run=str(uuid.uuid4()), thread="thread-1", assistant="assistant-1")


class HeldLedger(Ledger):
    """A ledger that records how a call ended when `gate` is open, and says when it was asked to."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked, self.gate, self.recorded = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def ended(self, *given: Any, **more: Any) -> None:
        self.asked.set()
        await self.gate.wait()
        await super().ended(*given, **more)
        self.recorded.set()


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[HeldLedger]:
    one = HeldLedger(f"sqlite+aiosqlite:///{tmp_path}/ledger.db")
    yield one
    await one.dispose()


@pytest.fixture
def registry() -> Registry:
    registry = Registry()

    @registry.tool("shop.pay", risk="write")
    async def pay() -> str:
        """Pay."""
        return "paid"

    @registry.tool("shop.hang", risk="read", timeout=0.05)
    async def hang() -> str:
        """Never comes back."""
        await asyncio.Event().wait()
        return "late"

    assert all(callable(tool) for tool in (pay, hang))
    return registry


async def test_what_a_tool_did_is_recorded_though_its_run_is_cancelled_meanwhile(
    registry: Registry, ledger: HeldLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 3: the result of a call that has finished is never lost."""
    monkeypatch.setenv("SIGNALBOX_SERVER_SECRET", SECRET)
    models = Cast(one=Speaker(lines=[calls(("shop_pay", {}))]))
    bare = contexts.context(tools=("shop.pay",), model=ModelChoice(name="openai:one"))
    stamp = sign(bare, RUN, principal="acme/ann", unattended=False, secret=SECRET.encode())
    graph: Any = create_agent(
        model=Unbound(),
        tools=served(registry),
        middleware=[Admission(), ToolGuard(registry, ledger), AssistantModel(models, ledger)],
        context_schema=AgentContext,
    )
    ids = {"run_id": RUN.run, "thread_id": RUN.thread, "assistant_id": RUN.assistant}
    run = asyncio.create_task(
        graph.ainvoke(
            {"messages": [{"role": "user", "content": "pay"}]},
            {"configurable": ids},
            context=bare.model_copy(update={"stamp": stamp}),
        )
    )
    async with asyncio.timeout(20):
        await ledger.asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await ledger.results.get("acme", thread="thread-1", call_id="call-0") is None
    ledger.gate.set()
    async with asyncio.timeout(5):
        await ledger.recorded.wait()
    found = await ledger.results.get("acme", thread="thread-1", call_id="call-0")
    assert found is not None
    assert (found.text, found.outcome) == ("paid", "ok")


async def test_a_tool_that_never_comes_back_holds_its_run_for_its_own_time_only(registry: Registry) -> None:
    tool = registry.get("shop.hang")
    assert tool is not None
    call = ToolCall(tenant="acme", principal="acme/ann", thread="thread-1", call_id="call-0")

    async def run() -> str:
        return str(await tool.run())

    async with asyncio.timeout(5):
        ended = await execute(tool, call, run)
    assert isinstance(ended, Ended)
    assert ended.code == "tool_timeout"
