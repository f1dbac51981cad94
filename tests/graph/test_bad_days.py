"""Days on which something breaks: the endpoint, the ledger, a release in between, a tool's own code."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from unittest.mock import patch

import pytest
from pydantic import AfterValidator

from agent.context import ModelChoice
from agent.errors import ModelUnavailable
from agent.ledger import Approval, Ledger
from agent.ledger.database import LedgerUnavailable
from agent.models import Models
from agent.offline.script import ScriptedCall, Turn
from agent.proposal import carry_out
from agent.tools.registry import Registry
from tests.graph.conftest import Agent
from tests.graph.test_approvals import Desk, calls, now, paid, pay, questions, said
from tests.graph.test_budgets import Purse, place, used
from tests.graph.test_budgets import echo as echoing
from tests.graph.test_budgets import said as saying
from tests.graph.workbench import Log

pytestmark = pytest.mark.anyio

DOWN = Turn(status=503, error="down", headers={"retry-after-ms": "1"})


@asynccontextmanager
async def dying(ledger: Ledger) -> AsyncGenerator[None]:
    """The process dies after a tool has worked and before the ledger knows."""

    async def dead(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("killed")

    with patch.object(ledger, "ended", dead), pytest.raises(RuntimeError, match="killed"):
        yield


# Releases that change while a thread waits


async def test_a_write_runs_after_its_siblings_were_decided_under_two_releases(
    agent: Agent, log: Log
) -> None:
    """What was executed under the release before is over; the write must not wait for it for ever."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(
        calls(pay(100, "call_a"), pay(200, "call_b"), pay(5, "call_w")), Turn(content="All done.")
    )
    first = questions(await desk.say(talk.says("go")))
    records = {record.request.call_id: record for record in await desk.pending()}
    await desk.decide(records["call_a"], "approve")
    await desk.resume({first[100]: {"decisions": []}})
    assert paid(log) == [100.0]
    other = desk.context.model_copy(update={"release": "1" * 64})
    again = questions(await desk.resume(context=other))
    assert list(again) == [200]
    (left,) = await desk.pending()
    await desk.decide(left, "approve")
    done = await desk.resume({again[200]: {"decisions": []}}, context=other)
    assert paid(log) == [100.0, 200.0, 5.0]
    assert done["messages"][-1].content == "All done."


async def test_after_a_rollback_the_release_that_asked_first_asks_again(agent: Agent, log: Log) -> None:
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_a")), Turn(content="Paid."))
    await desk.say(talk.says("go"))
    other = desk.context.model_copy(update={"release": "1" * 64})
    assert list(questions(await desk.resume(context=other))) == [100]
    assert list(questions(await desk.resume())) == [100]
    assert [record.request.release for record in await desk.pending()] == ["0" * 64]
    assert log.effects == []


async def test_what_may_have_happened_under_the_release_before_is_not_called_undone(
    agent: Agent, log: Log
) -> None:
    """Approved, executed, killed; the next release asks afresh and a message withdraws that question."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p")), Turn(content="I will check."))
    first = questions(await desk.say(talk.says("go")))
    await desk.decide((await desk.pending())[0], "approve")
    async with dying(agent.ledger):
        await desk.resume({first[100]: {"decisions": []}})
    assert paid(log) == [100.0]
    desk.context = desk.context.model_copy(update={"release": "1" * 64})
    assert list(questions(await desk.resume())) == [100]
    await agent.ledger.approvals.withdraw("acme", thread=desk.thread, now=now())
    done = await desk.say("never mind")
    assert said(done["messages"])["call_p"]["error"] == "outcome_unknown"
    assert paid(log) == [100.0]


# Proposals


async def proposed(agent: Agent) -> tuple[Desk, Approval]:
    """An approved proposal of a schedule's run."""
    agent.unattended = True
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p")), Turn(content="Proposed."))
    await desk.say(talk.says("go"))
    await desk.decide((await desk.pending())[0], "approve")
    return desk, await desk.of("call_p")


async def test_the_result_of_a_proposal_takes_the_place_of_its_refusal(agent: Agent, log: Log) -> None:
    desk, record = await proposed(agent)
    text = await carry_out(record, desk.context, registry=agent.registry, ledger=agent.ledger, now=now())
    assert json.loads(text) == {"paid": 100.0}
    found = await agent.ledger.results.get("acme", thread=desk.thread, call_id="call_p")
    assert found is not None
    assert (found.text, found.outcome) == (text, "ok")
    assert log.effects == [("pay", 100.0, f"acme:{desk.thread}:call_p")]


async def test_a_proposal_whose_run_died_is_still_called_one(agent: Agent) -> None:
    agent.unattended = True
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p")), Turn(content="It is proposed."))
    async with dying(agent.ledger):
        await desk.say(talk.says("go"))
    done = await desk.say("and?")
    assert said(done["messages"])["call_p"]["error"] == "approval_proposed"
    assert len(await desk.pending()) == 1


# Endpoints


