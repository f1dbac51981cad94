"""The deployment's registry: which tools there are, and how they show themselves to a model."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from agent.knowledge import Library
from agent.knowledge.library import catalog_directory
from agent.ledger import Ledger
from agent.shop import Shop
from agent.tools import shipped
from agent.tools.registry import Registry, Tool
from tests.unit.tools.invoking import call

NAMES = [
    "customers.find",
    "kb.search",
    "orders.get",
    "orders.list",
    "orders.refund",
    "results.find",
    "results.read",
    "stock.check",
]
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(params=NAMES)
def tool(request: pytest.FixtureRequest) -> Tool:
    found = shipped.registry.get(request.param)
    assert found is not None
    return found


def parameters(tool: Tool) -> dict[str, Any]:
    return tool.schema()["function"]["parameters"]


def test_the_shipped_tools_are_these() -> None:
    assert shipped.registry.names() == NAMES


def test_building_again_makes_another_registry_of_the_same_tools() -> None:
    ledger = Ledger("sqlite+aiosqlite:///x.db")
    registry = shipped.build(shop=Shop("sqlite:///x.db"), library=Library(), ledger=ledger)
    assert registry is not shipped.registry
    assert [entry.schema() for entry in registry] == [entry.schema() for entry in shipped.registry]


def test_only_the_refund_writes_and_it_waits_for_a_person_by_default() -> None:
    risks = {tool.name: tool.risk for tool in shipped.registry}
    assert risks == dict.fromkeys(NAMES, "read") | {"orders.refund": "write"}
    approvals = {tool.name: tool.approval for tool in shipped.registry}
    assert approvals == dict.fromkeys(NAMES) | {"orders.refund": "always"}


def test_repeating_any_call_is_harmless(tool: Tool) -> None:
    assert tool.idempotent is True


def test_the_trusted_call_is_hidden_from_the_model(tool: Tool) -> None:
    assert tool.call_argument == ("facts" if tool.name.startswith("results.") else "call")
    shown = parameters(tool)["properties"]
    assert shown
    assert not {tool.call_argument, "self", "tenant", "thread", "key", "principal"} & set(shown)
    assert parameters(tool)["additionalProperties"] is False


def test_a_description_says_in_a_sentence_what_the_tool_does(tool: Tool) -> None:
    first, _blank, rest = tool.description.partition("\n\n")
    assert first.endswith(".")
    assert "\n" not in first
    assert rest
    assert 60 < len(tool.description) < 500


def test_every_argument_is_described(tool: Tool) -> None:
    for argument in parameters(tool)["properties"].values():
        assert len(argument["description"]) > 10


def test_the_schemas_are_the_published_ones() -> None:
    shapes = {
        tool.name: (sorted(parameters(tool)["properties"]), parameters(tool)["required"])
        for tool in shipped.registry
    }
    assert shapes == {
        "orders.get": (["number"], ["number"]),
        "orders.list": (["customer", "limit", "status"], ["customer"]),
        "orders.refund": (["amount", "order", "reason"], ["order", "amount", "reason"]),
        "customers.find": (["query"], ["query"]),
        "stock.check": (["product"], ["product"]),
        "kb.search": (["query"], ["query"]),
        "results.read": (["call", "length", "offset"], ["call"]),
        "results.find": (["call", "text"], ["call", "text"]),
    }


def test_an_amount_is_a_plain_number_for_the_model_and_for_predicates() -> None:
    refund = shipped.registry.get("orders.refund")
    assert refund is not None
    amount = parameters(refund)["properties"]["amount"]
    assert amount["type"] == "number"
    assert (amount["exclusiveMinimum"], amount["maximum"]) == (0, 1_000_000)


def test_the_states_of_an_order_are_listed_for_the_model() -> None:
    listing = shipped.registry.get("orders.list")
    assert listing is not None
    [states, nothing] = parameters(listing)["properties"]["status"]["anyOf"]
    assert states["enum"] == ["placed", "paid", "packed", "shipped", "delivered", "cancelled", "returned"]
    assert nothing == {"type": "null"}


def test_importing_the_tools_opens_nothing_and_loads_no_control_plane(tmp_path: Path) -> None:
    script = (
        "import sys, agent.tools.shipped\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'assistants'))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
async def test_no_tool_blocks_the_event_loop(tmp_path: Path) -> None:
    shop = Shop(f"sqlite:///{tmp_path / 'shop.db'}")
    ledger = Ledger(f"sqlite+aiosqlite:///{tmp_path / 'ledger.db'}")
    registry = shipped.build(shop=shop, library=Library(catalog_directory({})), ledger=ledger)
    await ledger.results.put("acme", thread="t1", call_id="c0", text="a word", outcome="ok", now=NOW)
    arguments: dict[str, dict[str, object]] = {
        "orders.get": {"number": 1042},
        "orders.list": {"customer": "C-0011"},
        "orders.refund": {"order": 1042, "amount": 1.0, "reason": "arrived late"},
        "customers.find": {"query": "halina"},
        "stock.check": {"product": "kettle"},
        "kb.search": {"query": "exchange"},
        "results.read": {"call": "c0"},
        "results.find": {"call": "c0", "text": "word"},
    }
    assert sorted(arguments) == NAMES
    with blockbuster_ctx() as guard:
        guard.functions["os.path.abspath"].deactivate()  # pure for an absolute path; the server allows it too
        results = [await _run(registry, name, values) for name, values in arguments.items()]
        await shop.dispose()
        await ledger.dispose()
    assert len(results) == 8
    assert all(results)


async def _run(registry: Registry, name: str, arguments: dict[str, object]) -> object:
    tool = registry.get(name)
    assert tool is not None
    assert tool.call_argument is not None
    return await tool.run(**arguments, **{tool.call_argument: call()})
