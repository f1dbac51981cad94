"""The tenant's ceilings over its assistants."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistants.loading.ceilings import LIMITS
from assistants.loading.node import Place
from tests.unit.catalog.deployment import SUPPORT, loaded, report, support

TENANT = "tenants/acme/tenant.yaml"
COUNTS = ("steps", "model_calls", "tool_calls", "tokens", "approvals", "repeats")


def tenant(ceilings: str) -> dict[str, str]:
    return {TENANT: f"slug: acme\nring: early\ntimezone: UTC\nceilings: {{{ceilings}}}\n"}


@pytest.mark.parametrize("name", LIMITS)
def test_limit_above_its_ceiling_is_refused_and_one_at_it_is_not(tmp_path: Path, name: str) -> None:
    assert report(tmp_path, {**tenant(f"{name}: 5"), **support(f"limits: {{{name}: 5}}\n")}) == []
    ceiling, got = ("5", "6") if name in COUNTS else ("5.0", "6.0")
    assert report(tmp_path, {**tenant(f"{name}: 5"), **support(f"limits: {{{name}: 6}}\n")}) == [
        f"{SUPPORT}:4:{12 + len(name)}: limits.{name}: the tenant's ceiling is {ceiling}, got {got}"
    ]


@pytest.mark.parametrize("name", LIMITS)
def test_missing_limit_gets_the_ceiling_and_says_so(tmp_path: Path, name: str) -> None:
    (assistant,) = loaded(tmp_path, {**tenant(f"{name}: 5"), **support("")}).assistants
    limits = assistant.context.limits.model_dump()
    assert limits.pop(name) == 5
    assert limits.pop("tenant_usd_per_day") == (5 if name == "usd_per_day" else None)
    assert set(limits.values()) == {None}
    assert assistant.provenance.place("limits", name) == Place(TENANT, 4, 14 + len(name))
    assert assistant.spec.limits == assistant.spec.limits.model_copy(update={name: None})


def test_own_limit_below_the_ceiling_stays_with_its_own_place(tmp_path: Path) -> None:
    (assistant,) = loaded(
        tmp_path, {**tenant("steps: 5, tokens: 9"), **support("limits: {steps: 3}\n")}
    ).assistants
    assert (assistant.context.limits.steps, assistant.context.limits.tokens) == (3, 9)
    assert assistant.provenance.place("limits", "steps") == Place(SUPPORT, 4, 17)


def test_no_ceiling_is_no_limit(tmp_path: Path) -> None:
    (assistant,) = loaded(tmp_path, {**tenant("runs_per_minute: 9"), **support("")}).assistants
    assert set(assistant.context.limits.model_dump().values()) == {None}
    assert assistant.provenance.place("limits", "steps") is None


def test_model_and_fallbacks_must_match_a_glob(tmp_path: Path) -> None:
    model = (
        'name: support\ngraph: react\nmodel: {name: "openai:%s", fallbacks: ["openai:small", "openai:%s"]}\n'
    )
    ceilings = tenant('models: ["openai:small*", "openai:tiny"]')
    assert report(tmp_path, {**ceilings, SUPPORT: model % ("small-2", "tiny")}) == []
    allowed = "model: the tenant's ceilings allow openai:small*, openai:tiny, not"
    assert report(tmp_path, {**ceilings, SUPPORT: model % ("large", "tiny2")}) == [
        f"{SUPPORT}:3:15: {allowed} 'openai:large'",
        f"{SUPPORT}:3:59: {allowed} 'openai:tiny2'",
    ]


def test_model_of_a_base_is_told_at_the_base(tmp_path: Path) -> None:
    files = {
        **tenant('models: ["openai:small"]'),
        "bases/b.yaml": 'graph: react\nmodel: {name: "openai:large"}\n',
        SUPPORT: "name: support\nextends: ../../bases/b.yaml\n",
    }
    assert report(tmp_path, files) == [
        "bases/b.yaml:2:15: model: the tenant's ceilings allow openai:small, not 'openai:large'"
    ]


def test_empty_list_of_models_allows_none(tmp_path: Path) -> None:
    assert report(tmp_path, {**tenant("models: []"), **support("")}) == [
        f"{SUPPORT}:3:15: model: the tenant's ceilings allow no model at all, not 'openai:small'"
    ]


def test_forbidden_tools_are_refused_at_their_item(tmp_path: Path) -> None:
    files = {
        **tenant('forbid_tools: ["files.*", "*.refund", "orders.refund"]'),
        **support("tools: {allow: [orders.get, files.write, orders.refund]}\n"),
    }
    assert report(tmp_path, files) == [
        f"{SUPPORT}:4:29: tools.allow: the tenant's ceilings forbid 'files.write' (forbid_tools: files.*)",
        f"{SUPPORT}:4:42: tools.allow: the tenant's ceilings forbid 'orders.refund' (forbid_tools: *.refund)",
    ]


def test_globs_respect_case(tmp_path: Path) -> None:
    assert report(tmp_path, {**tenant('models: ["OPENAI:*"]'), **support("")}) != []
