"""What an assistant names exists and fits together."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.tools.registry import Registry
from assistants.errors import CatalogInvalid
from assistants.loader import load
from tests.unit.catalog.deployment import (
    GRAPHS,
    MINIMAL,
    RINGS,
    SUPPORT,
    TENANT,
    registry,
    report,
    support,
    write,
)

REFUND = "tools: {allow: [orders.refund, orders.get, files.write]}\n"


def problems(root: Path, text: str) -> list[str]:
    """The problems of `acme/support` with further keys, without the file's name; they begin in line 4."""
    lines = report(root, support(text))
    assert all(line.startswith(f"{SUPPORT}:") for line in lines)
    return [line.removeprefix(f"{SUPPORT}:") for line in lines]


def test_name_graph_and_model_are_required(tmp_path: Path) -> None:
    assert report(tmp_path, {SUPPORT: "description: x\n"}) == [
        f"{SUPPORT}:1:1: graph is missing; expected one of digest, react",
        f"{SUPPORT}:1:1: model is missing; an assistant without a model cannot answer",
        f"{SUPPORT}:1:1: name is missing; expected 'support' as the file is called",
    ]


def test_name_must_be_the_file_name_also_when_inherited(tmp_path: Path) -> None:
    files = {**support(""), "tenants/acme/other.yaml": "extends: support.yaml\n"}
    assert report(tmp_path, files) == [
        f"{SUPPORT}:1:7: name: expected 'other' as the file is called, got 'support'"
    ]


def test_file_whose_name_is_no_slug_has_no_right_name(tmp_path: Path) -> None:
    assert report(tmp_path, {"tenants/acme/My_Bot.yaml": MINIMAL.replace("support", "My_Bot")}) == [
        (
            "tenants/acme/My_Bot.yaml:1:7: name: expected lower-case letters, digits and '-', at most 63, "
            "no '-' first, got 'My_Bot'"
        )
    ]


def test_unknown_graph_is_told_where_it_is_set(tmp_path: Path) -> None:
    files = {
        "bases/b.yaml": "graph: reakt\n",
        SUPPORT: MINIMAL.replace("graph: react", "extends: ../../bases/b.yaml"),
    }
    assert report(tmp_path, files) == [
        "bases/b.yaml:1:8: graph: unknown graph 'reakt'; did you mean 'react'?"
    ]


def test_unknown_tool_is_told_at_its_item(tmp_path: Path) -> None:
    assert problems(tmp_path, "tools: {allow: [orders.get, order.refund, xyz]}\n") == [
        "4:29: tools.allow: unknown tool 'order.refund'; did you mean 'orders.refund'?",
        f"4:43: tools.allow: unknown tool 'xyz'; expected one of {', '.join(registry.names())}",
    ]


def test_wire_names_are_no_tool_names(tmp_path: Path) -> None:
    assert problems(tmp_path, "tools: {allow: [orders_get]}\n") == [
        "4:17: tools.allow: unknown tool 'orders_get'; did you mean 'orders.get'?"
    ]


@pytest.mark.parametrize(
    "limits",
    [
        "orders.refund: {amount: {minimum: 1, maximum: 5.5}}",
        "orders.refund: {order: {maximum: 5}}",
        "orders.refund: {reason: {prefix: x, one_of: [xy]}}",
        "files.write: {mode: {one_of: [new]}}",
        "files.write: {text: {prefix: x}}",
        "orders.get: {number: {minimum: 1000}}",
    ],
)
def test_argument_limits_that_fit_are_accepted(tmp_path: Path, limits: str) -> None:
    assert problems(tmp_path, f"{REFUND[:-2]}, limits: {{{limits}}}}}\n") == []


@pytest.mark.parametrize(
    ("limits", "column", "expected"),
    [
        (
            "orders.refund: {reason: {maximum: 5}}",
            25,
            "orders.refund.reason: maximum is for numbers, and 'reason' of orders.refund takes string",
        ),
        (
            "files.write: {force: {one_of: ['true']}}",
            22,
            "files.write.force: one_of is for text, and 'force' of files.write takes boolean",
        ),
        (
            "orders.refund: {amount: {prefix: '1'}}",
            25,
            "orders.refund.amount: prefix is for text, and 'amount' of orders.refund takes number",
        ),
        (
            "orders.refund: {amuont: {maximum: 5}}",
            16,
            "orders.refund: orders.refund has no argument 'amuont'; did you mean 'amount'?",
        ),
        (
            "orders.get: {call: {prefix: x}}",
            13,
            "orders.get: orders.get has no argument 'call'; expected one of number",
        ),
        (
            "orders.refund: {amount: {}}",
            24,
            "orders.refund.amount: expected minimum, maximum, prefix or one_of",
        ),
        (
            "orders.refund: {amount: {minimum: 2, maximum: 1}}",
            24,
            "orders.refund.amount: expected a minimum that is not above the maximum",
        ),
        ("kb.search: {query: {prefix: x}}", 0, "'kb.search' is not in tools.allow"),
        (
            "order.refund: {amount: {maximum: 5}}",
            0,
            "'order.refund' is no tool; did you mean 'orders.refund'?",
        ),
    ],
)
def test_argument_limits_that_do_not_fit_are_told_at_their_key(
    tmp_path: Path, limits: str, column: int, expected: str
) -> None:
    (line,) = problems(tmp_path, f"{REFUND[:-2]},\n  limits: {{{limits}}}}}\n")
    joint = ": " if expected.startswith("'") else "."
    assert line == f"5:{column + 12}: tools.limits{joint}{expected}"


