from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from agent.context import AgentContext, ArgumentLimit
from agent.errors import ToolFailure
from agent.ledger import (
    Approval,
    Decided,
    Entry,
    Ledger,
    Period,
    Result,
    Summary,
    arguments_digest,
)
from agent.proposal import carry_out
from agent.tools.registry import Registry, ToolCall
from tests.unit.agent.contexts import RELEASE, context
from tests.unit.ledger.samples import NOON, asking, later, saying

pytestmark = pytest.mark.anyio

ASKED = {"order": 7, "amount": 150.0}


@dataclass
class World:
    """What the tools did outside."""

    refunds: list[tuple[int, float, ToolCall]] = field(default_factory=list[tuple[int, float, ToolCall]])
    failure: Exception | None = None
    slow: asyncio.Event | None = None
    under_way: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def registry(world: World) -> Registry:
    registry = Registry()

    @registry.tool("orders.refund", risk="write", timeout=0.1)
    async def refund(order: int, amount: Annotated[float, Field(gt=0)], *, call: ToolCall) -> dict[str, Any]:
        """Refund an order."""
        world.refunds.append((order, amount, call))
        world.under_way.set()
        if world.slow is not None:
            await world.slow.wait()
        if world.failure is not None:
            raise world.failure
        return {"refund": "R-1"}

    assert callable(refund)
    return registry


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[Ledger]:
    ledger = Ledger(f"sqlite+aiosqlite:///{tmp_path}/ledger.db")
    yield ledger
    await ledger.dispose()


def serving(**changes: Any) -> AgentContext:
    """The context of the release that proposed."""
    return context(**{"tools": ("orders.refund",), **changes})


class Desk:
    """Proposals of an unattended run, and who decides on them and has them carried out."""

    def __init__(self, ledger: Ledger, registry: Registry, world: World) -> None:
        self.ledger, self.registry, self.world = ledger, registry, world

    async def propose(self, decision: str = "approve", *, edited: Any = None, **changes: Any) -> Approval:
        asked = asking(interrupt=None, release=RELEASE, arguments=ASKED, **changes)
        record = await self.ledger.approvals.request(asked)
        ruling = await self.ledger.approvals.decide(
            asked.tenant, record.id, saying(decision, edited=edited), now=NOON
        )
        assert isinstance(ruling, Decided)
        return ruling.approval

    async def carry_out(self, record: Approval, given: AgentContext | None = None) -> str:
        return await carry_out(
            record,
            given or serving(),
            registry=self.registry,
            ledger=self.ledger,
            now=later(minutes=5),
        )

    async def refused(self, record: Approval, given: AgentContext | None = None) -> str:
        with pytest.raises(ToolFailure) as raised:
            await self.carry_out(record, given)
        return raised.value.detail

    async def entry(self) -> Entry:
        return (await self.ledger.audit.read("acme"))[-1]

    async def summary(self) -> Summary:
        (found,) = await self.ledger.usage.summary(Period(NOON, later(hours=1)))
        return found

    async def untouched(self) -> bool:
        """Whether nothing was executed and the approval was not consumed."""
        actions = {entry.action for entry in await self.ledger.audit.read("acme")}
        return not self.world.refunds and actions <= {
            "approval.requested",
            "approval.approved",
            "approval.edited",
            "approval.rejected",
        }


@pytest.fixture
def desk(ledger: Ledger, registry: Registry, world: World) -> Desk:
    return Desk(ledger, registry, world)


FACTS = ToolCall(tenant="acme", principal="acme/u1", thread="t1", call_id="call1")


async def test_an_approved_proposal_is_carried_out_once_as_the_one_who_asked(
    desk: Desk, world: World
) -> None:
    record = await desk.propose()
    assert json.loads(await desk.carry_out(record)) == {"refund": "R-1"}
    assert world.refunds == [(7, 150.0, FACTS)]
    after = await desk.ledger.approvals.get("acme", record.id)
    assert after is not None
    assert (after.consumed_key, after.consumed_at) == ("acme:t1:call1", later(minutes=5))


async def test_what_was_carried_out_is_on_record_with_the_person_who_decided(desk: Desk) -> None:
    record = await desk.propose()
    text = await desk.carry_out(record)
    stored = await desk.ledger.results.get("acme", thread="t1", call_id="call1")
    assert stored == Result(text, "ok", len(text), later(minutes=5))
    entry = await desk.entry()
    assert (entry.action, entry.actor) == ("proposal.carried_out", "acme/u2")
    assert (entry.assistant, entry.release, entry.thread) == ("support", RELEASE, "t1")
    assert (entry.turn, entry.run) == ("m1", "run1")
    assert entry.values == {"approval": record.id, "tool": "orders.refund", "outcome": "ok"}
    found = await desk.summary()
    assert (found.tool_calls, found.tool_failures, found.denials) == (1, 0, 0)
    assert list(found.p95_ms) == ["proposal"]


async def test_an_edited_proposal_is_carried_out_as_edited(desk: Desk, world: World) -> None:
    record = await desk.propose("edit", edited={"order": 7, "amount": 120})
    await desk.carry_out(record)
    assert world.refunds == [(7, 120.0, FACTS)]


