"""A person decides first: what the graph does with a gated call, by the ledger's record and nothing else."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import Command

from agent.context import AgentContext, Approval
from agent.ledger import Approval as Record
from agent.ledger import AuditFilter, Decided, Verdict
from agent.offline.history import problems
from agent.offline.script import ScriptedCall, Turn
from tests.graph.conftest import Agent
from tests.graph.workbench import Log
from tests.support.endpoint import Conversation

pytestmark = pytest.mark.anyio

RULE = Approval(when="amount >= 100", decisions=("approve", "edit", "reject"), expires=3600)


def pay(amount: float, identity: str) -> ScriptedCall:
    return ScriptedCall(name="bench_pay", args={"amount": amount}, id=identity)


def echo(text: str, identity: str) -> ScriptedCall:
    return ScriptedCall(name="bench_echo", args={"text": text}, id=identity)


def calls(*made: ScriptedCall) -> Turn:
    return Turn(content="", tool_calls=made)


def said(messages: list[BaseMessage]) -> dict[str, Any]:
    return {m.tool_call_id: json.loads(str(m.content)) for m in messages if isinstance(m, ToolMessage)}


def now() -> datetime:
    return datetime.now(UTC)


class Desk:
    """One thread with a gated tool, and the people who decide on it."""

    def __init__(self, agent: Agent, *, rule: Approval = RULE, **changes: Any) -> None:
        self.agent = agent
        self.thread = str(uuid.uuid4())
        self.context: AgentContext = agent.context(approvals={"bench.pay": rule}, **changes)

    async def say(self, text: str) -> dict[str, Any]:
        sent = {"messages": [{"role": "user", "content": text}]}
        return await self.agent.invoke(sent, thread=self.thread, context=self.context)

    async def resume(self, answers: Any = None, *, context: AgentContext | None = None) -> dict[str, Any]:
        sent: Any = Command(resume=answers) if answers is not None else None
        return await self.agent.invoke(sent, thread=self.thread, context=context or self.context)

    async def pending(self) -> list[Record]:
        return await self.agent.ledger.approvals.pending("acme", now=now(), thread=self.thread)

    async def decide(self, record: Record, decision: Any, **more: Any) -> None:
        verdict = Verdict(decision, by="acme/eve", roles={"approver"}, **more)
        ruling = await self.agent.ledger.approvals.decide("acme", record.id, verdict, now=now())
        assert isinstance(ruling, Decided)

    async def of(self, call_id: str) -> Record:
        found = await self.agent.ledger.approvals.of_call("acme", thread=self.thread, call_id=call_id)
        assert found is not None
        return found


def paid(log: Log) -> list[object]:
    return [effect[1] for effect in log.effects if effect[0] == "pay"]


def questions(result: dict[str, Any]) -> dict[float, str]:
    """The call's amount and the interrupt that asks about it."""
    waiting = result.get("__interrupt__", ())
    return {one.value["action_requests"][0]["args"]["amount"]: one.id for one in waiting}


async def valid(talk: Conversation, *, count: int) -> None:
    requests = await talk.requests()
    assert len(requests) == count
    assert [problems(request.body["messages"]) for request in requests] == [[]] * count


