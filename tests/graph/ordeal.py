"""A random conversation under way: each step of its plan is played, with its cancel, decisions and faults.

Cancels hit at moments that can be counted (the ledger's writes, and a tool that hangs), so that an example
that fails can be played again.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Command

from agent.context import AgentContext, Approval, ModelChoice
from agent.errors import ModelUnavailable
from agent.graphs.react import build
from agent.ledger import Approval as Record
from agent.ledger import Decided, Ledger, Verdict
from agent.ledger.budgets import Budgets
from agent.ledger.database import LedgerDatabase
from agent.models import Models
from agent.offline.script import Turn
from agent.stamp import RunKey, sign
from tests.graph.conftest import ASSISTANT, SECRET, Agent
from tests.graph.plan import GATED_FROM, Choice, Plan, Step
from tests.graph.workbench import Log, workbench
from tests.support.endpoint import Conversation, Endpoint

TOOLS = tuple(
    f"bench.{name}"
    for name in ("echo", "boom", "fail", "slow", "pay", "big", "long", "nasty", "hang", "send", "missing")
)
RULE = Approval(when=f"amount >= {GATED_FROM}", decisions=("approve", "edit", "reject"), expires=3600)
SPARE = 40  # plain answers behind the script, so that a thread can always be brought to an end


@dataclass
class Moments:
    """The moments of a run at which it may be cut off."""

    left: int = 0
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def aim(self, cut: int | None) -> None:
        """Count anew; without a cut nothing is ever reached."""
        self.left, self.reached = cut or 0, asyncio.Event()

    def passed(self) -> None:
        """One more moment."""
        self.left -= 1
        if self.left == 0:
            self.reached.set()


class _WatchedBudgets(Budgets):
    def __init__(self, database: LedgerDatabase, passed: Callable[[], None]) -> None:
        super().__init__(database)
        self._passed = passed

    async def reserve(self, *args: Any, **values: Any) -> Any:
        self._passed()
        held = await super().reserve(*args, **values)
        self._passed()
        return held


class WatchedLedger(Ledger):
    """A ledger whose writes are moments: before and after a request, an answer, a tool's result."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.moments = Moments()
        self.budgets = _WatchedBudgets(self._database, self.moments.passed)

    async def spent(self, *args: Any, **values: Any) -> None:
        """See `Ledger.spent`."""
        self.moments.passed()
        await super().spent(*args, **values)
        self.moments.passed()

    async def ended(self, *args: Any, **values: Any) -> None:
        """See `Ledger.ended`."""
        self.moments.passed()
        await super().ended(*args, **values)
        self.moments.passed()


