"""Eight runs at once on one SQLite ledger: none meets a locked database, and every cent and call is there."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import Command

from agent.context import AgentContext, Approval, ModelChoice
from agent.ledger import Decided, Intact, Ledger, Period, Price, Spend, Summary, Verdict, day, price
from agent.ledger import Turn as Ours
from agent.offline.history import problems
from agent.offline.script import ScriptedCall, Turn, UsageFigures
from tests.graph.conftest import Agent
from tests.graph.workbench import Log
from tests.support.endpoint import Conversation

pytestmark = pytest.mark.anyio

RUNS = 8
MODEL = "openai:gpt-5-mini"
PRICE = price(MODEL) or Price(0, 0)
LIMITS = {
    "steps": 40,
    "model_calls": 20,
    "tool_calls": 20,
    "tokens": 100_000,
    "usd_per_run": 1.0,
    "usd_per_day": 5.0,
    "tenant_usd_per_day": 10.0,
    "seconds": 300,
    "approvals": 5,
    "repeats": 3,
}


@pytest.fixture
async def shared(agent: Agent, tmp_path: Path) -> AsyncGenerator[Agent]:
    """An agent on a ledger that nobody else uses; another tenant's run has opened it, and the client."""
    ledger = Ledger(f"sqlite+aiosqlite:///{(tmp_path / 'ledger.db').as_posix()}")
    made = Agent(agent.registry, agent.endpoint, ledger)
    talk = await made.endpoint.script(Turn(content="Ready."))
    await made.run(talk.says("go"), thread=str(uuid.uuid4()), context=context(made, tenant="globex"))
    yield made
    await ledger.dispose()


def used(tokens_in: int, tokens_out: int) -> UsageFigures:
    return UsageFigures(prompt_tokens=tokens_in, completion_tokens=tokens_out)


def calls(*made: tuple[str, dict[str, Any]], usage: UsageFigures) -> Turn:
    tool_calls = tuple(ScriptedCall(name=f"bench_{name}", args=arguments) for name, arguments in made)
    return Turn(content="", tool_calls=tool_calls, usage=usage)


def context(agent: Agent, **changes: Any) -> AgentContext:
    choice = ModelChoice(name=MODEL, base_url=agent.endpoint.url, max_tokens=500)
    tools = ("bench.echo", "bench.pay", "bench.fail")
    return agent.context(**{"model": choice, "tools": tools, "limits": LIMITS, **changes})


async def summary(agent: Agent) -> Summary:
    now = datetime.now(UTC)
    period = Period(now - timedelta(days=1), now + timedelta(days=1), tenant="acme")
    (found,) = await agent.ledger.usage.summary(period)
    return found


async def account(agent: Agent, thread: str, messages: list[BaseMessage]) -> Spend:
    now = datetime.now(UTC)
    of = Ours("acme", thread, str(messages[0].id), "support", "0" * 64, day(now))
    found = await agent.ledger.budgets.account(of, now=now)
    assert found is not None
    assert found.held == Spend()
    return found.used


async def intact(agent: Agent) -> int:
    """How long the tenant's audit chain is, which holds."""
    outcome = await agent.ledger.audit.verify("acme")
    assert isinstance(outcome, Intact)
    return outcome.count


async def test_eight_runs_with_tools_and_budgets_all_succeed_to_the_token(shared: Agent, log: Log) -> None:
    talks: list[Conversation] = [
        await shared.endpoint.script(
            calls(("echo", {"text": f"{n}a"}), ("pay", {"amount": n + 1}), usage=used(1_000 + n, 20)),
            calls(
                ("fail", {}), ("nothing", {"n": n}), ("echo", {"text": f"{n}b"}), usage=used(1_100 + n, 30)
            ),
            calls(("pay", {"amount": 100 + n}), usage=used(1_200, 10 + n)),
            Turn(content=f"Done {n}.", usage=used(1_300, 40)),
        )
        for n in range(RUNS)
    ]
    threads = [str(uuid.uuid4()) for _ in talks]
    found = await asyncio.gather(
        *(
            shared.run(talk.says("go"), thread=thread, context=context(shared))
            for talk, thread in zip(talks, threads, strict=True)
        )
    )
    assert [messages[-1].content for messages in found] == [f"Done {n}." for n in range(RUNS)]
    for n, (thread, messages) in enumerate(zip(threads, found, strict=True)):
        usages = [(1_000 + n, 20), (1_100 + n, 30), (1_200, 10 + n), (1_300, 40)]
        assert await account(shared, thread, messages) == Spend(
            steps=7,
            model_calls=4,
            tool_calls=5,  # the one of a tool that does not exist was never begun
            tokens=sum(map(sum, usages)),
            micros=sum(PRICE.cost(tokens_in=i, tokens_out=o) for i, o in usages),
        )
        assert len([message for message in messages if isinstance(message, ToolMessage)]) == 6
    total = await summary(shared)
    assert (total.runs, total.turns, total.steps) == (8, 8, 56)
    assert (total.model_calls, total.model_failures, total.estimated_calls) == (32, 0, 0)
    assert (total.tokens_in, total.tokens_out) == (36_856, 828)
    assert (total.tool_calls, total.tool_failures, total.denials) == (48, 8, 8)
    today = day(datetime.now(UTC))
    assert await shared.ledger.budgets.spent("acme", today) == total.micros
    assert await shared.ledger.budgets.spent("acme", today, assistant="support") == total.micros
    assert sorted(str(effect[1]) for effect in log.effects if effect[0] == "pay") == sorted(
        str(float(amount)) for n in range(RUNS) for amount in (n + 1, 100 + n)
    )
    assert len({effect[2] for effect in log.effects}) == len(log.effects) == 32
    assert await intact(shared) == 8
    for talk in talks:
        requests = await talk.requests()
        assert [problems(request.body["messages"]) for request in requests] == [[]] * 4


