from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from agent import gate, limits
from agent.context import Limits
from agent.ledger import (
    DENIALS,
    Ledger,
    LedgerRefused,
    ModelUse,
    Period,
    Reservation,
    Spend,
    Summary,
    ToolUse,
    Turn,
)
from tests.unit.ledger.samples import NOON, asking, later, saying, turn

pytestmark = pytest.mark.anyio

HOUR = Period(since=NOON, until=later(hours=1))
MODEL = ModelUse("run1", "model", "gpt-5-mini", 1000, 50, estimated=False, micros=350, latency_ms=800)
TOOL = ToolUse("run1", "tools", "call1", "orders.get", "read", latency_ms=20)


async def model(ledger: Ledger, of: Turn | None = None, *, at: datetime = NOON, **changes: Any) -> None:
    await ledger.usage.model(of or turn(), replace(MODEL, **changes), at=at)


async def tool(ledger: Ledger, of: Turn | None = None, *, at: datetime = NOON, **changes: Any) -> None:
    await ledger.usage.tool(of or turn(), replace(TOOL, **changes), at=at)


def summary(**figures: Any) -> Summary:
    names = Summary.__dataclass_fields__
    values: dict[str, Any] = dict.fromkeys(names, 0)
    values |= {"tenant": "acme", "assistant": "support", "release": "r1", "p95_ms": {}}
    return Summary(**{**values, **figures})


async def test_nothing_used_is_no_summary(ledger: Ledger) -> None:
    assert await ledger.usage.summary(HOUR) == []


async def test_calls_add_up(ledger: Ledger) -> None:
    await model(ledger)
    await model(ledger, estimated=True, outcome="rate_limited", tokens_out=0, micros=0, run="run2")
    await tool(ledger)
    await tool(ledger, turn("m2"), outcome="tool_failed")
    await tool(ledger, outcome="tool_timeout", latency_ms=10_000)
    await tool(ledger, turn("m2", thread="t2"), outcome="tool_denied")
    await tool(ledger, risk="unknown", outcome="approval_proposed", latency_ms=1)
    assert await ledger.usage.summary(HOUR) == [
        summary(
            runs=2,
            turns=3,
            model_calls=2,
            model_failures=1,
            tokens_in=2000,
            tokens_out=50,
            estimated_calls=1,
            micros=350,
            tool_calls=5,
            tool_failures=2,
            denials=2,
            p95_ms={"model": 800, "tools": 10_000},
        )
    ]


REFUSALS = {
    limits.REPEATED,
    limits.CALLS_USED,
    limits.QUESTIONS_USED,
    gate.REJECTED,
    gate.EXPIRED,
    gate.PROPOSED,
    gate.WITHDRAWN,
}
"""The codes with which the data plane refuses a call: none may count as a failure of its tool."""


async def test_what_a_rule_or_person_kept_from_running_is_a_denial_and_no_failure(ledger: Ledger) -> None:
    assert {"tool_denied", "argument_denied", "approval_rejected", *REFUSALS} <= DENIALS
    for outcome in DENIALS:
        await tool(ledger, outcome=outcome)
    (found,) = await ledger.usage.summary(HOUR)
    assert (found.tool_calls, found.denials, found.tool_failures) == (len(DENIALS), len(DENIALS), 0)


async def test_figures_are_apart_by_tenant_assistant_and_release(ledger: Ledger) -> None:
    turns = [
        turn(),
        turn(release="r2"),
        turn(assistant="handbook"),
        turn(tenant="globex"),
    ]
    for number, of in enumerate(turns):
        await model(ledger, of, micros=2**number)
    found = {(one.tenant, one.assistant, one.release): one.micros for one in await ledger.usage.summary(HOUR)}
    assert list(found.items()) == [
        (("acme", "handbook", "r1"), 4),
        (("acme", "support", "r1"), 1),
        (("acme", "support", "r2"), 2),
        (("globex", "support", "r1"), 8),
    ]