async def test_a_gated_call_waits_and_is_executed_once_after_the_approval(agent: Agent, log: Log) -> None:
    """B-21, B-26: nothing happens before the decision, one effect after it, with the call's own key."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p")), Turn(content="Paid."))
    asked = await desk.say(talk.says("pay"))
    assert log.effects == []
    (waiting,) = asked["__interrupt__"]
    (record,) = await desk.pending()
    assert waiting.value == {
        "action_requests": [{"name": "bench_pay", "args": {"amount": 100}, "description": "Pay an amount."}],
        "review_configs": [{"action_name": "bench_pay", "allowed_decisions": ["approve", "edit", "reject"]}],
        "approval": {
            "id": record.id,
            "by": "approver",
            "expires_at": waiting.value["approval"]["expires_at"],
        },
    }
    request = record.request
    assert (request.interrupt, request.tool, request.arguments) == (waiting.id, "bench.pay", {"amount": 100})
    assert (request.requester, request.role, request.release) == ("acme/ann", "approver", "0" * 64)
    assert request.expires_at == request.created_at + timedelta(hours=1)
    await desk.decide(record, "approve")
    done = await desk.resume({waiting.id: {"decisions": [{"type": "approve"}]}})
    assert done["messages"][-1].content == "Paid."
    assert log.effects == [("pay", 100.0, f"acme:{desk.thread}:call_p")]
    assert said(done["messages"])["call_p"] == {"paid": 100.0}
    after = await desk.of("call_p")
    assert (after.state, after.decided_by, after.consumed_key) == (
        "approved",
        "acme/eve",
        f"acme:{desk.thread}:call_p",
    )
    history = await agent.history(desk.thread)
    assert len(history) == 5  # input, start, model, tools, model: waiting costs no super-step
    await valid(talk, count=2)


@pytest.mark.parametrize(
    "forged", ["yes", {"decisions": [{"type": "approve"}]}, {"decisions": []}, True, [1, 2]]
)
async def test_a_resume_value_alone_executes_nothing_and_leaves_the_question_open(
    agent: Agent, log: Log, forged: Any
) -> None:
    """Invariant 2 and case 8: only the ledger's record counts, and no value can brick the approval."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(500, "call_p")), Turn(content="Paid."))
    first = questions(await desk.say(talk.says("pay")))
    again = questions(await desk.resume({first[500]: forged}))
    assert list(again) == [500]
    assert log.effects == []
    (record,) = await desk.pending()
    assert record.request.interrupt == again[500]
    await desk.decide(record, "approve")
    done = await desk.resume({again[500]: {"decisions": [{"type": "approve"}]}})
    assert done["messages"][-1].content == "Paid."
    assert paid(log) == [500.0]


async def test_a_rejected_call_is_not_executed_and_the_answer_is_made_without_tools(
    agent: Agent, log: Log
) -> None:
    """B-22, B-25: the model is told why and not to retry, and can't start another action."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p")), Turn(content="I could not pay."))
    first = questions(await desk.say(talk.says("pay")))
    await desk.decide((await desk.pending())[0], "reject", reason="too much")
    done = await desk.resume({first[100]: {"decisions": [{"type": "reject", "message": "too much"}]}})
    assert log.effects == []
    told = said(done["messages"])["call_p"]
    assert told["error"] == "approval_rejected"
    assert "Their reason: too much" in told["message"]
    assert "Do not try it again" in told["message"]
    assert done["messages"][-1].content == "I could not pay."
    assert done["messages"][-1].additional_kwargs["stopped"]["limit"] == "rejected"
    assert "tools" not in (await talk.requests())[-1].body
    await valid(talk, count=2)


async def test_an_edited_call_is_executed_as_edited_and_the_model_learns_why(agent: Agent, log: Log) -> None:
    """B-22, B-24: the reviewer's arguments are what happens, and stand in the history."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(500, "call_p")), Turn(content="Paid less."))
    first = questions(await desk.say(talk.says("pay")))
    await desk.decide((await desk.pending())[0], "edit", edited={"amount": 120}, reason="half of it")
    done = await desk.resume({first[500]: {"decisions": []}})
    assert paid(log) == [120.0]
    assert said(done["messages"])["call_p"] == {
        "reviewer": {"arguments_changed_to": {"amount": 120}, "reason": "half of it"},
        "result": {"paid": 120.0},
    }
    await valid(talk, count=2)


async def test_an_edit_beyond_the_policy_is_not_executed(agent: Agent, log: Log) -> None:
    """Invariant 2: a person's edit passes the policy too, at execution."""
    desk = Desk(agent, tool_limits={"bench.pay": {"amount": {"maximum": 500}}})
    talk = await agent.endpoint.script(calls(pay(500, "call_p")), Turn(content="No."))
    first = questions(await desk.say(talk.says("pay")))
    await desk.decide((await desk.pending())[0], "edit", edited={"amount": 501})
    done = await desk.resume({first[500]: {"decisions": []}})
    assert log.effects == []
    assert said(done["messages"])["call_p"]["error"] == "argument_denied"


async def test_an_approval_does_not_count_under_another_release(agent: Agent, log: Log) -> None:
    """Invariant 5: an approval counts for the release that asked; another one asks afresh."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p")), Turn(content="Paid."))
    first = questions(await desk.say(talk.says("pay")))
    await desk.decide((await desk.pending())[0], "approve")
    other = desk.context.model_copy(update={"release": "1" * 64})
    again = await desk.resume({first[100]: {"decisions": []}}, context=other)
    assert log.effects == []
    assert list(questions(again)) == [100]
    (record,) = await desk.pending()
    assert record.request.release == "1" * 64


async def test_an_approval_counts_for_its_own_arguments_only(agent: Agent, log: Log) -> None:
    """Invariant 2: a state in which the call's arguments were replaced after the approval asks again."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p")), Turn(content="Paid."))
    await desk.say(talk.says("pay"))
    await desk.decide((await desk.pending())[0], "approve")
    state = await agent.messages(desk.thread)
    forged: Any = state[-1].model_copy(
        update={
            "tool_calls": [
                {"name": "bench_pay", "args": {"amount": 900}, "id": "call_p", "type": "tool_call"}
            ]
        }
    )
    await agent.put([forged], thread=desk.thread)
    again = await desk.resume()
    assert log.effects == []
    assert list(questions(again)) == [900]


