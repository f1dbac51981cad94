"""Values that the ledger's tests start from."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agent.ledger import ApprovalRequest, Turn, Verdict, day

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def later(**interval: float) -> datetime:
    """A moment after noon."""
    return NOON + timedelta(**interval)


def turn(identity: str = "m1", **changes: Any) -> Turn:
    """A turn of tenant acme's support assistant, on the day of `NOON`."""
    base = Turn(tenant="acme", thread="t1", id=identity, assistant="support", release="r1", day=day(NOON))
    return replace(base, **changes)


def asking(**changes: Any) -> ApprovalRequest:
    """A refund of 150 that waits for an approver until 13:00."""
    base = ApprovalRequest(
        tenant="acme",
        assistant="support",
        release="r1",
        thread="t1",
        turn="m1",
        run="run1",
        call_id="call1",
        interrupt="i1",
        tool="orders.refund",
        arguments={"order": 1001, "amount": 150.0},
        requester="acme/u1",
        role="approver",
        self_approval=False,
        decisions=("approve", "edit", "reject"),
        created_at=NOON,
        expires_at=later(hours=1),
    )
    return replace(base, **changes)


def saying(decision: Any = "approve", **changes: Any) -> Verdict:
    """The decision of approver u2."""
    return replace(Verdict(decision=decision, by="acme/u2", roles=frozenset({"approver"})), **changes)
