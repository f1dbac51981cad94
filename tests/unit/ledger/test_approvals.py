from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.ledger import (
    AlreadyDecided,
    Approval,
    Decided,
    Expired,
    Intact,
    Ledger,
    Refused,
    arguments_digest,
)
from tests.unit.ledger.racing import race
from tests.unit.ledger.samples import NOON, asking, later, saying

pytestmark = pytest.mark.anyio


async def told(ledger: Ledger, tenant: str = "acme") -> list[tuple[str, str]]:
    """The audit entries as (action, actor); the chain holds."""
    entries = await ledger.audit.read(tenant)
    outcome = await ledger.audit.verify(tenant)
    assert isinstance(outcome, Intact)
    assert outcome.count == len(entries)
    return [(entry.action, entry.actor) for entry in entries]


async def granted(ledger: Ledger, **changes: Any) -> bool:
    asked: dict[str, Any] = {
        "thread": "t1",
        "turn": "m1",
        "call_id": "call1",
        "digest": asking().digest,
        "release": "r1",
        "key": "acme:t1:call1",
        "now": later(minutes=5),
        **changes,
    }
    return await ledger.approvals.granted(asked.pop("tenant", "acme"), **asked)


async def test_a_request_is_kept_with_everything_it_asks(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    assert approval == Approval(id=asking().id, request=asking())
    assert await ledger.approvals.get("acme", approval.id) == approval
    assert await ledger.approvals.pending("acme", now=NOON) == [approval]
    assert await told(ledger) == [("approval.requested", "acme/u1")]


async def test_asking_again_gives_the_same_record_and_tells_nothing_new(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    assert await ledger.approvals.request(asking(created_at=later(minutes=9), run="run2")) == approval
    assert await ledger.approvals.pending("acme", now=NOON) == [approval]
    assert len(await told(ledger)) == 1


async def test_a_replayed_graph_waits_under_its_new_interrupt(ledger: Ledger) -> None:
    first = await ledger.approvals.request(asking())
    again = await ledger.approvals.request(asking(interrupt="i2"))
    assert (again.id, again.request.interrupt) == (first.id, "i2")
    assert await ledger.approvals.pending("acme", now=NOON) == [again]


async def test_asking_again_after_the_decision_gives_the_decision(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    ruling = await ledger.approvals.decide("acme", approval.id, saying(), now=NOON)
    assert isinstance(ruling, Decided)
    assert await ledger.approvals.request(asking(interrupt="i2")) == ruling.approval


@pytest.mark.parametrize("change", [{"arguments": {"order": 1001, "amount": 1}}, {"release": "r2"}], ids=str)
async def test_other_arguments_or_another_release_ask_anew(ledger: Ledger, change: dict[str, Any]) -> None:
    first = await ledger.approvals.request(asking())
    second = await ledger.approvals.request(asking(created_at=later(minutes=2), **change))
    assert second.id != first.id
    assert await ledger.approvals.pending("acme", now=later(minutes=3)) == [second]
    old = await ledger.approvals.decide("acme", first.id, saying(), now=later(minutes=3))
    assert old == Refused("superseded")
    assert await told(ledger) == [
        ("approval.requested", "acme/u1"),
        ("approval.superseded", "signalbox"),
        ("approval.requested", "acme/u1"),
    ]


async def test_a_decision_is_not_superseded(ledger: Ledger) -> None:
    first = await ledger.approvals.request(asking())
    ruling = await ledger.approvals.decide("acme", first.id, saying(), now=NOON)
    await ledger.approvals.request(asking(arguments={}))
    assert isinstance(ruling, Decided)
    assert await ledger.approvals.get("acme", first.id) == ruling.approval


async def test_pending_requests_are_the_tenants_and_the_threads(ledger: Ledger) -> None:
    one = await ledger.approvals.request(asking())
    two = await ledger.approvals.request(asking(thread="t2", created_at=later(minutes=-1)))
    other = await ledger.approvals.request(asking(tenant="globex", requester="globex/u1"))
    assert await ledger.approvals.pending("acme", now=NOON) == [two, one]
    assert await ledger.approvals.pending("acme", now=NOON, thread="t1") == [one]
    assert await ledger.approvals.pending("globex", now=NOON) == [other]
    assert await ledger.approvals.pending("acme", now=NOON, thread="t9") == []


async def test_pending_requests_end_with_their_time_or_their_decision(ledger: Ledger) -> None:
    for_ever = await ledger.approvals.request(asking(call_id="call2", expires_at=None))
    await ledger.approvals.request(asking())
    assert len(await ledger.approvals.pending("acme", now=later(minutes=59))) == 2
    assert await ledger.approvals.pending("acme", now=later(hours=1)) == [for_ever]
    await ledger.approvals.decide("acme", for_ever.id, saying("reject"), now=later(hours=1))
    assert await ledger.approvals.pending("acme", now=later(hours=1)) == []


async def test_another_tenants_request_is_unknown(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    foreign = saying(by="globex/u2")
    assert await ledger.approvals.decide("globex", approval.id, foreign, now=NOON) == Refused("unknown")
    assert await ledger.approvals.decide("globex", "0" * 64, foreign, now=NOON) == Refused("unknown")
    assert await ledger.approvals.get("globex", approval.id) is None
    assert await ledger.approvals.get("acme", approval.id) == approval
    assert await told(ledger, "globex") == []
    assert len(await told(ledger)) == 1


async def test_a_decision_is_stored_and_told_with_who_and_what(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    edited = {"order": 1001, "amount": 2**60, "note": "half \ud800 pair \x00"}
    verdict = saying("edit", edited=edited, reason="too much 太多 \x00")
    ruling = await ledger.approvals.decide("acme", approval.id, verdict, now=later(minutes=3))
    expected = replace(
        approval,
        state="edited",
        decided_by="acme/u2",
        decided_at=later(minutes=3),
        edited=edited,
        granted_digest=arguments_digest(edited),
        reason="too much 太多 \x00",
    )
    assert ruling == Decided(expected)
    assert await ledger.approvals.get("acme", approval.id) == expected
    entry = (await ledger.audit.read("acme"))[-1]
    assert (entry.action, entry.actor, entry.release) == ("approval.edited", "acme/u2", "r1")
    assert entry.values == {
        "approval": approval.id,
        "call": "call1",
        "tool": "orders.refund",
        "digest": asking().digest,
        "granted": arguments_digest(edited),
    }
    assert "too much" not in str(entry)


async def test_a_refused_decision_changes_nothing(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    for verdict, reason in [
        (saying(roles=frozenset[str]()), "role"),
        (saying(by="acme/u1"), "self_approval"),
        (saying("edit"), "arguments"),
    ]:
        ruling = await ledger.approvals.decide("acme", approval.id, verdict, now=NOON)
        assert ruling == Refused(reason)  # pyright: ignore[reportArgumentType] - one of the reasons
    assert await ledger.approvals.get("acme", approval.id) == approval
    assert await told(ledger) == [("approval.requested", "acme/u1")]


async def test_the_second_decision_learns_of_the_first(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    first = await ledger.approvals.decide("acme", approval.id, saying("reject"), now=NOON)
    second = await ledger.approvals.decide("acme", approval.id, saying(by="acme/u3"), now=NOON)
    assert isinstance(first, Decided)
    assert second == AlreadyDecided(first.approval)
    assert await told(ledger) == [("approval.requested", "acme/u1"), ("approval.rejected", "acme/u2")]
    assert not await granted(ledger)


async def test_a_decision_that_comes_too_late_closes_the_request(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    closed = replace(approval, state="expired", decided_at=later(hours=2))
    assert await ledger.approvals.decide("acme", approval.id, saying(), now=later(hours=2)) == Expired(closed)
    assert await ledger.approvals.decide("acme", approval.id, saying(), now=later(hours=3)) == Expired(closed)
    assert await told(ledger) == [("approval.requested", "acme/u1"), ("approval.expired", "signalbox")]
    assert not await granted(ledger, now=later(hours=3))


async def test_expiring_closes_what_is_late_in_every_tenant_once(ledger: Ledger) -> None:
    late = [
        await ledger.approvals.request(asking()),
        await ledger.approvals.request(asking(tenant="globex", requester="globex/u1")),
    ]
    waiting = await ledger.approvals.request(asking(call_id="call2", expires_at=later(hours=9)))
    decided = await ledger.approvals.request(asking(call_id="call3"))
    await ledger.approvals.decide("acme", decided.id, saying(), now=NOON)
    assert await ledger.approvals.expire(later(minutes=59)) == []
    closed = await ledger.approvals.expire(later(hours=1))
    assert closed == [replace(entry, state="expired", decided_at=later(hours=1)) for entry in late]
    assert await ledger.approvals.expire(later(hours=1)) == []
    assert await ledger.approvals.get("acme", waiting.id) == waiting
    assert await told(ledger, "globex") == [
        ("approval.requested", "globex/u1"),
        ("approval.expired", "signalbox"),
    ]


async def test_a_call_runs_after_its_approval_and_not_before(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    assert not await granted(ledger)
    await ledger.approvals.decide("acme", approval.id, saying(), now=NOON)
    assert await granted(ledger)


async def test_an_approval_is_for_one_call_of_one_turn_under_one_release(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    await ledger.approvals.decide("acme", approval.id, saying(), now=NOON)
    others = {
        "tenant": "globex",
        "thread": "t2",
        "turn": "m2",
        "call_id": "call2",
        "digest": arguments_digest({"order": 1001, "amount": 151}),
        "release": "r2",
    }
    for name, value in others.items():
        assert not await granted(ledger, **{name: value}), name
    assert await granted(ledger), "a wrong question consumed nothing"


async def test_an_approval_is_consumed_for_one_idempotency_key(ledger: Ledger) -> None:
    """A crash between effect and checkpoint executes again under the same key; another is another effect."""
    approval = await ledger.approvals.request(asking())
    await ledger.approvals.decide("acme", approval.id, saying(), now=NOON)
    assert await granted(ledger)
    assert not await granted(ledger, key="acme:t1:call1:again")
    assert await granted(ledger, now=later(hours=5))
    found = await ledger.approvals.get("acme", approval.id)
    assert found is not None
    assert (found.consumed_at, found.consumed_key) == (later(minutes=5), "acme:t1:call1")
    assert [action for action, _ in await told(ledger)] == [
        "approval.requested",
        "approval.approved",
        "approval.consumed",
    ]


async def test_after_an_edit_only_the_edited_call_runs(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    edited = {"order": 1001, "amount": 20}
    await ledger.approvals.decide("acme", approval.id, saying("edit", edited=edited), now=NOON)
    assert not await granted(ledger)
    assert await granted(ledger, digest=arguments_digest(edited))


async def test_ids_that_a_model_chose_freely_work_all_the_same(ledger: Ledger) -> None:
    wild = "call \x00 \ud800" * 50
    approval = await ledger.approvals.request(asking(call_id=wild, thread="t \x00"))
    assert await ledger.approvals.request(asking(call_id=wild, thread="t \x00")) == approval
    assert await ledger.approvals.pending("acme", now=NOON, thread="t \x00") == [approval]
    await ledger.approvals.decide("acme", approval.id, saying(), now=NOON)
    assert await granted(ledger, call_id=wild, thread="t \x00")
    assert not await granted(ledger, call_id=wild + "x", thread="t \x00")


async def test_a_long_reason_is_cut(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    ruling = await ledger.approvals.decide("acme", approval.id, saying(reason="x" * 5000), now=NOON)
    assert isinstance(ruling, Decided)
    assert ruling.approval.reason == "x" * 2000


async def decide_all(ledger: Ledger, number: int) -> list[str]:
    """Decide ten requests; `yes` or who was first."""
    answers: list[str] = []
    for attempt in range(10):
        identity = asking(call_id=f"call{attempt}").id
        verdict = saying("approve" if number % 2 else "reject", by=f"acme/approver{number}")
        ruling = await ledger.approvals.decide("acme", identity, verdict, now=NOON)
        assert isinstance(ruling, Decided | AlreadyDecided)
        answers.append("yes" if isinstance(ruling, Decided) else str(ruling.approval.decided_by))
    return answers


async def test_of_four_approvers_at_once_one_decides_and_all_agree_who(url: str, ledger: Ledger) -> None:
    for attempt in range(10):
        await ledger.approvals.request(asking(call_id=f"call{attempt}"))
    answers = await race(decide_all, url, processes=4)
    for attempt in range(10):
        given = [found[attempt] for found in answers]
        winner = given.index("yes")
        assert given.count("yes") == 1
        assert {answer for answer in given if answer != "yes"} == {f"acme/approver{winner}"}
    assert len(await told(ledger)) == 20


async def ask_and_execute(ledger: Ledger, number: int) -> tuple[str, list[bool]]:
    approval = await ledger.approvals.request(asking(interrupt=f"i{number}"))
    ready = await ledger.approvals.request(asking(call_id="ready"))
    grants = [await granted(ledger, call_id="ready", key=f"key{number}") for _ in range(2)]
    return f"{approval.id} {ready.state}", grants


async def test_four_processes_ask_once_and_execute_once(url: str, ledger: Ledger) -> None:
    ready = await ledger.approvals.request(asking(call_id="ready"))
    await ledger.approvals.decide("acme", ready.id, saying(), now=NOON)
    answers = await race(ask_and_execute, url, processes=4)
    assert {identity for identity, _ in answers} == {f"{asking().id} approved"}
    assert sorted(grants for _, grants in answers) == [[False, False]] * 3 + [[True, True]]
    assert len(await ledger.approvals.pending("acme", now=NOON)) == 1
    assert sorted(action for action, _ in await told(ledger)) == [
        "approval.approved",
        "approval.consumed",
        "approval.requested",
        "approval.requested",
    ]