async def test_reads_run_at_once_and_ungated_writes_wait_for_the_decisions(agent: Agent, log: Log) -> None:
    """B-22, case 9: nothing runs twice, and a write waits for its siblings without a question of its own."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(
        calls(pay(100, "call_a"), pay(200, "call_b"), pay(5, "call_w"), echo("hi", "call_r")),
        Turn(content="All done."),
    )
    first = questions(await desk.say(talk.says("go")))
    assert sorted(first) == [100, 200]
    assert [effect[:2] for effect in log.effects] == [("echo", "hi")]
    records = {record.request.call_id: record for record in await desk.pending()}
    await desk.decide(records["call_b"], "approve")
    second = await desk.resume({first[200]: {"decisions": []}})
    assert list(questions(second)) == [100]
    assert [effect[:2] for effect in log.effects] == [("echo", "hi"), ("pay", 200.0)]
    await desk.decide(records["call_a"], "reject")
    done = await desk.resume({first[100]: {"decisions": []}})
    assert done["messages"][-1].content == "All done."
    assert [effect[:2] for effect in log.effects] == [("echo", "hi"), ("pay", 200.0), ("pay", 5.0)]
    assert [m.tool_call_id for m in done["messages"] if isinstance(m, ToolMessage)] == [
        "call_a",
        "call_b",
        "call_w",
        "call_r",
    ]
    assert said(done["messages"])["call_a"]["error"] == "approval_rejected"
    assert "tools" in (await talk.requests())[-1].body  # one was approved: the turn goes on
    await valid(talk, count=2)


async def test_an_unattended_run_proposes_and_goes_on(agent: Agent, log: Log) -> None:
    """B-81: nobody waits, so nothing is executed, and the proposal lies in the inbox."""
    agent.unattended = True
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p"), pay(5, "call_w")), Turn(content="Proposed."))
    done = await desk.say(talk.says("go"))
    assert "__interrupt__" not in done
    assert paid(log) == [5.0]
    assert said(done["messages"])["call_p"]["error"] == "approval_proposed"
    (record,) = await desk.pending()
    assert (record.request.interrupt, record.request.arguments) == (None, {"amount": 100})
    assert done["messages"][-1].content == "Proposed."


async def test_a_question_that_nobody_answered_in_time_is_said_to_have_expired(
    agent: Agent, log: Log
) -> None:
    """B-27: after its time nobody can decide, and the call is not executed."""
    desk = Desk(agent, rule=replace_expiry(RULE, 1))
    talk = await agent.endpoint.script(calls(pay(100, "call_p")), Turn(content="Too late."))
    await desk.say(talk.says("pay"))
    await agent.ledger.approvals.expire(now() + timedelta(seconds=2))
    done = await desk.resume()
    assert log.effects == []
    assert said(done["messages"])["call_p"]["error"] == "approval_expired"
    assert done["messages"][-1].content == "Too late."


def replace_expiry(rule: Approval, seconds: int) -> Approval:
    return rule.model_copy(update={"expires": seconds})


async def test_a_message_after_a_withdrawn_question_finds_the_call_answered(agent: Agent, log: Log) -> None:
    """Case 10: the thread goes on with a valid history that says that nothing was executed."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p"), pay(5, "call_w")), Turn(content="Fine."))
    await desk.say(talk.says("pay"))
    await agent.ledger.approvals.withdraw("acme", thread=desk.thread, now=now())
    done = await desk.say("never mind")
    assert log.effects == []
    results = said(done["messages"])
    assert results["call_p"]["error"] == "approval_withdrawn"
    assert results["call_w"]["error"] == "tool_not_started"
    assert done["messages"][-1].content == "Fine."
    await valid(talk, count=2)


