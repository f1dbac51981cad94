"""Budgets at the endpoint (invariant 6): what the budget does not hold is not sent, whoever asks."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from agent.context import AgentContext, Compaction, ModelChoice
from agent.errors import ModelUnavailable
from agent.ledger import Account, Period, Price, Summary, price
from agent.ledger.turn import Turn as Ours
from agent.ledger.turn import day
from agent.meter import CLOSING, PriceUnknown
from agent.models.metering import ANSWER
from agent.offline.history import problems
from agent.offline.script import ScriptedCall, Turn, UsageFigures
from tests.graph.conftest import Agent
from tests.graph.workbench import Log

pytestmark = pytest.mark.anyio

MODEL = "openai:gpt-5-mini"
PRICE = price(MODEL) or Price(0, 0)


def used(tokens_in: int, tokens_out: int) -> UsageFigures:
    return UsageFigures(prompt_tokens=tokens_in, completion_tokens=tokens_out)


def echo(text: str, *, usage: UsageFigures | None = None) -> Turn:
    call = ScriptedCall(name="bench_echo", args={"text": text})
    return Turn(content="", tool_calls=(call,), usage=usage or "counted")


def said(text: str, *, usage: UsageFigures | None = None) -> Turn:
    return Turn(content=text, usage=usage or "counted")


class Purse:
    """An agent of a tenant of its own, whose money nobody else spends."""

    def __init__(self, agent: Agent, *, model: str = MODEL, **changes: Any) -> None:
        self.agent = agent
        self.tenant = f"t{uuid.uuid4().hex[:12]}"
        self.choice = ModelChoice(name=model, base_url=agent.endpoint.url, max_tokens=500)
        self.changes = changes

    def context(self, **changes: Any) -> AgentContext:
        values: dict[str, Any] = {"tenant": self.tenant, "model": self.choice, **self.changes}
        return self.agent.context(**{**values, **changes})

    async def run(self, text: str, *, thread: str, **changes: Any) -> list[BaseMessage]:
        return await self.agent.run(text, thread=thread, context=self.context(**changes))

    async def account(self, thread: str) -> Account:
        """What the thread's only turn has used."""
        messages = await self.agent.messages(thread)
        turn = Ours(self.tenant, thread, str(messages[0].id), "support", "0" * 64, day(now()))
        found = await self.agent.ledger.budgets.account(turn, now=now())
        assert found is not None
        return found

    async def summary(self) -> list[Summary]:
        since = now().replace(hour=0, minute=0, second=0, microsecond=0)
        period = Period(since, now().replace(year=now().year + 1), tenant=self.tenant)
        return await self.agent.ledger.usage.summary(period)

    async def spent(self, *, assistant: str = "") -> int:
        return await self.agent.ledger.budgets.spent(self.tenant, day(now()), assistant=assistant)


def now() -> datetime:
    return datetime.now(UTC)


def place() -> str:
    return str(uuid.uuid4())


def stopped(message: BaseMessage) -> str:
    assert isinstance(message, AIMessage)
    return message.additional_kwargs["stopped"]["limit"]


async def test_what_a_turn_used_is_in_the_ledger_to_the_token(agent: Agent) -> None:
    purse, where = Purse(agent), place()
    talk = await agent.endpoint.script(echo("1", usage=used(1000, 20)), said("done", usage=used(1200, 30)))
    await purse.run(talk.says("go"), thread=where)
    account = await purse.account(where)
    cost = PRICE.cost(tokens_in=1000, tokens_out=20) + PRICE.cost(tokens_in=1200, tokens_out=30)
    assert (account.used.model_calls, account.used.tokens, account.used.micros) == (2, 2250, cost)
    assert account.used.steps == 3
    assert await purse.spent() == await purse.spent(assistant="support") == cost
    (row,) = await purse.summary()
    assert (row.model_calls, row.tokens_in, row.tokens_out, row.micros) == (2, 2200, 50, cost)
    assert (row.tool_calls, row.tool_failures, row.denials, row.estimated_calls) == (1, 0, 0, 0)
    assert (row.runs, row.turns, row.steps, row.model_failures) == (1, 1, 3, 0)
    assert sorted(row.p95_ms) == ["model", "tools"]


async def test_a_turn_out_of_tokens_ends_with_an_answer_that_says_so(agent: Agent, log: Log) -> None:
    """B-03: the closing call has no tools and is short; the next request is not sent."""
    purse, where = Purse(agent, limits={"tokens": 4000}), place()
    talk = await agent.endpoint.script(
        echo("1", usage=used(2400, 100)), said("This much.", usage=used(900, 9))
    )
    messages = await purse.run(talk.says("go"), thread=where)
    assert messages[-1].content == (
        "This much.\n\n[Stopped at the limit of 4000 tokens; nothing beyond the above was checked.]"
    )
    first, last = await talk.requests()
    assert "tools" in first.body
    assert "tools" not in last.body
    assert last.body["max_tokens"] == CLOSING
    assert [effect[1] for effect in log.effects] == ["1"]
    assert problems(last.body["messages"]) == []