async def test_said_again_it_is_the_same_effect(desk: Desk, world: World) -> None:
    """The key is the same, by which the service behind the tool knows the effect again."""
    record = await desk.propose()
    await desk.carry_out(record)
    await desk.carry_out(record)
    assert [call.key for _, _, call in world.refunds] == ["acme:t1:call1"] * 2


@pytest.mark.parametrize("decision", ["reject", "none"])
async def test_what_nobody_approved_is_not_carried_out(desk: Desk, decision: str) -> None:
    if decision == "reject":
        record = await desk.propose("reject")
    else:
        asked = asking(interrupt=None, release=RELEASE, arguments=ASKED)
        record = await desk.ledger.approvals.request(asked)
    said = await desk.refused(record)
    assert said == "The proposal to call orders.refund is not approved; nothing was executed."
    assert await desk.untouched()


async def test_a_record_that_says_more_than_the_ledger_counts_for_nothing(desk: Desk) -> None:
    """The record that is handed over is not trusted: the ledger's own is."""
    record = await desk.propose()
    forged = replace(record, edited={"order": 7, "amount": 900.0}, state="edited")
    assert "is not approved" in await desk.refused(forged)
    other = replace(record, request=replace(record.request, call_id="call2"))
    assert "is not approved" in await desk.refused(other)
    assert await desk.untouched()


async def test_an_approval_that_was_consumed_elsewhere_is_gone(desk: Desk, world: World) -> None:
    record = await desk.propose()
    assert await desk.ledger.approvals.granted(
        "acme",
        thread="t1",
        turn="m1",
        call_id="call1",
        digest=arguments_digest(ASKED),
        release=RELEASE,
        key="elsewhere",
        now=NOON,
    )
    assert "is not approved" in await desk.refused(record)
    assert world.refunds == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tenant": "globex"}, "belongs to another assistant"),
        ({"assistant": "other"}, "belongs to another assistant"),
        ({"release": "1" * 64}, "release has changed since this was proposed"),
        ({"tools": ()}, "There is no tool 'orders_refund' here. You have no tools; answer without."),
        (
            {"tool_limits": {"orders.refund": {"amount": ArgumentLimit(maximum=149)}}},
            "orders.refund: argument 'amount' must be at most 149; it was not executed.",
        ),
    ],
)
async def test_the_policy_of_the_release_that_serves_holds(
    desk: Desk, given: dict[str, Any], said: str
) -> None:
    record = await desk.propose()
    assert said in await desk.refused(record, serving(**given))
    assert await desk.untouched()


@pytest.mark.parametrize("edited", [{"order": 7, "amount": -1}, {"order": 7}, {"order": 7, "amount": "lots"}])
async def test_edited_arguments_against_the_schema_are_not_carried_out(
    desk: Desk, edited: dict[str, Any]
) -> None:
    record = await desk.propose("edit", edited=edited)
    assert (await desk.refused(record)).startswith("orders.refund was not executed. amount: ")
    assert await desk.untouched()


async def test_a_tool_that_the_deployment_no_longer_has_is_not_carried_out(desk: Desk) -> None:
    record = await desk.propose()
    desk.registry = Registry()
    assert "There is no tool 'orders_refund' here" in await desk.refused(record)
    assert await desk.untouched()


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        (ToolFailure("Order 7 is unknown."), "tool_failed", "Order 7 is unknown."),
        (
            RuntimeError("password=hunter2"),
            "tool_failed",
            "orders.refund failed; its outcome is unknown. Do not guess a result.",
        ),
    ],
)
async def test_a_failure_is_told_in_words_and_recorded(
    desk: Desk, world: World, failure: Exception, code: str, said: str
) -> None:
    world.failure = failure
    record = await desk.propose()
    assert await desk.refused(record) == said
    stored = await desk.ledger.results.get("acme", thread="t1", call_id="call1")
    assert stored is not None
    assert (stored.outcome, json.loads(stored.text)) == (code, {"error": code, "message": said})
    assert (await desk.entry()).values["outcome"] == code
    assert (await desk.summary()).tool_failures == 1


async def test_a_tool_that_takes_too_long_is_given_up_and_its_outcome_unknown(
    desk: Desk, world: World
) -> None:
    world.slow = asyncio.Event()
    record = await desk.propose()
    said = await desk.refused(record)
    assert said == "orders.refund did not finish within 0.1 s; its outcome is unknown."
    assert (await desk.entry()).values["outcome"] == "tool_timeout"


async def test_what_a_tool_did_is_recorded_although_nobody_waits_for_it_any_more(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The approver's connection is gone between the effect and its record."""
    record = await desk.propose()
    write, at_it, may_go, done = desk.ledger.ended, asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def held_up(*given: Any, **more: Any) -> None:
        at_it.set()
        await may_go.wait()
        await write(*given, **more)
        done.set()

    monkeypatch.setattr(desk.ledger, "ended", held_up)
    working = asyncio.create_task(desk.carry_out(record))
    await at_it.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    may_go.set()
    await done.wait()
    assert (await desk.entry()).action == "proposal.carried_out"
    assert (await desk.summary()).tool_calls == 1