@pytest.mark.parametrize(
    ("limits", "turns"),
    [
        ({"model_calls": 2}, [DOWN] * 3),
        ({"steps": 1, "model_calls": 1}, [DOWN] * 3),
        ({"tokens": 3500}, [Turn(content="half an answer", cut_after_chunks=1)] * 3),
    ],
)
async def test_an_outage_is_no_answer_although_the_budget_is_small(
    agent: Agent, limits: dict[str, int], turns: list[Turn]
) -> None:
    """Its attempts use the budget up; what went wrong is the endpoint all the same."""
    purse = Purse(agent, limits=limits)
    talk = await agent.endpoint.script(*turns)
    with pytest.raises(ModelUnavailable, match="The endpoint of model"):
        await purse.run(talk.says("go"), thread=place())


async def test_a_fallback_without_a_price_is_passed_over(agent: Agent) -> None:
    purse = Purse(agent, limits={"usd_per_day": 100})
    fallbacks = ("openai:nobody-knows", "openai:gpt-5-nano")
    purse.choice = purse.choice.model_copy(update={"fallbacks": fallbacks})
    talk = await agent.endpoint.script(DOWN, DOWN, DOWN, saying("nano here"))
    messages = await purse.run(talk.says("go"), thread=place())
    assert messages[-1].content == "nano here"
    assert [request.body["model"] for request in await talk.requests()] == ["gpt-5-mini"] * 3 + ["gpt-5-nano"]


async def test_a_fallback_without_a_price_does_not_hide_what_the_model_failed_of(agent: Agent) -> None:
    purse = Purse(agent, limits={"usd_per_day": 100})
    purse.choice = purse.choice.model_copy(update={"fallbacks": ("openai:nobody-knows",)})
    talk = await agent.endpoint.script(DOWN, DOWN, DOWN)
    with pytest.raises(ModelUnavailable, match=r"The endpoint of model 'openai:gpt-5-mini' failed"):
        await purse.run(talk.says("go"), thread=place())
    assert len(await talk.requests()) == 3


async def test_an_endpoint_that_can_t_be_reached_costs_nothing(agent: Agent) -> None:
    purse, where = Purse(agent), place()
    purse.choice = purse.choice.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    with pytest.raises(ModelUnavailable, match="could not be reached"):
        await purse.run("hi", thread=where)
    used_up = (await purse.account(where)).used
    assert (used_up.model_calls, used_up.tokens, used_up.micros) == (3, 0, 0)


async def test_what_is_kept_back_serves_the_closing_answer_whatever_limit_was_reached(agent: Agent) -> None:
    purse = Purse(agent, limits={"steps": 3, "tokens": 9000})
    purse.choice = ModelChoice(name="openai:gpt-5-mini", base_url=agent.endpoint.url, max_tokens=3000)
    talk = await agent.endpoint.script(
        echoing("1", usage=used(3500, 2600)), saying("This much.", usage=used(900, 9))
    )
    messages = await purse.run(talk.says("go"), thread=place())
    assert str(messages[-1].content).startswith("This much.\n\n[Stopped at the limit of 3 steps")


async def test_first_uses_at_once_build_one_client(agent: Agent) -> None:
    models, choice = Models(), ModelChoice(name="openai:herd", base_url=agent.endpoint.url, timeout=61.5)
    found = await asyncio.gather(*(models.get(choice) for _ in range(8)))
    assert len({id(client) for client in found}) == 1


async def test_a_client_on_the_custom_stream_learns_why_a_turn_ends(agent: Agent) -> None:
    talk = await agent.endpoint.script(echoing("1"), saying("This much."))
    parts = [part async for part in agent.custom(talk.says("go"), limits={"steps": 3})]
    reason = "[Stopped at the limit of 3 steps; nothing beyond the above was checked.]"
    assert parts == [{"type": "stopped", "limit": "steps", "text": reason}]


# The ledger and the tools


async def test_without_its_ledger_a_run_says_so_and_asks_nobody(
    agent: Agent, registry: Registry, tmp_path: Path
) -> None:
    """It fails closed, in words that name no host, file or statement."""
    ledger = Ledger(f"sqlite+aiosqlite:///{tmp_path}/gone/ledger.db")
    other = Agent(registry, agent.endpoint, ledger)
    talk = await other.endpoint.script(Turn(content="never"))
    await ledger.open()
    await ledger.dispose()
    shutil.rmtree(tmp_path / "gone")
    with pytest.raises(LedgerUnavailable) as caught:
        await other.run(talk.says("go"), thread=place())
    assert str(caught.value) == (
        "The ledger's database can't be reached, so nothing more is done. Try again later. "
        "[ledger_unavailable]"
    )
    assert await talk.requests() == []
    await ledger.dispose()


def broken(value: str) -> str:
    raise KeyError(value)


async def test_a_validator_that_breaks_does_not_end_the_run(agent: Agent, registry: Registry) -> None:
    async def odd(text: Any) -> str:
        """Say."""
        return str(text)

    odd.__annotations__ = {"text": Annotated[str, AfterValidator(broken)], "return": str}
    registry.tool("bench.odd", risk="read")(odd)
    other = Agent(registry, agent.endpoint, agent.ledger)
    call = ScriptedCall(name="bench_odd", args={"text": "a"}, id="call_o")
    talk = await other.endpoint.script(calls(call), Turn(content="ok"))
    messages = await other.run(talk.says("go"), thread=place(), context=other.context(tools=("bench.odd",)))
    assert said(messages)["call_o"]["error"] == "arguments_invalid"
    assert messages[-1].content == "ok"