async def test_a_budget_that_holds_no_closing_answer_sends_nothing_more(agent: Agent) -> None:
    """Invariant 6: the reason is the answer then."""
    purse, where = Purse(agent, limits={"tokens": 4000}), place()
    talk = await agent.endpoint.script(echo("1", usage=used(3900, 50)), said("never"))
    messages = await purse.run(talk.says("go"), thread=where)
    assert (
        messages[-1].content == "[Stopped at the limit of 4000 tokens; nothing beyond the above was checked.]"
    )
    assert stopped(messages[-1]) == "tokens"
    assert len(await talk.requests()) == 1
    again = await purse.run("and now?", thread=where)  # a new message is a new turn
    assert again[-1].content == "never"


async def test_the_money_of_a_turn_is_refused_before_the_call(agent: Agent) -> None:
    dollars = PRICE.cost(tokens_in=100_000, tokens_out=500) / 1e6
    purse, where = Purse(agent, limits={"usd_per_run": dollars}), place()
    talk = await agent.endpoint.script(echo("1", usage=used(101_000, 100)), said("never"))
    messages = await purse.run(talk.says("go"), thread=where)
    assert stopped(messages[-1]) == "usd_per_run"
    assert f"limit of {dollars:.12g} US dollars for one turn" in str(messages[-1].content)
    assert len(await talk.requests()) == 1


@pytest.mark.parametrize(
    ("limits", "name", "words"),
    [
        ({"usd_per_day": 0.01}, "usd_per_day", "US dollars a day for this assistant"),
        ({"tenant_usd_per_day": 0.01}, "tenant_usd_per_day", "US dollars a day for your organisation"),
    ],
)
async def test_a_day_s_money_is_gone_for_every_thread(
    agent: Agent, limits: dict[str, float], name: str, words: str
) -> None:
    """Nothing is sent on a new thread either, and nobody else's day is touched."""
    purse = Purse(agent, limits=limits)
    first = await agent.endpoint.script(said("Here.", usage=used(36_000, 400)))
    assert (await purse.run(first.says("go"), thread=place()))[-1].content == "Here."
    second = await agent.endpoint.script(said("never"))
    messages = await purse.run(second.says("go"), thread=place())
    assert (stopped(messages[-1]), await second.requests()) == (name, [])
    assert words in str(messages[-1].content)
    other = Purse(agent, limits=limits)
    third = await agent.endpoint.script(said("Mine.", usage=used(10, 5)))
    assert (await other.run(third.says("go"), thread=place()))[-1].content == "Mine."


async def test_a_tenant_s_day_counts_over_its_assistants_and_an_assistant_s_does_not(agent: Agent) -> None:
    purse = Purse(agent)
    talk = await agent.endpoint.script(said("Here.", usage=used(36_000, 400)))
    await purse.run(talk.says("go"), thread=place())
    own = await agent.endpoint.script(said("Own."))
    context = {"assistant": "other", "limits": {"usd_per_day": 0.01}}
    assert (await purse.run(own.says("go"), thread=place(), **context))[-1].content == "Own."
    shared = await agent.endpoint.script(said("never"))
    context = {"assistant": "other", "limits": {"tenant_usd_per_day": 0.01}}
    messages = await purse.run(shared.says("go"), thread=place(), **context)
    assert (stopped(messages[-1]), await shared.requests()) == ("tenant_usd_per_day", [])


async def test_of_runs_that_race_on_the_last_cent_one_is_refused(agent: Agent) -> None:
    """Invariant 6: what is reserved is spent; here it holds one answer and one closing answer."""
    purse = Purse(agent, limits={"usd_per_day": 0.0019})
    talks = [
        await agent.endpoint.script(Turn(content="Here.", usage=used(10, 10), gate="go")) for _ in range(3)
    ]
    runs = [asyncio.create_task(purse.run(talk.says("go"), thread=place())) for talk in talks]
    done, waiting = await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED, timeout=20)
    (refused,) = done
    assert len(waiting) == 2
    assert str((await refused)[-1].content).startswith("[Stopped at the limit of 0.0019 US dollars a day")
    for talk, run in zip(talks, runs, strict=True):
        sent = 0 if run is refused else 1
        assert len(await talk.requests(wait_for=sent)) == sent
        if sent:
            await talk.open("go")
    assert all([str((await run)[-1].content).startswith("Here.") for run in waiting])


async def test_a_model_without_a_price_is_not_asked_when_money_is_limited(agent: Agent) -> None:
    purse = Purse(agent, model="openai:nobody-knows", limits={"usd_per_day": 100})
    talk = await agent.endpoint.script(said("never"))
    with pytest.raises(PriceUnknown, match=r"'openai:nobody-knows' has no known price.*SIGNALBOX_PRICES"):
        await purse.run(talk.says("go"), thread=place())
    assert await talk.requests() == []


