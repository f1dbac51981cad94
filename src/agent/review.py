"""What the model and a client are told of a person's decision on a call (B-24)."""

from __future__ import annotations

import json
from typing import Any, Final

from agent.ledger import Approval
from agent.limits import DECIDED

_DECISIONS: Final = {"approved": "approve", "edited": "edit", "rejected": "reject"}


def decision(approval: Approval | None) -> dict[str, Any]:
    """The decision as a tool message's `additional_kwargs` carry it; empty where nobody decided."""
    taken = _DECISIONS.get(approval.state) if approval else None
    return {} if approval is None or taken is None else {DECIDED: {"id": approval.id, "decision": taken}}


def reviewed(text: str, approval: Approval | None) -> str:
    """A call's result with the reviewer's note, where a person changed the arguments."""
    if approval is None or approval.state != "edited":
        return text
    note: dict[str, Any] = {"arguments_changed_to": approval.edited}
    if approval.reason:
        note["reason"] = approval.reason
    return json.dumps({"reviewer": note, "result": _value(text)}, ensure_ascii=False)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
