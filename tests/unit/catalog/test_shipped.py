"""The catalog that comes with the package is sound, useful and careful."""

from __future__ import annotations

import re
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agent.predicate import parse
from agent.tools.shipped import registry
from assistants.graphs import GRAPHS
from assistants.loader import Catalog, ResolvedAssistant, load
from assistants.loading import cron
from assistants.loading.folder import shipped_root


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(shipped_root(), registry=registry, graphs=GRAPHS)


def assistant(catalog: Catalog, tenant: str, name: str) -> ResolvedAssistant:
    found = catalog.assistant(tenant, name)
    assert found is not None
    return found


def test_three_tenants_six_assistants_three_rings(catalog: Catalog) -> None:
    assert catalog.rings == ("early", "main", "late")
    tenants = {slug: (tenant.ring, tenant.timezone) for slug, tenant in catalog.tenants.items()}
    assert tenants == {
        "acme": ("early", "Europe/Berlin"),
        "globex": ("main", "America/New_York"),
        "lantern": ("late", "Asia/Shanghai"),
    }
    assert [found.title for found in catalog.assistants] == [
        "acme/handbook",
        "acme/support",
        "globex/stock",
        "globex/support",
        "lantern/handbook",
        "lantern/support",
    ]
    assert {found.graph for found in catalog.assistants} == {"react"}


def test_every_tenant_has_a_handbook(catalog: Catalog) -> None:
    for slug in catalog.tenants:
        assert list((shipped_root() / "tenants" / slug / "handbook").glob("*.md"))


@pytest.mark.parametrize("tenant", ["acme", "globex", "lantern"])
def test_refunds_are_limited_and_the_larger_ones_wait_for_a_person(catalog: Catalog, tenant: str) -> None:
    context = assistant(catalog, tenant, "support").context
    assert "orders.refund" in context.tools
    rule = context.approvals["orders.refund"]
    assert (rule.by, rule.self_approval) == ("approver", False)
    assert rule.expires is not None
    most = context.tool_limits["orders.refund"]["amount"].maximum
    assert most is not None
    assert parse(rule.when).holds({"amount": most}) is True
    assert context.durability == "sync"
    assert context.concurrency is not None
    assert context.concurrency.default == "reject"


def test_small_refunds_are_asked_about_only_where_the_file_says_so(catalog: Catalog) -> None:
    asked = {
        tenant: parse(assistant(catalog, tenant, "support").context.approvals["orders.refund"].when).holds(
            {"amount": 99.99}
        )
        for tenant in catalog.tenants
    }
    assert asked == {"acme": False, "globex": True, "lantern": False}
    own = parse(assistant(catalog, "acme", "support").context.approvals["orders.refund"].when)
    assert own.holds({"amount": 100}) is True


def test_only_support_may_change_anything(catalog: Catalog) -> None:
    for found in catalog.assistants:
        writes = [tool.name for tool in registry.select(found.context.tools) if tool.risk != "read"]
        assert writes == (["orders.refund"] if found.name == "support" else [])
        assert {"results.find", "results.read"} <= set(found.context.tools)
    reading = ("results.find", "results.read")
    assert assistant(catalog, "acme", "handbook").context.tools == ("kb.search", *reading)
    assert assistant(catalog, "globex", "stock").context.tools == ("kb.search", *reading, "stock.check")


def test_every_assistant_has_a_model_a_prompt_and_budgets(catalog: Catalog) -> None:
    for found in catalog.assistants:
        context = found.context
        assert context.model is not None
        assert context.model.api_key is None
        assert context.policy_mode == "enforce"
        limits = context.limits.model_dump()
        budgets = (
            "steps",
            "model_calls",
            "tool_calls",
            "tokens",
            "usd_per_run",
            "usd_per_day",
            "seconds",
            "repeats",
        )
        assert all(limits[name] for name in budgets)
        assert context.compaction is not None
        assert "{{" not in context.prompt
        assert len(context.prompt) > 200


def test_chinese_tenant_has_chinese_prompts(catalog: Catalog) -> None:
    for found in catalog.assistants:
        chinese = len(re.findall(r"[\u4e00-\u9fff]", found.context.prompt)) > 100
        assert chinese is (found.tenant == "lantern")


def test_two_schedules_ask_a_question_at_five_fields(catalog: Catalog) -> None:
    schedules = {
        f"{found.title}:{entry.key}": entry for found in catalog.assistants for entry in found.schedule
    }
    assert set(schedules) == {"acme/handbook:rule-of-the-day", "globex/stock:morning-stock"}
    for entry in schedules.values():
        assert cron.parse(entry.cron).minutes
        (message,) = entry.input["messages"]
        assert message["role"] == "user"
        assert message["content"].endswith((".", "?"))
        assert (entry.overlap, entry.enabled) == ("skip", True)


def test_shipped_files_hold_no_keys_and_no_secrets(catalog: Catalog) -> None:
    for tenant in catalog.tenants.values():
        assert tenant.api_keys == ()
        assert tenant.secrets == {}
        assert ZoneInfo(tenant.timezone)


def test_shipped_files_are_small() -> None:
    files = [path for path in shipped_root().rglob("*") if path.is_file()]
    assert len(files) > 15
    assert sum(path.stat().st_size for path in files) < 500_000


def test_shipped_catalog_lies_in_the_package() -> None:
    assert shipped_root().parent == Path(__import__("assistants").__file__).parent
