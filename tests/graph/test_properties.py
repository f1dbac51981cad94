"""Invariants over random conversations at the endpoint: whatever is said, cut off, decided and broken.

Each example is a conversation with the real graph, ledger and HTTP: turns with up to four calls of every
kind, faults of the endpoint, cancels at any moment, decisions and none, messages in between.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agent.history.problems import problems as thread_problems
from agent.ledger import Approval
from agent.limits import code
from agent.models import Models
from agent.models.retry import Retry
from agent.offline.history import problems
from tests.graph.conftest import SECRET
from tests.graph.ordeal import SPARE, Ordeal, WatchedLedger
from tests.graph.plan import GATED_FROM, Plan, Step, plans
from tests.support.endpoint import Endpoint

pytestmark = pytest.mark.anyio

PERHAPS = frozenset({"outcome_unknown", "tool_failed", "tool_timeout"})
"""Codes of results that do not deny that the call had its effect."""


@pytest.fixture(scope="module")
async def watched(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[WatchedLedger]:
    database = tmp_path_factory.mktemp("watched") / "ledger.db"
    ledger = WatchedLedger(f"sqlite+aiosqlite:///{database.as_posix()}")
    await ledger.open()
    yield ledger
    await ledger.dispose()


async def at_once(_: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture(scope="module")
def models() -> Models:
    return Models(retry=Retry(sleep=at_once))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(plans)
async def test_whatever_happens_a_conversation_stays_whole_and_does_only_what_was_allowed(
    model_endpoint: Endpoint,
    watched: WatchedLedger,
    models: Models,
    monkeypatch: pytest.MonkeyPatch,
    plan: Plan,
) -> None:
    """Invariants 2, 3 and 4."""
    monkeypatch.setenv("SIGNALBOX_SERVER_SECRET", SECRET)
    ordeal = await Ordeal.begin(plan, model_endpoint, watched, models)
    for step in plan.steps:
        await ordeal.play(step)
        await holds(ordeal)
    for _ in range(len(plan.turns) + 1):
        await ordeal.play(Step("withdraw"))
        await holds(ordeal)
        if await ordeal.talk.left() < SPARE:
            break
    messages = await ordeal.messages()
    assert str(messages[-1].content).startswith("done.")
    assert (await ordeal.state()).next == ()


async def holds(ordeal: Ordeal) -> None:
    """What is true after every step."""
    await every_request_was_valid(ordeal)
    state = await ordeal.state()
    messages: list[BaseMessage] = state.values.get("messages", [])
    await two_reads_agree(ordeal, messages)
    if messages and not state.next:
        assert thread_problems(messages) == []
        answer = messages[-1]
        assert isinstance(answer, AIMessage)
        assert not answer.tool_calls
        assert str(answer.text).strip()
    nothing_is_done_twice(ordeal)
    nothing_done_is_denied(ordeal, messages)
    records = await ordeal.ledger.approvals.search("acme", thread=ordeal.thread)
    decisions_are_carried_out(ordeal, messages, records)
    writes_wait_for_decisions(ordeal, messages, records)


async def every_request_was_valid(ordeal: Ordeal) -> None:
    """Invariant 3, for each request that the endpoint saw, summaries and closing answers among them."""
    for request in await ordeal.talk.requests():
        assert problems(request.body["messages"]) == []
        assert request.refused is None


async def two_reads_agree(ordeal: Ordeal, messages: list[BaseMessage]) -> None:
    ids = [message.id for message in messages]
    assert all(ids)
    assert [message.id for message in await ordeal.messages()] == ids


def nothing_is_done_twice(ordeal: Ordeal) -> None:
    """Invariant 4: a key names one effect, which only a run that goes on after a cancel may ask for again."""
    writes = [effect for effect in ordeal.log.effects if effect[0] in ("pay", "send")]
    named = {key: (name, argument) for name, argument, key in writes}
    assert [(name, argument) for name, argument, key in writes if named[key] != (name, argument)] == []
    often = Counter(key for _, _, key in writes)
    assert all(times <= 1 + ordeal.resumed for times in often.values())


def nothing_done_is_denied(ordeal: Ordeal, messages: list[BaseMessage]) -> None:
    """What had an effect is never said to have had none, and nothing is said to be paid that was not."""
    writes = [effect for effect in ordeal.log.effects if effect[0] in ("pay", "send")]
    done = {key.rsplit(":", 1)[1]: argument for _, argument, key in writes}
    told = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    for call_id in done.keys() & told.keys():
        assert told[call_id].status == "success" or code(told[call_id]) in PERHAPS
    paid = {
        call_id: _paid(m) for call_id, m in told.items() if m.name == "bench_pay" and m.status == "success"
    }
    assert {call_id: amount for call_id, amount in paid.items() if done.get(call_id) != amount} == {}


def _paid(message: ToolMessage) -> object:
    content: dict[str, Any] = json.loads(str(message.content))
    return content.get("result", content)["paid"]


def decisions_are_carried_out(ordeal: Ordeal, messages: list[BaseMessage], records: list[Approval]) -> None:
    """Invariant 2: behind a gated effect stands a decision on this very amount, taken for this very key.

    And no decision is lost: what was granted is executed as it was granted, what was not is not.
    """
    granted = {
        (record.consumed_key, float((record.edited or record.request.arguments)["amount"]))
        for record in records
        if record.state in ("approved", "edited") and record.decided_by == "acme/eve"
    }
    asked = {record.request.call_id for record in records}
    for name, argument, key in ordeal.log.effects:
        if name != "pay":
            continue
        amount = float(str(argument))
        if amount >= GATED_FROM or key.rsplit(":", 1)[1] in asked:
            assert (key, amount) in granted
    told = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    for record in records:
        message = told.get(record.request.call_id)
        if message is None:
            continue
        assert code(message) != "approval_missing"
        if message.status == "success":
            assert record.state in ("approved", "edited")
            assert ("reviewer" in str(message.content)) is (record.state == "edited")


def writes_wait_for_decisions(ordeal: Ordeal, messages: list[BaseMessage], records: list[Approval]) -> None:
    """B-22: while a person has to decide on a call, no write of the same answer is executed."""
    waiting = {record.request.call_id for record in records if record.state == "pending"}
    done = {key.rsplit(":", 1)[1] for name, _, key in ordeal.log.effects if name in ("pay", "send")}
    for answer in messages:
        made = {call["id"] for call in answer.tool_calls} if isinstance(answer, AIMessage) else set[Any]()
        if made & waiting and not ordeal.agent.unattended:
            asked = {record.request.call_id for record in records}
            assert (made & done) - asked == set()