@pytest.mark.parametrize(
    ("approvals", "expected"),
    [
        ("orders.refund: {when: amount >= 100}", []),
        ("files.write: {when: 'force == true or path contains \"etc\"'}", []),
        (
            "orders.get: {when: always}",
            ["5:13: approvals.orders.get: orders.get only reads, so nobody is asked; remove this"],
        ),
        ("kb.search: {when: always}", ["5:13: approvals: 'kb.search' is not in tools.allow"]),
        (
            "orders.refnd: {when: always}",
            ["5:13: approvals: 'orders.refnd' is no tool; did you mean 'orders.refund'?"],
        ),
        (
            "orders.refund: {when: amont > 1 and sum > 2}",
            [
                (
                    "5:35: approvals.orders.refund.when: orders.refund has no argument 'amont'; did you mean "
                    "'amount'?"
                ),
                (
                    "5:35: approvals.orders.refund.when: orders.refund has no argument 'sum'; expected one "
                    "of amount, order, reason"
                ),
            ],
        ),
    ],
)
def test_approvals_fit_the_tools(tmp_path: Path, approvals: str, expected: list[str]) -> None:
    found = problems(tmp_path, f"{REFUND}approvals: {{{approvals}}}\n")
    if "kb.search" in approvals:
        expected = [
            *expected,
            "5:13: approvals.kb.search: kb.search only reads, so nobody is asked; remove this",
        ]
    assert found == sorted(expected)


def test_mistyped_allow_list_is_not_reported_a_second_time_by_what_needs_it(tmp_path: Path) -> None:
    text = "tools: {alow: [orders.refund]}\napprovals: {orders.refund: {when: always}}\n"
    assert problems(tmp_path, text) == ["4:9: unknown key 'alow' in tools; did you mean 'allow'?"]


def test_tool_with_a_wrong_predicate_of_its_own_is_told_where_it_is_allowed(tmp_path: Path) -> None:
    wrong = Registry()

    @wrong.tool("orders.cancel", risk="write", approval="amount >")
    async def cancel(order: int) -> str:
        """Cancel an order."""
        return str(order)

    @wrong.tool("orders.change", risk="write", approval="amount > 5")
    async def change(order: int) -> str:
        """Change an order."""
        return str(order)

    assert [tool.run for tool in wrong] == [cancel, change]
    files = {**RINGS, **TENANT, **support("tools: {allow: [orders.cancel, orders.change]}\n")}
    with pytest.raises(CatalogInvalid) as caught:
        load(write(tmp_path, files), registry=wrong, graphs=GRAPHS)
    assert [problem.message for problem in caught.value.problems] == [
        (
            "tools.allow: orders.cancel is registered with a wrong predicate: expected a number, a text in "
            'double quotes ("…"), true or false (at character 9)'
        ),
        (
            "tools.allow: orders.change is registered with a wrong predicate: orders.change has no argument "
            "'amount'; expected one of order"
        ),
    ]


KEYED = 'name: support\ngraph: react\nmodel: {name: "openai:x", base_url: "https://m.example", api_key: %s}\n'


def test_secret_must_be_one_of_the_tenant(tmp_path: Path) -> None:
    plain = TENANT["tenants/acme/tenant.yaml"]
    tenant = {"tenants/acme/tenant.yaml": plain + "secrets: {models: env:ACME_M}\n"}
    assert report(tmp_path, {**tenant, SUPPORT: KEYED % "secret:models"}) == []
    reason = "model.api_key: the tenant's file has no such secret"
    assert report(tmp_path, {**tenant, SUPPORT: KEYED % "secret:model"}) == [
        f"{SUPPORT}:3:67: {reason}; did you mean 'models'?"
    ]
    assert report(tmp_path, {**TENANT, SUPPORT: KEYED % "secret:models"}) == [f"{SUPPORT}:3:67: {reason}"]


def test_secret_is_not_looked_for_when_the_tenants_file_is_damaged(tmp_path: Path) -> None:
    tenant = "slug: acme\nring: early\ntimezone: UTC\nsecrts: {models: env:ACME_M}\n"
    assert report(tmp_path, {"tenants/acme/tenant.yaml": tenant, SUPPORT: KEYED % "secret:m"}) == [
        "tenants/acme/tenant.yaml:4:1: unknown key 'secrts'; did you mean 'secrets'?"
    ]
