"""Calls that the ledger knows and the thread does not: a process was killed before its checkpoint."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from agent.context import Limits
from agent.ledger import Reservation, Spend, call_key
from agent.ledger import Turn as Account
from agent.offline.script import ScriptedCall, Turn
from tests.graph.conftest import Agent
from tests.graph.test_approvals import said
from tests.graph.workbench import Log

pytestmark = pytest.mark.anyio


async def test_calls_that_the_thread_has_lost_still_count_for_the_turn(agent: Agent, log: Log) -> None:
    """Invariant 6, B-03: of three calls two were made before the kill, so one more is left and not three."""
    thread, question = str(uuid.uuid4()), str(uuid.uuid4())
    context = agent.context(limits=Limits(tool_calls=3))
    now = datetime.now(UTC)
    turn = Account.of(context, thread=thread, message=question, run="killed", now=now)
    for lost in ("call_lost_1", "call_lost_2"):
        counted = await agent.ledger.budgets.reserve(
            turn, spend=Spend(tool_calls=1), limits=context.limits, key=call_key(lost), now=now
        )
        assert isinstance(counted, Reservation)
    made = tuple(
        ScriptedCall(name="bench_pay", args={"amount": amount}, id=f"call_{amount}") for amount in (1, 2)
    )
    talk = await agent.endpoint.script(
        Turn(content="", tool_calls=made[:1]), Turn(content="", tool_calls=made[1:]), Turn(content="Enough.")
    )
    sent = {"messages": [{"role": "user", "content": talk.says("pay twice"), "id": question}]}
    done = await agent.invoke(sent, thread=thread, context=context)
    results = said(done["messages"])
    assert results["call_1"] == {"paid": 1.0}
    assert results["call_2"]["error"] == "tool_calls_used_up"
    assert [effect[1] for effect in log.effects] == [1.0]
    account = await agent.ledger.budgets.account(turn, now=now)
    assert account is not None
    assert account.used.tool_calls == 3
