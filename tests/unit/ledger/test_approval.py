from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.ledger import AlreadyDecided, Approval, Decided, Expired, Refused, arguments_digest
from agent.ledger.approval import close, reopened, rule
from tests.unit.ledger.samples import NOON, asking, later, saying


def pending(**changes: Any) -> Approval:
    request = asking(**changes)
    return Approval(id=request.id, request=request)


def decided(verdict: Any = None, **changes: Any) -> Approval:
    ruling = rule(pending(**changes), verdict or saying(), now=NOON)
    assert isinstance(ruling, Decided)
    return ruling.approval


def test_asking_again_is_the_same_record() -> None:
    again = asking(
        interrupt="i2", run="run2", created_at=later(hours=2), arguments={"amount": 150, "order": 1001}
    )
    assert again.id == asking().id


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": "globex"},
        {"thread": "t2"},
        {"turn": "m2"},
        {"call_id": "call2"},
        {"release": "r2"},
        {"arguments": {"order": 1001, "amount": 151}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_call_release_or_argument_is_another_record(change: dict[str, Any]) -> None:
    assert asking(**change).id != asking().id


def test_an_approval_lets_the_asked_arguments_run() -> None:
    assert decided() == replace(
        pending(),
        state="approved",
        decided_by="acme/u2",
        decided_at=NOON,
        granted_digest=arguments_digest({"order": 1001, "amount": 150}),
    )


def test_an_edit_lets_the_new_arguments_run_and_not_the_asked_ones() -> None:
    edited = {"order": 1001, "amount": 20}
    approval = decided(saying("edit", edited=edited, reason="too much"))
    assert (approval.state, approval.edited, approval.reason) == ("edited", edited, "too much")
    assert approval.grants(digest=arguments_digest(edited), release="r1", key="k")
    assert not approval.grants(digest=asking().digest, release="r1", key="k")


def test_a_rejection_lets_nothing_run() -> None:
    approval = decided(saying("reject", reason="no"))
    assert (approval.state, approval.granted_digest, approval.reason) == ("rejected", None, "no")
    assert not approval.grants(digest=asking().digest, release="r1", key="k")


def test_what_is_pending_lets_nothing_run() -> None:
    assert not pending().grants(digest=asking().digest, release="r1", key="k")


def test_an_approval_counts_for_the_release_and_arguments_that_asked() -> None:
    digest = asking().digest
    assert decided().grants(digest=digest, release="r1", key="k")
    assert not decided().grants(digest=digest, release="r2", key="k")
    assert not decided().grants(
        digest=arguments_digest({"order": 1002, "amount": 150}), release="r1", key="k"
    )


def test_a_consumed_approval_is_granted_to_its_own_key_only() -> None:
    used = replace(decided(), consumed_at=NOON, consumed_key="acme:t1:call1")
    assert used.grants(digest=asking().digest, release="r1", key="acme:t1:call1")
    assert not used.grants(digest=asking().digest, release="r1", key="acme:t1:call2")


@pytest.mark.parametrize(
    ("request_changes", "verdict_changes", "reason"),
    [
        ({}, {"roles": frozenset({"user", "operator"})}, "role"),
        ({}, {"by": "acme/u1"}, "self_approval"),
        ({"decisions": ("reject",)}, {}, "decision"),
        ({}, {"decision": "edit"}, "arguments"),
        ({}, {"edited": {"amount": 1}}, "arguments"),
        ({}, {"decision": "reject", "edited": {"amount": 1}}, "arguments"),
    ],
)
def test_a_verdict_that_does_not_count_is_refused(
    request_changes: dict[str, Any], verdict_changes: dict[str, Any], reason: str
) -> None:
    ruling = rule(pending(**request_changes), replace(saying(), **verdict_changes), now=NOON)
    assert ruling == Refused(reason)  # pyright: ignore[reportArgumentType] - one of the reasons


def test_the_requester_may_decide_when_the_rule_says_so() -> None:
    assert decided(saying(by="acme/u1"), self_approval=True).decided_by == "acme/u1"


def test_the_first_decision_stays() -> None:
    approval = decided()
    assert rule(approval, saying("reject", by="acme/u3"), now=NOON) == AlreadyDecided(approval)


def test_a_decision_that_was_made_in_time_does_not_expire() -> None:
    approval = decided()
    assert rule(approval, saying("reject"), now=later(days=2)) == AlreadyDecided(approval)
    assert not approval.expired(later(days=2))


def test_nobody_decides_from_the_moment_of_expiry() -> None:
    assert isinstance(rule(pending(), saying(), now=later(minutes=59, seconds=59)), Decided)
    closed = replace(pending(), state="expired", decided_at=later(hours=1))
    assert rule(pending(), saying(), now=later(hours=1)) == Expired(closed)
    assert rule(closed, saying(), now=later(hours=2)) == Expired(closed)


def test_without_an_expiry_a_request_waits_for_ever() -> None:
    assert not pending(expires_at=None).expired(later(days=10_000))


def test_a_superseded_request_cannot_be_decided() -> None:
    superseded = close(pending(), state="superseded", now=NOON)
    assert superseded == replace(pending(), state="superseded", decided_at=NOON)
    assert rule(superseded, saying(), now=NOON) == Refused("superseded")


def test_closing_changes_no_decision() -> None:
    assert close(decided(), state="expired", now=later(days=2)) == decided()


# Saying it again, and asking again


def test_the_very_same_decision_counts_again_and_changes_nothing() -> None:
    approval = decided(saying(reason="fine"))
    assert rule(approval, saying(by="acme/u3"), now=later(days=2), again=True) == Decided(approval)


def test_the_same_edit_counts_again_however_it_is_written() -> None:
    approval = decided(saying("edit", edited={"order": 1001, "amount": 20}))
    again = saying("edit", edited={"amount": 20.0, "order": 1001})
    assert rule(approval, again, now=NOON, again=True) == Decided(approval)


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        (saying(), saying("reject")),
        (saying("reject"), saying()),
        (saying(), saying("edit", edited={"order": 1001, "amount": 150.0})),
        (saying(), saying(edited={"order": 1001, "amount": 1})),
        (saying("edit", edited={"amount": 20}), saying()),
        (saying("edit", edited={"amount": 20}), saying("edit", edited={"amount": 21})),
        (saying("edit", edited={"amount": 20}), saying("edit")),
    ],
)
def test_another_decision_does_not_count_again(taken: Any, said: Any) -> None:
    approval = decided(taken)
    assert rule(approval, said, now=NOON, again=True) == AlreadyDecided(approval)


