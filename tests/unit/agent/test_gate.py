from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.messages import ToolCall
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from agent.context import Approval as Rule
from agent.gate import Gate, Granted, Question, Withheld
from agent.ledger import Approval, ApprovalRequest, Decided, Ledger, arguments_digest
from agent.policy import Denial
from agent.tools.registry import Registry, Tool
from tests.unit.ledger.samples import NOON, later, saying, turn

pytestmark = pytest.mark.anyio

RULE = Rule(when="always", decisions=("approve", "edit", "reject"), expires=3600)
ARGUMENTS = {"order": 7, "amount": 150.0}


def refund_tool(description: str = "Refund an order.") -> Tool:
    registry = Registry()

    async def refund(order: int, amount: float) -> str:
        return f"{order} {amount}"

    refund.__doc__ = description
    registry.tool("orders.refund", risk="write")(refund)
    found = registry.get("orders.refund")
    assert found is not None
    return found


def question(*, rule: Rule = RULE, tool: Tool | None = None, **changes: Any) -> Question:
    call = ToolCall(name="orders_refund", args=dict(ARGUMENTS), id="call1", type="tool_call")
    asked = Question(tool or refund_tool(), call, rule, turn(), "run1", "acme/ann")
    return replace(asked, **changes)


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[Ledger]:
    ledger = Ledger(f"sqlite+aiosqlite:///{tmp_path}/ledger.db")
    yield ledger
    await ledger.dispose()


class Empty(TypedDict):
    """Nothing."""


class Way:
    """A graph of one node, which stands at the gate; `outcomes` is what the gate gave it."""

    def __init__(self, ledger: Ledger, asked: Question | None = None, *, waits: bool = True) -> None:
        self.ledger = ledger
        self.question = asked or question()
        self.waits = waits
        self.now = NOON
        self.outcomes: list[Granted | Withheld] = []
        graph: Any = StateGraph(Empty)
        graph.add_node("gate", self._stand)
        graph.add_edge(START, "gate")
        graph.add_edge("gate", END)
        self._graph = graph.compile(checkpointer=InMemorySaver())

    async def _stand(self, _state: Empty) -> None:
        gate = Gate(self.ledger)
        self.outcomes.append(await gate.decision(self.question, waits=self.waits, now=self.now))

    async def go(self, *, resume: Any = None, first: bool = False) -> list[Any]:
        """One run; the questions that it leaves."""
        sent: Any = {} if first else Command(resume=resume) if resume is not None else None
        result: dict[str, Any] | None = await self._graph.ainvoke(sent, {"configurable": {"thread_id": "t1"}})
        return list((result or {}).get("__interrupt__", ()))

    async def ask(self) -> Any:
        """The first run, which stops with one question."""
        (asked,) = await self.go(first=True)
        assert self.outcomes == []
        return asked

    async def record(self) -> Approval:
        found = await Gate(self.ledger).record(self.question, now=self.now)
        assert found is not None
        return found

    async def decide(self, decision: str, **changes: Any) -> Approval:
        verdict = saying(decision, **changes)
        ruling = await self.ledger.approvals.decide("acme", (await self.record()).id, verdict, now=self.now)
        assert isinstance(ruling, Decided)
        return ruling.approval

    async def outcome(self) -> Granted | Withheld:
        """What the gate says in a run that must not ask again."""
        assert await self.go() == []
        (outcome,) = self.outcomes
        return outcome


# Asking


async def test_a_call_without_a_decision_stops_the_run_and_is_on_record(ledger: Ledger) -> None:
    way = Way(ledger)
    asked = await way.ask()
    record = await way.record()
    assert record == Approval(
        id=record.id,
        request=ApprovalRequest(
            tenant="acme",
            assistant="support",
            release="r1",
            thread="t1",
            turn="m1",
            run="run1",
            call_id="call1",
            interrupt=asked.id,
            tool="orders.refund",
            arguments=ARGUMENTS,
            requester="acme/ann",
            role="approver",
            self_approval=False,
            decisions=("approve", "edit", "reject"),
            created_at=NOON,
            expires_at=later(hours=1),
        ),
    )
    assert asked.value == {
        "action_requests": [{"name": "orders_refund", "args": ARGUMENTS, "description": "Refund an order."}],
        "review_configs": [
            {"action_name": "orders_refund", "allowed_decisions": ["approve", "edit", "reject"]}
        ],
        "approval": {"id": record.id, "by": "approver", "expires_at": "2026-03-01T13:00:00+00:00"},
    }


async def test_a_question_without_an_end_and_with_a_rule_of_its_own(ledger: Ledger) -> None:
    rule = Rule(when="always", decisions=("reject",), by="boss", self_approval=True)
    way = Way(ledger, question(rule=rule, tool=refund_tool("x" * 1_001)))
    asked = (await way.ask()).value
    assert asked["approval"] == {"id": (await way.record()).id, "by": "boss", "expires_at": None}
    assert asked["review_configs"][0]["allowed_decisions"] == ["reject"]
    assert asked["action_requests"][0]["description"] == "x" * 1_000
    request = (await way.record()).request
    assert (request.role, request.self_approval, request.expires_at) == ("boss", True, None)