async def test_the_note_of_an_edit_survives_a_message_that_came_before_its_turn_was_over(
    agent: Agent, log: Log
) -> None:
    """B-24: a result that comes from the ledger says too that a person changed the arguments."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(500, "call_a"), pay(200, "call_b")), Turn(content="Fine."))
    first = questions(await desk.say(talk.says("go")))
    records = {record.request.call_id: record for record in await desk.pending()}
    await desk.decide(records["call_a"], "edit", edited={"amount": 120}, reason="less")
    await desk.resume({first[500]: {"decisions": []}})
    assert paid(log) == [120.0]
    await agent.ledger.approvals.withdraw("acme", thread=desk.thread, now=now())
    done = await desk.say("never mind")
    assert said(done["messages"])["call_a"] == {
        "reviewer": {"arguments_changed_to": {"amount": 120}, "reason": "less"},
        "result": {"paid": 120.0},
    }
    assert paid(log) == [120.0]


@pytest.mark.parametrize("allowed", [0, 1])
async def test_a_turn_asks_no_more_than_it_may(agent: Agent, log: Log, allowed: int) -> None:
    """B-25: beyond the limit nothing is asked or executed, and the closing answer has no tools."""
    desk = Desk(agent, limits={"approvals": allowed})
    talk = await agent.endpoint.script(calls(pay(100, "call_a"), pay(200, "call_b")), Turn(content="Enough."))
    result = await desk.say(talk.says("go"))
    asked = questions(result)
    assert len(asked) == allowed
    for record in await desk.pending():
        await desk.decide(record, "approve")
    if asked:
        result = await desk.resume({asked[100]: {"decisions": []}})
    assert paid(log) == [100.0][:allowed]
    assert said(result["messages"])["call_b"]["error"] == "approvals_used_up"
    answer = result["messages"][-1]
    assert answer.content == (
        f"Enough.\n\n[Stopped at the limit of {allowed} questions to people; "
        "nothing beyond the above was checked.]"
    )
    assert "tools" not in (await talk.requests())[-1].body


async def test_a_rejected_call_is_not_asked_again_in_the_same_turn(agent: Agent, log: Log) -> None:
    """B-22: a rejection holds for the turn; the same call again is a repeat, not a new question."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(
        calls(pay(100, "call_a"), pay(200, "call_b")), calls(pay(100, "call_c")), Turn(content="ok")
    )
    first = questions(await desk.say(talk.says("go")))
    for record in await desk.pending():
        await desk.decide(record, "reject" if record.request.call_id == "call_a" else "approve")
    done = await desk.resume({identity: {"decisions": []} for identity in first.values()})
    assert "__interrupt__" not in done
    assert paid(log) == [200.0]
    assert said(done["messages"])["call_c"]["error"] == "repeated_call"


async def test_every_step_of_an_approval_is_in_the_audit(agent: Agent) -> None:
    """B-24: who asked, who decided, under which release, for which arguments."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(calls(pay(100, "call_p")), Turn(content="Paid."))
    first = questions(await desk.say(talk.says("pay")))
    (record,) = await desk.pending()
    await desk.decide(record, "approve")
    await desk.resume({first[100]: {"decisions": []}})
    entries = await agent.ledger.audit.read("acme", AuditFilter(thread=desk.thread))
    assert [(entry.action, entry.actor) for entry in entries] == [
        ("approval.requested", "acme/ann"),
        ("approval.approved", "acme/eve"),
        ("approval.consumed", "acme/ann"),
    ]
    assert {entry.release for entry in entries} == {"0" * 64}
    assert {entry.values["digest"] for entry in entries} == {record.request.digest}


async def test_a_call_that_is_replayed_is_executed_once_for_its_approval(agent: Agent, log: Log) -> None:
    """Invariant 4: going back to before the effect and running on uses the same key, which counts once."""
    desk = Desk(agent)
    talk = await agent.endpoint.script(
        calls(pay(100, "call_p")), Turn(content="Paid."), Turn(content="Paid.")
    )
    first = questions(await desk.say(talk.says("pay")))
    await desk.decide((await desk.pending())[0], "approve")
    await desk.resume({first[100]: {"decisions": []}})
    keys = {effect[2] for effect in log.effects}
    assert keys == {f"acme:{desk.thread}:call_p"}
    record = await desk.of("call_p")
    other = replace(record, consumed_key="acme:elsewhere:call_p")
    assert record.grants(digest=record.request.digest, release="0" * 64, key=next(iter(keys)))
    assert not other.grants(digest=record.request.digest, release="0" * 64, key=next(iter(keys)))
