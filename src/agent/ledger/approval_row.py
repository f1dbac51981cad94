"""An approval as a row of the ledger's table, and back. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from agent.ledger.approval import Approval, ApprovalRequest


def row_of(approval: Approval) -> dict[str, Any]:
    """The columns of `tables.APPROVALS` for a record."""
    values = asdict(approval)
    request = values.pop("request")
    return {
        **request,
        **values,
        "arguments": json.dumps(request["arguments"]),
        "digest": approval.request.digest,
        "decisions": ",".join(approval.request.decisions),
        "requester_roles": ",".join(approval.request.requester_roles),
        "edited": None if approval.edited is None else json.dumps(approval.edited),
        "reason": None if approval.reason is None else json.dumps(approval.reason),
    }


def approval_of(row: Mapping[Any, Any]) -> Approval:
    """The record that the columns hold."""
    request = {field.name: row[field.name] for field in fields(ApprovalRequest)}
    state = {field.name: row[field.name] for field in fields(Approval) if field.name != "request"}
    request["arguments"] = json.loads(row["arguments"])
    request["decisions"] = tuple(row["decisions"].split(","))
    request["requester_roles"] = tuple(role for role in row["requester_roles"].split(",") if role)
    for name in ("edited", "reason"):
        state[name] = None if row[name] is None else json.loads(row[name])
    return Approval(request=ApprovalRequest(**request), **state)