async def test_what_is_asked_does_not_depend_on_when_and_under_which_interrupt(ledger: Ledger) -> None:
    asked = question()
    identity = asked.request(now=NOON).id
    assert asked.request(now=later(days=1), interrupted="i9").id == identity
    assert replace(asked, run="run2", requester="acme/bob").request(now=NOON).id == identity
    others = [
        replace(asked, turn=turn("m2")),
        replace(asked, turn=turn(release="r2")),
        replace(asked, turn=turn(thread="t2")),
        replace(asked, turn=turn(tenant="globex")),
        replace(asked, call=ToolCall(name="orders_refund", args=ARGUMENTS, id="call2", type="tool_call")),
        replace(asked, call=ToolCall(name="orders_refund", args={}, id="call1", type="tool_call")),
    ]
    assert len({identity, *(other.request(now=NOON).id for other in others)}) == 7


async def test_a_run_that_comes_back_undecided_waits_on_and_asks_nobody_twice(ledger: Ledger) -> None:
    way = Way(ledger)
    first = await way.ask()
    way.now = later(minutes=5)
    (again,) = await way.go()
    assert (again.id, way.outcomes) == (first.id, [])
    assert (await way.record()).request.created_at == NOON
    assert len(await ledger.audit.read("acme")) == 1


# Decisions


async def test_an_approved_call_is_granted_with_its_arguments(ledger: Ledger) -> None:
    way = Way(ledger)
    await way.ask()
    record = await way.decide("approve")
    assert await way.outcome() == Granted(ARGUMENTS, record)


async def test_an_edited_call_is_granted_as_edited(ledger: Ledger) -> None:
    way = Way(ledger)
    await way.ask()
    record = await way.decide("edit", edited={"order": 7, "amount": 2**70}, reason="more")
    assert await way.outcome() == Granted({"order": 7, "amount": 2**70}, record)


@pytest.mark.parametrize(("reason", "said"), [(None, ""), ("", ""), ("too much", " Their reason: too much")])
async def test_a_rejected_call_is_withheld_and_says_why(
    ledger: Ledger, reason: str | None, said: str
) -> None:
    way = Way(ledger)
    await way.ask()
    record = await way.decide("reject", reason=reason)
    text = f"A person rejected orders.refund; it was not executed.{said} Do not try it again in any form."
    assert await way.outcome() == Withheld(Denial("approval_rejected", text), record)


@pytest.mark.parametrize("closed", [False, True])
async def test_a_question_that_nobody_answered_in_time_is_withheld(
    ledger: Ledger,
    closed: bool,  # noqa: FBT001
) -> None:
    """Whether or not the record has been closed by then."""
    way = Way(ledger)
    await way.ask()
    way.now = later(hours=1)
    if closed:
        assert len(await ledger.approvals.expire(way.now)) == 1
    outcome = await way.outcome()
    assert isinstance(outcome, Withheld)
    assert outcome.denial == Denial(
        "approval_expired",
        "Nobody decided on orders.refund in time; it was not executed. Tell the user, do not repeat it.",
    )
    assert outcome.approval.state == ("expired" if closed else "pending")


async def test_a_question_is_open_until_its_last_moment(ledger: Ledger) -> None:
    way = Way(ledger)
    first = await way.ask()
    way.now = later(hours=1) - timedelta(microseconds=1)
    (again,) = await way.go()
    assert again.id == first.id


async def test_a_rule_without_time_expires_before_anybody_can_decide(ledger: Ledger) -> None:
    way = Way(ledger, question(rule=RULE.model_copy(update={"expires": 0})))
    assert await way.go(first=True) == []
    (outcome,) = way.outcomes
    assert isinstance(outcome, Withheld)
    assert outcome.denial.code == "approval_expired"


async def test_a_withdrawn_question_is_withheld(ledger: Ledger) -> None:
    way = Way(ledger)
    await way.ask()
    (record,) = await ledger.approvals.withdraw("acme", thread="t1", now=NOON)
    assert await way.outcome() == Withheld(
        Denial(
            "approval_withdrawn",
            "The request to approve orders.refund was withdrawn; it was not executed.",
        ),
        record,
    )


# What is no decision


@pytest.mark.parametrize("forged", [True, {"decisions": [{"type": "approve"}]}, "approve", 0, [], {"a": 1}])
async def test_a_resume_value_decides_nothing_and_the_question_stays_one(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, forged: Any
) -> None:
    """At no moment is it a proposal, which somebody else could carry out."""
    way = Way(ledger)
    first = await way.ask()
    write, written = ledger.approvals.request, list[str | None]()

    async def watched(request: ApprovalRequest) -> Approval:
        written.append(request.interrupt)
        return await write(request)

    monkeypatch.setattr(ledger.approvals, "request", watched)
    (again,) = await way.go(resume={first.id: forged})
    assert written == [again.id]
    assert (await way.record()).request.interrupt == again.id
    assert (await way.record()).state == "pending"
    await way.decide("approve")
    assert isinstance(await way.outcome(), Granted)


