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


# The newest record of a call, and lists


async def test_the_newest_record_of_a_call_is_the_one_that_counts(ledger: Ledger) -> None:
    await ledger.approvals.request(asking())
    newer = await ledger.approvals.request(asking(turn="m2", created_at=later(minutes=1)))
    await ledger.approvals.request(asking(call_id="call2", created_at=later(minutes=2)))
    assert await ledger.approvals.of_call("acme", thread="t1", call_id="call1") == newer
    for tenant, thread, call in (
        ("globex", "t1", "call1"),
        ("acme", "t2", "call1"),
        ("acme", "t1", "call9"),
    ):
        assert await ledger.approvals.of_call(tenant, thread=thread, call_id=call) is None


async def test_a_list_holds_what_matches_newest_first(ledger: Ledger) -> None:
    first = await ledger.approvals.request(asking())
    second = await ledger.approvals.request(
        asking(call_id="call2", interrupt="i2", created_at=later(minutes=1), requester="acme/u7")
    )
    elsewhere = await ledger.approvals.request(asking(thread="t2", created_at=later(minutes=2)))
    foreign = await ledger.approvals.request(
        asking(tenant="globex", requester="globex/u1", created_at=later(minutes=3))
    )
    ruling = await ledger.approvals.decide("acme", elsewhere.id, saying("reject"), now=later(minutes=4))
    assert isinstance(ruling, Decided)
    rejected, search = ruling.approval, ledger.approvals.search
    assert await search("acme") == [rejected, second, first]
    assert await search(None) == [foreign, rejected, second, first]
    assert await search("acme", thread="t1") == [second, first]
    assert await search("acme", requester="acme/u7") == [second]
    assert await search("acme", thread="t1", interrupts=["i1", "i9"]) == [first]
    assert await search("acme", states=["rejected"]) == [rejected]
    assert await search(None, states=["pending"]) == [foreign, second, first]
    assert await search("acme", interrupts=[]) == []
    assert await search("acme", limit=1) == [rejected]


async def test_without_a_tenant_any_tenants_request_is_found(ledger: Ledger) -> None:
    approval = await ledger.approvals.request(asking())
    assert await ledger.approvals.get(None, approval.id) == approval
    assert await ledger.approvals.get(None, "0" * 64) is None


# Several decisions at once


async def two(ledger: Ledger) -> tuple[Approval, Approval]:
    one = await ledger.approvals.request(asking())
    other = await ledger.approvals.request(asking(call_id="call2", interrupt="i2"))
    return one, other


async def test_several_decisions_are_taken_together(ledger: Ledger) -> None:
    one, other = await two(ledger)
    verdicts = {one.id: saying(), other.id: saying("reject", reason="no")}
    rulings = await ledger.approvals.decide_all("acme", verdicts, now=later(minutes=1))
    assert rulings == {
        one.id: Decided(await found(ledger, one)),
        other.id: Decided(await found(ledger, other)),
    }
    states = [
        ((await found(ledger, each)).state, (await found(ledger, each)).reason) for each in (one, other)
    ]
    assert states == [("approved", None), ("rejected", "no")]
    assert sorted((await told(ledger))[2:]) == [
        ("approval.approved", "acme/u2"),
        ("approval.rejected", "acme/u2"),
    ]


async def found(ledger: Ledger, approval: Approval) -> Approval:
    current = await ledger.approvals.get("acme", approval.id)
    assert current is not None
    return current


@pytest.mark.parametrize(
    "bad",
    [saying(by="acme/u1"), saying("edit"), saying(roles=frozenset[str]())],
    ids=["self", "no arguments", "role"],
)
async def test_one_decision_that_does_not_count_takes_all_with_it(ledger: Ledger, bad: Any) -> None:
    one, other = await two(ledger)
    rulings = await ledger.approvals.decide_all("acme", {one.id: saying(), other.id: bad}, now=NOON)
    assert isinstance(rulings[one.id], Decided)
    assert isinstance(rulings[other.id], Refused)
    assert await ledger.approvals.pending("acme", now=NOON) == sorted([one, other], key=lambda each: each.id)
    assert len(await told(ledger)) == 2
    again = await ledger.approvals.decide_all("acme", {one.id: saying(), other.id: saying()}, now=NOON)
    assert all(isinstance(ruling, Decided) for ruling in again.values())


async def test_an_unknown_or_a_foreign_request_takes_all_with_it(ledger: Ledger) -> None:
    one, _ = await two(ledger)
    foreign = await ledger.approvals.request(asking(tenant="globex", requester="globex/u1"))
    for identity in ("0" * 64, foreign.id):
        rulings = await ledger.approvals.decide_all("acme", {one.id: saying(), identity: saying()}, now=NOON)
        assert rulings[identity] == Refused("unknown")
    assert (await found(ledger, one)).state == "pending"
    assert await told(ledger, "globex") == [("approval.requested", "globex/u1")]