async def test_a_model_without_a_price_answers_when_money_is_not_limited(agent: Agent) -> None:
    purse, where = Purse(agent, model="openai:nobody-knows", limits={"tokens": 10_000}), place()
    talk = await agent.endpoint.script(said("Here.", usage=used(100, 10)))
    assert (await purse.run(talk.says("go"), thread=where))[-1].content == "Here."
    account = await purse.account(where)
    assert (account.used.tokens, account.used.micros) == (110, 0)


async def test_refused_attempts_count_as_calls_and_cost_nothing(agent: Agent) -> None:
    """Retries count; what an endpoint refuses is not paid for."""
    purse, where = Purse(agent), place()
    talk = await agent.endpoint.script(Turn(status=401, error="no"), said("Here.", usage=used(100, 10)))
    with pytest.raises(ModelUnavailable):
        await purse.run(talk.says("go"), thread=where)
    account = await purse.account(where)
    assert (account.used.model_calls, account.used.tokens, account.used.steps) == (1, 0, 0)
    (row,) = await purse.summary()
    assert (row.model_calls, row.model_failures, row.tokens_in) == (1, 1, 0)


async def test_an_answer_that_broke_off_is_charged_at_what_was_reserved(agent: Agent) -> None:
    """Nobody knows what an endpoint charges for half an answer, so it is not assumed to be nothing."""
    purse, where = Purse(agent), place()
    cut = [Turn(content="half an answer", cut_after_chunks=1)] * 3
    talk = await agent.endpoint.script(*cut)
    with pytest.raises(ModelUnavailable):
        await purse.run(talk.says("go"), thread=where)
    account = await purse.account(where)
    assert account.used.model_calls == 3
    assert account.used.tokens > 3 * 500
    assert account.held.model_calls == 0


async def test_a_cancelled_run_is_charged_at_what_was_reserved(agent: Agent) -> None:
    purse, where = Purse(agent), place()
    talk = await agent.endpoint.script(Turn(content="slow", gate="never"))
    running = asyncio.create_task(purse.run(talk.says("go"), thread=where))
    await talk.requests(wait_for=1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    account = await purse.account(where)
    assert account.used.model_calls == 1
    assert account.used.tokens > 500
    (row,) = await purse.summary()
    assert (row.model_calls, row.model_failures, row.estimated_calls) == (1, 1, 1)


async def test_an_answer_of_unknown_length_is_reserved_for(agent: Agent) -> None:
    """Without a bound of the assistant's, a usual answer must still fit."""
    choice = ModelChoice(name=MODEL, base_url=agent.endpoint.url)
    purse = Purse(agent, limits={"tokens": ANSWER})
    talk = await agent.endpoint.script(said("short", usage=used(100, 10)))
    messages = await purse.run(talk.says("go"), thread=place(), model=choice)
    assert stopped(messages[-1]) == "tokens"  # the closing answer was bounded, and fitted
    assert (await talk.requests())[0].body["max_tokens"] == CLOSING


async def test_an_endpoint_without_usage_is_counted_by_estimate(agent: Agent) -> None:
    """Case 86: budgets never see zero."""
    purse, where = Purse(agent), place()
    talk = await agent.endpoint.script(said("Hello there."), no_usage=True)
    await purse.run(talk.says("go"), thread=where)
    account = await purse.account(where)
    assert account.used.tokens > 20
    (row,) = await purse.summary()
    assert (row.model_calls, row.estimated_calls) == (1, 1)
    assert row.tokens_in + row.tokens_out == account.used.tokens


async def test_a_summary_is_paid_from_the_same_budget(agent: Agent) -> None:
    """The middleware's own calls count, under a node of their own."""
    purse, where = Purse(agent, compaction=Compaction(max_tokens=600, keep_recent=1)), place()
    turns = [said("word " * 200, usage=used(10, 10)) for _ in range(12)]
    talk = await agent.endpoint.script(*turns)
    for number in range(5):
        await purse.run(f"{talk.says('go')} {number}" if not number else f"more {number}", thread=where)
    (row,) = await purse.summary()
    assert row.model_calls == len(await talk.requests()) > 5
    assert set(row.p95_ms) == {"model", "summary"}


async def test_a_turn_that_took_its_time_ends_with_an_answer(agent: Agent, log: Log) -> None:
    """`seconds`: checked before each request; the closing answer may still be made."""
    purse, where = Purse(agent, limits={"seconds": 0.15}), place()
    talk = await agent.endpoint.script(
        Turn(content="", tool_calls=(ScriptedCall(name="bench_slow", args={}),)), said("Slowly.")
    )
    messages = await purse.run(talk.says("go"), thread=where)
    assert str(messages[-1].content).startswith("Slowly.\n\n[Stopped at the limit of 0.15 seconds")
    assert stopped(messages[-1]) == "seconds"


async def test_tool_calls_are_counted_in_the_ledger_once_each(agent: Agent) -> None:
    purse, where = Purse(agent, limits={"tool_calls": 5}), place()
    talk = await agent.endpoint.script(echo("1"), echo("2"), said("done"))
    await purse.run(talk.says("go"), thread=where)
    assert (await purse.account(where)).used.tool_calls == 2