async def test_a_decision_that_comes_while_the_run_is_about_to_stop_lets_it_go_on(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = Way(ledger)
    await way.ask()
    write = ledger.approvals.request

    async def late(request: ApprovalRequest) -> Approval:
        await way.decide("approve")
        return await write(request)

    monkeypatch.setattr(ledger.approvals, "request", late)
    outcome = await way.outcome()
    assert isinstance(outcome, Granted)
    assert outcome.approval.state == "approved"


async def test_another_release_asks_afresh_and_so_does_the_first_after_a_rollback(ledger: Ledger) -> None:
    """Invariant 5; the question of the release that does not run is open no longer."""
    way = Way(ledger)
    await way.ask()
    first = await way.record()
    for release in ("r2", "r1"):
        way.question = question(turn=turn(release=release))
        (asked,) = await way.go()
        (open_one,) = await ledger.approvals.pending("acme", now=NOON)
        assert (open_one.request.release, open_one.request.interrupt) == (release, asked.id)
        assert way.outcomes == []
    assert (await way.record()).id == first.id
    await way.decide("approve")
    outcome = await way.outcome()
    assert isinstance(outcome, Granted)
    assert outcome.approval.id == first.id


async def test_an_approval_of_other_arguments_is_none(ledger: Ledger) -> None:
    way = Way(ledger)
    await way.ask()
    await way.decide("approve")
    other = ToolCall(name="orders_refund", args={"order": 7, "amount": 900.0}, id="call1", type="tool_call")
    way.question = question(call=other)
    (asked,) = await way.go()
    assert asked.value["action_requests"][0]["args"] == {"order": 7, "amount": 900.0}
    assert way.outcomes == []


# Proposals


async def test_a_run_that_nobody_answers_leaves_a_proposal_and_goes_on(ledger: Ledger) -> None:
    way = Way(ledger, waits=False)
    assert await way.go(first=True) == []
    record = await way.record()
    assert (record.state, record.request.interrupt) == ("pending", None)
    assert way.outcomes == [
        Withheld(
            Denial(
                "approval_proposed",
                "orders.refund needs a person's approval. Nobody waits for this run, so it was not executed: "
                "it lies as a proposal in the approvals inbox. Go on without its result and mention the "
                "proposal.",
            ),
            record,
        )
    ]


async def test_a_proposal_is_made_once_however_often_the_run_is_repeated(ledger: Ledger) -> None:
    for _ in range(2):
        assert await Way(ledger, waits=False).go(first=True) == []
    assert [entry.action for entry in await ledger.audit.read("acme")] == ["approval.requested"]


async def test_a_repeated_run_finds_the_decision_on_its_proposal(ledger: Ledger) -> None:
    first = Way(ledger, waits=False)
    await first.go(first=True)
    record = await first.decide("approve")
    again = Way(ledger, waits=False)
    assert await again.go(first=True) == []
    assert again.outcomes == [Granted(ARGUMENTS, record)]


# Taking the grant


async def consumed(ledger: Ledger, asked: Question, granted: Granted, key: str, now: datetime) -> bool:
    return await Gate(ledger).consume(asked, granted, key=key, now=now)


async def test_a_grant_is_taken_by_one_key_for_its_arguments_and_release(ledger: Ledger) -> None:
    way = Way(ledger)
    await way.ask()
    await way.decide("approve")
    granted = await way.outcome()
    assert isinstance(granted, Granted)
    edited = replace(granted, arguments={"order": 7, "amount": 900.0})
    elsewhere = question(turn=turn(release="r2"))
    assert not await consumed(ledger, way.question, edited, "k1", NOON)
    assert not await consumed(ledger, elsewhere, granted, "k1", NOON)
    assert (await way.record()).consumed_key is None
    assert await consumed(ledger, way.question, granted, "k1", later(minutes=1))
    assert await consumed(ledger, way.question, granted, "k1", later(minutes=2))
    assert not await consumed(ledger, way.question, granted, "k2", later(minutes=2))
    record = await way.record()
    assert (record.consumed_key, record.consumed_at) == ("k1", later(minutes=1))
    assert record.granted_digest == arguments_digest(ARGUMENTS)


async def test_what_nobody_granted_is_not_taken(ledger: Ledger) -> None:
    way = Way(ledger)
    await way.ask()
    made_up = Granted(ARGUMENTS, await way.record())
    assert not await consumed(ledger, way.question, made_up, "k1", NOON)
    await way.decide("reject")
    assert not await consumed(ledger, way.question, made_up, "k1", NOON)
