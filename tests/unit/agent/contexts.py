"""Contexts that the tests of the data plane start from."""

from __future__ import annotations

from typing import Any

from agent.context import (
    AgentContext,
    Approval,
    ArgumentLimit,
    Compaction,
    Concurrency,
    Limits,
    MemoryRule,
    ModelChoice,
)

RELEASE = "5f" * 32

FULL = AgentContext(
    tenant="acme",
    assistant="support",
    release=RELEASE,
    model=ModelChoice(name="openai:gpt-5-mini", temperature=0.0, fallbacks=("openai:gpt-5-nano",)),
    prompt="You help customers of Acme.",
    tools=("orders.get", "orders.refund"),
    tool_limits={"orders.refund": {"amount": ArgumentLimit(maximum=500)}},
    policy_mode="shadow",
    approvals={"orders.refund": Approval(when="amount >= 100", decisions=("approve", "reject"))},
    limits=Limits(steps=40, usd_per_run=0.4),
    compaction=Compaction(max_tokens=24_000, keep_recent=8),
    memory=MemoryRule(recall=5),
    concurrency=Concurrency(default="reject", allow=("enqueue",)),
    durability="sync",
)
"""A context in which every field but the stamp says something."""


def context(**values: Any) -> AgentContext:
    """The smallest context, with `values` over it."""
    said = {"tenant": "acme", "assistant": "support", "release": RELEASE, **values}
    return AgentContext.model_validate(said)