FILTERS: list[tuple[dict[str, str], list[int]]] = [
    ({"tenant": "acme"}, [4, 1, 2]),
    ({"tenant": "globex"}, [8]),
    ({"tenant": "initech"}, []),
    ({"assistant": "support"}, [1, 2, 8]),
    ({"tenant": "acme", "assistant": "support", "release": "r2"}, [2]),
]


async def test_a_period_can_be_one_tenants_assistants_or_releases(ledger: Ledger) -> None:
    turns = [turn(), turn(release="r2"), turn(assistant="handbook"), turn(tenant="globex")]
    for number, of in enumerate(turns):
        await model(ledger, of, micros=2**number)
        await tool(ledger, of, latency_ms=2**number)
    found = [await ledger.usage.summary(replace(HOUR, **filtered)) for filtered, _ in FILTERS]
    expected = [figures for _, figures in FILTERS]
    assert [[one.micros for one in summaries] for summaries in found] == expected
    assert [[one.p95_ms["tools"] for one in summaries] for summaries in found] == expected


async def test_a_period_begins_with_its_start_and_ends_before_its_end(ledger: Ledger) -> None:
    moments = [later(microseconds=-1), NOON, later(minutes=59), later(hours=1)]
    for number, at in enumerate(moments):
        await model(ledger, at=at, micros=10**number)
        await tool(ledger, at=at)
    (found,) = await ledger.usage.summary(HOUR)
    assert (found.micros, found.model_calls, found.tool_calls) == (110, 2, 2)


async def test_interrupts_and_their_decisions_are_counted(ledger: Ledger) -> None:
    decisions: list[Any] = ["approve", "edit", "approve", "reject", None, None]
    for number, decision in enumerate(decisions):
        approval = await ledger.approvals.request(asking(call_id=f"call{number}"))
        if decision is not None:
            edited = {"amount": 1} if decision == "edit" else None
            await ledger.approvals.decide("acme", approval.id, saying(decision, edited=edited), now=NOON)
    await ledger.approvals.request(asking(call_id="late", created_at=later(hours=1)))
    (found,) = await ledger.usage.summary(HOUR)
    assert found == summary(interrupts=6, approved=3, rejected=1)
    assert found.approval_rate == 0.75


async def test_without_a_decision_there_is_no_approval_rate(ledger: Ledger) -> None:
    await ledger.approvals.request(asking())
    (found,) = await ledger.usage.summary(HOUR)
    assert (found.interrupts, found.approval_rate) == (1, None)


async def test_super_steps_are_those_of_the_periods_turns(ledger: Ledger) -> None:
    for identity, now in [("m1", NOON), ("m2", later(minutes=5)), ("m3", later(hours=2))]:
        held = await ledger.budgets.reserve(turn(identity), spend=Spend(steps=7), limits=Limits(), now=now)
        assert isinstance(held, Reservation)
    assert await ledger.usage.summary(HOUR) == [summary(steps=14)]


async def test_the_95th_percentile_is_the_nearest_rank_of_each_node(ledger: Ledger) -> None:
    chance = random.Random(7)  # noqa: S311 - a sample, not a secret
    latencies = {
        f"n{size}": [chance.randrange(10_000) for _ in range(size)] for size in (1, 2, 19, 20, 21, 40)
    }
    for node, values in latencies.items():
        for number, latency in enumerate(values):
            await (model if number % 2 else tool)(ledger, node=node, latency_ms=latency)
    (found,) = await ledger.usage.summary(HOUR)
    assert found.p95_ms == {
        node: sorted(values)[math.ceil(0.95 * len(values)) - 1] for node, values in latencies.items()
    }


@pytest.mark.parametrize("name", ["tokens_in", "tokens_out", "micros", "latency_ms"])
def test_no_amount_of_a_model_call_is_negative(name: str) -> None:
    with pytest.raises(LedgerRefused, match="'gpt-5-mini'"):
        replace(MODEL, **{name: -1})


def test_no_latency_of_a_tool_call_is_negative() -> None:
    with pytest.raises(LedgerRefused, match=r"'orders\.get'"):
        replace(TOOL, latency_ms=-1)
