"""Values for the tests of approvals at the door: a thread of ann's that waits for a refund of 150."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agent.context import AgentContext, ArgumentLimit
from agent.ledger import Approval, ApprovalRequest
from assistants.principal import Principal
from assistants.server.waiting import ThreadFacts

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONE, TWO, THREE = ("a1" * 16, "b2" * 16, "c3" * 16)

ANN = Principal("acme", "ann", frozenset({"user"}))
BOSS = Principal("acme", "boss", frozenset({"approver"}))
OPERATOR = Principal("platform", "ops", frozenset({"operator"}))
CONTEXT = AgentContext(
    tenant="acme",
    assistant="support",
    release="r1",
    tools=("orders.get", "orders.refund"),
    tool_limits={"orders.refund": {"amount": ArgumentLimit(maximum=500)}},
)
APPROVE: dict[str, Any] = {"decisions": [{"type": "approve"}]}
REJECT: dict[str, Any] = {"decisions": [{"type": "reject", "message": "no"}]}


def edit(arguments: Any, name: Any = "orders_refund") -> dict[str, Any]:
    """An answer that edits the arguments."""
    return {"decisions": [{"type": "edit", "edited_action": {"name": name, "args": arguments}}]}


def asked(interrupt: str | None = ONE, **changes: Any) -> Approval:
    """The pending record of a refund; `state` and the other fields of a record may be given too."""
    base = ApprovalRequest(
        tenant="acme",
        assistant="support",
        release="r1",
        thread="t1",
        turn="m1",
        run="run1",
        call_id=f"call {interrupt}",
        interrupt=interrupt,
        tool="orders.refund",
        arguments={"order": 1001, "amount": 150},
        requester="acme/ann",
        role="approver",
        self_approval=False,
        decisions=("approve", "edit", "reject"),
        created_at=NOON,
        expires_at=NOON + timedelta(hours=1),
    )
    fields = set(ApprovalRequest.__dataclass_fields__)
    request = replace(base, **{name: value for name, value in changes.items() if name in fields})
    record = Approval(id=request.id, request=request)
    return replace(record, **{name: value for name, value in changes.items() if name not in fields})


def thread(*interrupts: str, **changes: Any) -> ThreadFacts:
    """Ann's thread, waiting under these interrupts."""
    base = ThreadFacts(
        tenant="acme", owner="acme/ann", assistant=None, busy=False, interrupts=tuple(interrupts)
    )
    return replace(base, **changes)