async def test_eight_runs_that_ask_are_decided_and_resumed_at_once(shared: Agent, log: Log) -> None:
    rule = Approval(when="always", decisions=("approve", "reject"), expires=3600)
    given = context(shared, approvals={"bench.pay": rule})
    talks = [
        await shared.endpoint.script(
            calls(("pay", {"amount": n + 1}), ("echo", {"text": "x"}), usage=used(100, 10)),
            Turn(content=f"Done {n}.", usage=used(200, 10)),
        )
        for n in range(RUNS)
    ]
    threads = [str(uuid.uuid4()) for _ in talks]

    async def ask(talk: Conversation, thread: str) -> str:
        sent = {"messages": [{"role": "user", "content": talk.says("go")}]}
        (asked,) = (await shared.invoke(sent, thread=thread, context=given))["__interrupt__"]
        return str(asked.id)

    async def decide_and_resume(number: int, thread: str, interrupt: str) -> list[BaseMessage]:
        now = datetime.now(UTC)
        (record,) = await shared.ledger.approvals.pending("acme", now=now, thread=thread)
        verdict = Verdict("reject" if number % 2 else "approve", by="acme/eve", roles={"approver"})
        ruling = await shared.ledger.approvals.decide("acme", record.id, verdict, now=now)
        assert isinstance(ruling, Decided)
        sent: Any = Command(resume={interrupt: {"decisions": []}})
        return (await shared.invoke(sent, thread=thread, context=given))["messages"]

    asked = await asyncio.gather(*(ask(*one) for one in zip(talks, threads, strict=True)))
    assert [effect[0] for effect in log.effects] == ["echo"] * RUNS
    found = await asyncio.gather(
        *(decide_and_resume(n, *one) for n, one in enumerate(zip(threads, asked, strict=True)))
    )
    assert [messages[-1].content for messages in found] == [f"Done {n}." for n in range(RUNS)]
    assert sorted(str(effect[1]) for effect in log.effects if effect[0] == "pay") == [
        "1.0",
        "3.0",
        "5.0",
        "7.0",
    ]
    total = await summary(shared)
    assert (total.interrupts, total.approved, total.rejected) == (8, 4, 4)
    assert (total.model_calls, total.tool_calls, total.denials) == (16, 16, 4)
    assert await intact(shared) == 8 + 8 + 4  # asked, decided, consumed


async def test_runs_that_are_cancelled_leave_no_lock_behind(shared: Agent, log: Log) -> None:
    """Others that run at the same time, and those that come later, find the ledger as it should be."""
    slow = [
        await shared.endpoint.script(
            calls(("pay", {"amount": n + 1}), usage=used(100, 10)), Turn(content="never", gate="never")
        )
        for n in range(RUNS)
    ]
    running = [
        asyncio.create_task(shared.run(talk.says("go"), thread=str(uuid.uuid4()), context=context(shared)))
        for talk in slow
    ]
    await asyncio.gather(*(talk.requests(wait_for=2) for talk in slow[::2]))
    for task in running:
        task.cancel()
    assert all(
        isinstance(ended, asyncio.CancelledError)
        for ended in await asyncio.gather(*running, return_exceptions=True)
    )
    talks = [await shared.endpoint.script(Turn(content="Here.", usage=used(10, 5))) for _ in range(RUNS)]
    found = await asyncio.gather(
        *(shared.run(talk.says("go"), thread=str(uuid.uuid4()), context=context(shared)) for talk in talks)
    )
    assert [messages[-1].content for messages in found] == ["Here."] * RUNS
    total = await summary(shared)
    assert total.model_calls >= RUNS + RUNS
    assert len({effect[2] for effect in log.effects}) == len(log.effects)
    await intact(shared)
