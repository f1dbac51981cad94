"""A catalog for the tests of the server: two tenants, written as files and loaded as the server does."""

from __future__ import annotations

from pathlib import Path

from agent.tools.registry import Registry, ToolCall
from assistants.loader import Catalog, ResolvedAssistant, load

GRAPHS = ("react",)

FILES = {
    "rings.yaml": "rings: [early]\n",
    "tenants/acme/tenant.yaml": """\
slug: acme
ring: early
timezone: Europe/Berlin
ceilings: {runs_per_minute: 60}
""",
    "tenants/acme/support.yaml": """\
name: support
graph: react
description: Answers customers about orders
model: {name: "openai:gpt-5-mini", temperature: 0, fallbacks: ["openai:gpt-5-nano"]}
prompt: {text: "You help customers of Acme."}
tools: {allow: [orders.get, orders.refund]}
approvals: {orders.refund: {when: "amount >= 100"}}
limits: {steps: 40}
durability: sync
""",
    "tenants/acme/plain.yaml": """\
name: plain
graph: react
model: {name: "openai:gpt-5-mini"}
""",
    "tenants/globex/tenant.yaml": "slug: globex\nring: early\ntimezone: UTC\n",
    "tenants/globex/support.yaml": """\
name: support
graph: react
model: {name: "openai:gpt-5-mini"}
""",
}


def toolbox() -> Registry:
    """The tools that the catalog names."""
    registry = Registry()

    @registry.tool("orders.get", risk="read")
    async def get(number: int, *, call: ToolCall) -> str:
        """Look up an order."""
        return f"{call.tenant} {number}"

    @registry.tool("orders.refund", risk="write")
    async def refund(order: int, amount: float, *, call: ToolCall) -> str:
        """Refund an order."""
        return f"{call.tenant} {order} {amount}"

    assert [get, refund]
    return registry


def written(root: Path) -> Path:
    """The catalog's files below `root`."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def catalog_in(root: Path) -> Catalog:
    """The catalog, written below `root` and loaded."""
    return load(written(root), registry=toolbox(), graphs=GRAPHS)


def found(catalog: Catalog, tenant: str, name: str) -> ResolvedAssistant:
    """An assistant that the catalog has."""
    assistant = catalog.assistant(tenant, name)
    assert assistant is not None
    return assistant