async def test_what_is_late_is_neither_decided_nor_closed_by_it(ledger: Ledger) -> None:
    one, _ = await two(ledger)
    rulings = await ledger.approvals.decide_all("acme", {one.id: saying()}, now=later(hours=2))
    assert isinstance(rulings[one.id], Expired)
    assert (await found(ledger, one)).state == "pending"


async def test_the_same_decision_again_is_accepted_and_written_once(ledger: Ledger) -> None:
    """A client whose run was refused afterwards (the thread was busy) sends the same answer again."""
    one, other = await two(ledger)
    edited = {"order": 1001, "amount": 20}
    first = await ledger.approvals.decide_all("acme", {one.id: saying("edit", edited=edited)}, now=NOON)
    both = {one.id: saying("edit", edited=edited, by="acme/u3"), other.id: saying()}
    second = await ledger.approvals.decide_all("acme", both, now=later(minutes=1))
    assert second[one.id] == first[one.id]
    assert (await found(ledger, one)).decided_by == "acme/u2"
    assert (await found(ledger, other)).state == "approved"
    different = {one.id: saying("reject")}
    third = await ledger.approvals.decide_all("acme", different, now=later(minutes=2))
    assert third == {one.id: AlreadyDecided(await found(ledger, one))}
    assert [action for action, _ in await told(ledger)] == [
        "approval.requested",
        "approval.requested",
        "approval.edited",
        "approval.approved",
    ]


# Withdrawn


async def test_a_new_message_withdraws_what_its_thread_waited_for(ledger: Ledger) -> None:
    one, other = await two(ledger)
    elsewhere = await ledger.approvals.request(asking(thread="t2"))
    proposal = await ledger.approvals.request(asking(call_id="call3", interrupt=None))
    closed = await ledger.approvals.withdraw("acme", thread="t1", now=later(minutes=1))
    assert {approval.id: approval.state for approval in closed} == {
        one.id: "withdrawn",
        other.id: "withdrawn",
    }
    waiting = await ledger.approvals.pending("acme", now=NOON)
    assert {approval.id for approval in waiting} == {elsewhere.id, proposal.id}
    assert (await told(ledger))[-2:] == [("approval.withdrawn", "signalbox")] * 2
    assert await ledger.approvals.withdraw("acme", thread="t1", now=later(minutes=2)) == []
    assert await ledger.approvals.withdraw("globex", thread="t2", now=later(minutes=2)) == []


async def test_only_what_is_named_is_withdrawn_and_no_decision(ledger: Ledger) -> None:
    one, other = await two(ledger)
    await ledger.approvals.decide("acme", other.id, saying(), now=NOON)
    assert await ledger.approvals.withdraw("acme", thread="t1", now=NOON, only=[]) == []
    assert await ledger.approvals.withdraw("acme", thread="t1", now=NOON, only=[other.id]) == []
    assert (await found(ledger, one)).state == "pending"
    assert len(await ledger.approvals.withdraw("acme", thread="t1", now=NOON, only=[one.id, other.id])) == 1


async def test_a_withdrawn_call_lets_nothing_run_and_can_be_asked_for_again(ledger: Ledger) -> None:
    one, _ = await two(ledger)
    await ledger.approvals.withdraw("acme", thread="t1", now=NOON)
    assert not await granted(ledger)
    assert await ledger.approvals.decide("acme", one.id, saying(), now=NOON) == Refused("withdrawn")
    again = asking(interrupt="i3", created_at=later(minutes=1), expires_at=later(hours=3))
    assert await ledger.approvals.request(again) == Approval(id=one.id, request=again)
    assert (await told(ledger))[-1] == ("approval.requested", "acme/u1")
    assert isinstance(await ledger.approvals.decide("acme", one.id, saying(), now=later(hours=2)), Decided)


async def test_a_rollback_asks_again_under_the_release_that_asked_first(ledger: Ledger) -> None:
    first = await ledger.approvals.request(asking())
    second = await ledger.approvals.request(asking(release="r2", created_at=later(minutes=1)))
    again = await ledger.approvals.request(asking(created_at=later(minutes=2)))
    assert (again.id, again.state) == (first.id, "pending")
    assert await ledger.approvals.pending("acme", now=later(minutes=3)) == [again]
    assert (await found(ledger, second)).state == "superseded"


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


async def decide_both(ledger: Ledger, number: int) -> list[str]:
    """Both approvals at once, named in opposite orders; what became of each."""
    ids = [asking(call_id=name).id for name in ("call1", "call2")]
    order = ids if number % 2 else ids[::-1]
    verdict = saying("approve" if number % 2 else "reject", by=f"acme/approver{number}")
    rulings = await ledger.approvals.decide_all("acme", dict.fromkeys(order, verdict), now=NOON)
    return [type(rulings[identity]).__name__ for identity in ids]


async def test_of_four_approvers_of_two_calls_one_side_decides_both(url: str, ledger: Ledger) -> None:
    one, other = await two(ledger)
    answers = await race(decide_both, url, processes=4)
    assert sorted(answers) == [["AlreadyDecided"] * 2] * 2 + [["Decided"] * 2] * 2
    assert (await found(ledger, one)).state == (await found(ledger, other)).state
    assert len(await told(ledger)) == 4