@dataclass
class Ordeal:
    """A conversation under way; `play` takes it through a step."""

    agent: Agent
    ledger: WatchedLedger
    log: Log
    talk: Conversation
    context: AgentContext
    thread: str
    said: int = 0
    resumed: int = 0

    @classmethod
    async def begin(cls, plan: Plan, endpoint: Endpoint, ledger: WatchedLedger, models: Models) -> Ordeal:
        """The conversation before its first step."""
        log, setting = Log(), plan.setting
        profile, habits = setting.endpoint
        registry = workbench(log)
        agent = Agent(registry, endpoint, ledger, unattended=setting.unattended)
        graph = build(registry, models, ledger, mode=setting.mode)
        agent.graph = graph.copy(update={"checkpointer": agent.saver})
        spare = (Turn(content="done."),) * SPARE
        talk = await endpoint.script(*plan.turns, *spare, **habits)
        choice = ModelChoice(
            name="openai:main", base_url=endpoint.url, profile=profile, timeout=5, max_tokens=400
        )
        context = agent.context(
            model=choice,
            tools=TOOLS,
            approvals={"bench.pay": RULE},
            compaction=setting.compaction,
            limits=setting.limits,
        )
        return cls(agent, ledger, log, talk, context, str(uuid.uuid4()))

    async def play(self, step: Step) -> None:
        """Take one step; whatever makes no sense now is a message."""
        state = await self.state()
        match step.kind:
            case "expire":
                await self.ledger.approvals.expire(datetime.now(UTC) + timedelta(hours=2))
                await self.run(None if state.next else self.message(), step)
            case "decide" if state.interrupts:
                await self.run(Command(resume=await self.decided(step)), step)
            case "go on" if state.next:
                await self.run(None, step)
            case "interrupt":
                await self.run(self.message(), step)
            case _:
                await self.ledger.approvals.withdraw("acme", thread=self.thread, now=datetime.now(UTC))
                await self.run(self.message(), step)

    def message(self) -> dict[str, Any]:
        """The person's next message."""
        self.said += 1
        text = f"message {self.said}"
        return {"messages": [{"role": "user", "content": self.talk.says(text) if self.said == 1 else text}]}

    async def decided(self, step: Step) -> dict[str, Any]:
        """Record what people decide; the resume map."""
        answers: dict[str, Any] = {}
        records = await self.pending()
        for number, record in enumerate(records):
            choice: Choice = step.choices[number] if number < len(step.choices) else "later"
            identity = record.request.interrupt or ""
            if choice == "later":
                answers |= {identity: {"decisions": [{"type": "approve"}]}} if step.forged else {}
                continue
            verdict = Verdict(
                choice,
                by="acme/eve",
                roles={"approver"},
                edited={"amount": 120} if choice == "edit" else None,
            )
            ruling = await self.ledger.approvals.decide("acme", record.id, verdict, now=datetime.now(UTC))
            assert isinstance(ruling, Decided)
            answers[identity] = {"decisions": [{"type": choice}]}
        return answers or {"0" * 32: {"decisions": [{"type": "approve"}]}}

    async def pending(self) -> list[Record]:
        """What waits on the thread."""
        return await self.ledger.approvals.pending("acme", now=datetime.now(UTC), thread=self.thread)

    async def run(self, sent: Any, step: Step) -> None:
        """One run, cancelled at the step's moment or when a tool hangs; an outage is no failure here."""
        self.resumed += not isinstance(sent, dict)
        self.ledger.moments.aim(step.cut)
        reached = self.ledger.moments.reached
        work = asyncio.create_task(self.driven(sent, stream=step.stream))
        hangs = asyncio.create_task(self.log.begun(self.log.hung + 1))
        stops = [asyncio.create_task(reached.wait()), hangs]
        done, _ = await asyncio.wait([work, *stops], timeout=30, return_when=asyncio.FIRST_COMPLETED)
        assert done, "the run neither ended nor came to the moment of its cancel"
        if hangs in done and step.cut is not None:
            with contextlib.suppress(TimeoutError):  # its siblings go on for a while
                await asyncio.wait_for(reached.wait(), 0.05)
        for task in (*stops, work):
            task.cancel()
        await asyncio.wait(stops)
        with contextlib.suppress(asyncio.CancelledError, ModelUnavailable):
            await work

    async def driven(self, sent: Any, *, stream: bool) -> None:
        """The run, streamed as the server does it, or whole."""
        if not stream:
            await self.agent.invoke(sent, thread=self.thread, context=self.context)
            return
        key = RunKey(run=str(uuid.uuid4()), thread=self.thread, assistant=ASSISTANT)
        unattended, secret = self.agent.unattended, SECRET.encode()
        stamp = sign(self.context, key, principal="acme/ann", unattended=unattended, secret=secret)
        context = self.context.model_copy(update={"stamp": stamp})
        parts: Any = self.agent.graph.astream(
            sent, config=Agent.config(key), context=context, stream_mode=["messages", "values", "custom"]
        )
        async for _ in parts:
            pass

    async def state(self) -> Any:
        """The thread as it is kept."""
        config: Any = {"configurable": {"thread_id": self.thread}}
        return await self.agent.graph.aget_state(config)

    async def messages(self) -> list[BaseMessage]:
        """What the thread holds."""
        return (await self.state()).values.get("messages", [])