def test_only_who_may_decide_may_say_it_again() -> None:
    assert rule(decided(), saying(by="acme/u1"), now=NOON, again=True) == Refused("self_approval")
    assert rule(decided(), saying(roles=frozenset[str]()), now=NOON, again=True) == Refused("role")


def test_a_withdrawn_request_cannot_be_decided() -> None:
    withdrawn = close(pending(), state="withdrawn", now=NOON)
    assert withdrawn == replace(pending(), state="withdrawn", decided_at=NOON)
    for again in (True, False):
        assert rule(withdrawn, saying(), now=NOON, again=again) == Refused("withdrawn")


@pytest.mark.parametrize("state", ["superseded", "withdrawn"])
def test_a_request_that_nobody_decided_is_open_again_when_it_is_asked_again(state: Any) -> None:
    request = asking(interrupt="i2", created_at=later(hours=3), expires_at=later(hours=4))
    closed = close(pending(), state=state, now=NOON)
    assert reopened(closed, request) == Approval(id=request.id, request=request)


def test_asking_again_opens_no_decision_and_nothing_late() -> None:
    request = asking(created_at=later(hours=3))
    late = close(pending(), state="expired", now=NOON)
    for approval in (pending(), decided(), decided(saying("reject")), late):
        assert reopened(approval, request) is approval
