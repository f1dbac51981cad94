from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context import AgentContext, Approval, ArgumentLimit, Stamp
from agent.policy import Denial, Policy
from agent.tools.registry import Registry
from tests.unit.agent.contexts import context


def toolbox() -> Registry:
    registry = Registry()

    @registry.tool("orders.get", risk="read")
    async def get(number: int) -> str:
        """Look up an order."""
        return str(number)

    @registry.tool("orders.refund", risk="write", approval="always")
    async def refund(order: int, amount: float, reason: str = "goodwill") -> str:
        """Refund an order."""
        return f"{order} {amount} {reason}"

    @registry.tool("orders.list", risk="read")
    async def list_of(
        customer: str,
        status: str | None = None,
        limit: int = 50,
        price: Decimal = Decimal("9.90"),
    ) -> str:
        """List orders."""
        return f"{customer} {status} {limit} {price}"

    assert [get, refund, list_of]
    return registry


TOOLBOX = toolbox()
NUMBERS = st.integers() | st.floats() | st.decimals() | st.booleans() | st.text() | st.none()


def policy(**values: object) -> Policy:
    return Policy.of(context(**values), TOOLBOX)


def limited(tool: str, argument: str, limit: ArgumentLimit) -> Policy:
    """A policy over one tool with one limit and no approval."""
    return policy(
        tools=(tool,),
        tool_limits={tool: {argument: limit}},
        approvals={tool: Approval(when="never", decisions=("approve",))},
    )


def reason(denial: Denial | None) -> str:
    assert denial is not None
    assert denial.code == "argument_denied"
    return denial.text


# Default deny


@pytest.mark.parametrize(
    ("roles", "usable"),
    [
        (None, False),
        ((), False),
        (("user",), False),
        (("approver", "operator"), False),
        (("operator", "user"), True),
        (("approver", "operator", "user"), True),
    ],
)
def test_a_tool_that_requires_roles_needs_all_of_them(roles: tuple[str, ...] | None, *, usable: bool) -> None:
    registry = Registry()

    @registry.tool("orders.purge", risk="dangerous", scopes=["operator", "user"])
    async def purge(order: int) -> str:
        """Purge an order."""
        return str(order)

    assert purge
    stamp = None if roles is None else Stamp(principal="acme/u1", roles=roles, unattended=False, mac="")
    held = Policy.of(context(tools=("orders.purge",), stamp=stamp), registry)
    assert held.wires == (frozenset({"orders_purge"}) if usable else frozenset())
    denial = held.denial("orders_purge", {"order": 1})
    assert (denial is None) is usable
    assert denial is None or denial.code == "tool_denied"


def test_an_assistant_without_tools_has_none() -> None:
    nothing = policy()
    assert nothing.wires == frozenset()
    assert nothing.denial("orders_get", {"number": 1}) == Denial(
        "tool_denied", "There is no tool 'orders_get' here. You have no tools; answer without."
    )


def test_a_tool_that_is_not_listed_is_denied_and_only_the_run_s_own_are_named() -> None:
    denial = policy(tools=("orders.get",)).denial("orders_refund", {"order": 1, "amount": 1.0})
    assert denial == Denial("tool_denied", "There is no tool 'orders_refund' here. You can use: orders_get.")


def test_a_tool_that_is_listed_but_not_registered_is_denied_and_not_offered() -> None:
    found = policy(tools=("files.delete", "orders.get"))
    assert found.wires == frozenset({"orders_get"})
    assert found.find("files_delete") is None
    denial = found.denial("files_delete", {})
    assert denial is not None
    assert denial.code == "tool_denied"


def test_a_listed_tool_is_allowed_by_its_wire_name_only() -> None:
    found = policy(tools=("orders.get",))
    assert found.denial("orders_get", {"number": 1}) is None
    for other in ("orders.get", "ORDERS_GET", "orders_get ", "get", ""):
        assert found.find(other) is None
        denial = found.denial(other, {"number": 1})
        assert denial is not None
        assert denial.code == "tool_denied"


@pytest.mark.parametrize("name", ["orders_get", "orders.*", "*", "orders", ""])
def test_the_whitelist_knows_neither_wire_names_nor_patterns(name: str) -> None:
    assert policy(tools=(name,)).tools == ()


def test_the_tools_come_in_the_file_s_order() -> None:
    found = policy(tools=("orders.refund", "orders.get"))
    assert [tool.name for tool in found.tools] == ["orders.refund", "orders.get"]


# Limits on arguments


@pytest.mark.parametrize("amount", [100, 100.0, 250.5, 500, Decimal(100), Decimal("499.99")])
def test_a_number_within_the_limits_is_allowed(amount: object) -> None:
    found = limited("orders.refund", "amount", ArgumentLimit(minimum=100, maximum=500))
    assert found.denial("orders_refund", {"order": 1, "amount": amount}) is None


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (99.99, "must be at least 100"),
        (-1, "must be at least 100"),
        (Decimal("99.99"), "must be at least 100"),
        (500.01, "must be at most 500"),
        (10**400, "must be at most 500"),
        (-(10**400), "must be at least 100"),
        (math.nan, "must be a finite number"),
        (math.inf, "must be a finite number"),
        (-math.inf, "must be a finite number"),
        (Decimal("NaN"), "must be a finite number"),
        (Decimal("Infinity"), "must be a finite number"),
        (True, "must be a number"),
        (False, "must be a number"),
        ("250", "must be a number"),
        ("", "must be a number"),
        ([250], "must be a number"),
        ({"amount": 250}, "must be a number"),
        (None, "must be given"),
    ],
)
def test_a_number_outside_the_limits_or_no_number_is_denied(amount: object, said: str) -> None:
    found = limited("orders.refund", "amount", ArgumentLimit(minimum=100, maximum=500))
    text = reason(found.denial("orders_refund", {"order": 1, "amount": amount}))
    assert text.startswith("orders.refund: argument 'amount' ")
    assert said in text
    assert text.endswith("it was not executed.")


@pytest.mark.parametrize("limit", [ArgumentLimit(minimum=10), ArgumentLimit(maximum=10)])
@given(value=NUMBERS)
def test_one_bound_lets_through_nothing_but_numbers_on_its_side(limit: ArgumentLimit, value: object) -> None:
    denial = limited("orders.refund", "amount", limit).denial("orders_refund", {"order": 1, "amount": value})
    if denial is None:
        assert isinstance(value, int | float | Decimal)
        assert not isinstance(value, bool)
        assert value >= 10 if limit.minimum is not None else value <= 10
    else:
        assert denial.code == "argument_denied"


@pytest.mark.parametrize("limit", [ArgumentLimit(minimum=math.nan), ArgumentLimit(maximum=math.nan)])
def test_a_bound_that_is_no_number_denies_everything(limit: ArgumentLimit) -> None:
    for value in (-1e300, 0, 1e300):
        reason(limited("orders.refund", "amount", limit).denial("orders_refund", {"amount": value}))


def test_an_argument_that_is_left_out_counts_as_its_default() -> None:
    beyond = limited("orders.list", "limit", ArgumentLimit(maximum=20))
    assert "at most 20" in reason(beyond.denial("orders_list", {"customer": "C-1"}))
    within = limited("orders.list", "limit", ArgumentLimit(maximum=50))
    assert within.denial("orders_list", {"customer": "C-1"}) is None
    assert within.denial("orders_list", {"customer": "C-1", "limit": 51}) is not None


def test_a_default_of_decimals_is_a_number() -> None:
    assert limited("orders.list", "price", ArgumentLimit(maximum=10)).denial("orders_list", {}) is None
    reason(limited("orders.list", "price", ArgumentLimit(maximum=9)).denial("orders_list", {}))


def test_a_limited_argument_cannot_be_left_open() -> None:
    """`None` means every status to the tool, which is more than the one that is allowed."""
    found = limited("orders.list", "status", ArgumentLimit(one_of=("shipped",)))
    for arguments in ({"customer": "C-1"}, {"customer": "C-1", "status": None}):
        assert "must be given" in reason(found.denial("orders_list", arguments))
    assert found.denial("orders_list", {"customer": "C-1", "status": "shipped"}) is None


def test_a_required_argument_that_is_limited_cannot_be_left_out() -> None:
    found = limited("orders.refund", "amount", ArgumentLimit(maximum=500))
    assert "must be given" in reason(found.denial("orders_refund", {"order": 1}))


def test_a_limit_on_an_argument_that_does_not_exist_denies_the_tool() -> None:
    reason(limited("orders.get", "amount", ArgumentLimit(maximum=5)).denial("orders_get", {"number": 1}))


def test_a_prefix_is_the_beginning_of_the_text() -> None:
    found = limited("orders.list", "customer", ArgumentLimit(prefix="C-"))
    assert found.denial("orders_list", {"customer": "C-0001"}) is None
    for other in ("c-0001", " C-0001", "XC-", "", "C"):
        assert "must start with 'C-'" in reason(found.denial("orders_list", {"customer": other}))


def test_one_of_is_the_whole_text_and_of_the_same_type() -> None:
    found = limited("orders.list", "status", ArgumentLimit(one_of=("1", "shipped")))
    assert found.denial("orders_list", {"status": "shipped"}) is None
    for other in ("Shipped", "ship", "", 1, True, ["shipped"], {"shipped": 1}):
        assert "must be one of 1, shipped" in reason(found.denial("orders_list", {"status": other}))


def test_an_empty_choice_allows_nothing() -> None:
    found = limited("orders.list", "status", ArgumentLimit(one_of=()))
    reason(found.denial("orders_list", {"status": ""}))


def test_prefix_and_choice_hold_together() -> None:
    found = limited("orders.list", "status", ArgumentLimit(prefix="s", one_of=("shipped", "placed")))
    assert found.denial("orders_list", {"status": "shipped"}) is None
    assert "must start with" in reason(found.denial("orders_list", {"status": "placed"}))
    assert "must be one of" in reason(found.denial("orders_list", {"status": "sent"}))


def test_a_bound_does_not_switch_the_other_limits_off() -> None:
    found = limited("orders.list", "limit", ArgumentLimit(maximum=20, one_of=("5",)))
    assert "must be one of 5" in reason(found.denial("orders_list", {"limit": 10}))
    prefixed = limited("orders.list", "limit", ArgumentLimit(maximum=20, prefix="1"))
    assert prefixed.denial("orders_list", {"limit": 12}) is None
    assert "must start with '1'" in reason(prefixed.denial("orders_list", {"limit": 9}))


def test_every_limited_argument_is_judged() -> None:
    found = policy(
        tools=("orders.list",),
        tool_limits={
            "orders.list": {
                "customer": ArgumentLimit(prefix="C-"),
                "limit": ArgumentLimit(maximum=20),
            }
        },
    )
    assert found.denial("orders_list", {"customer": "C-1", "limit": 20}) is None
    assert "'limit'" in reason(found.denial("orders_list", {"customer": "C-1", "limit": 21}))
    assert "'customer'" in reason(found.denial("orders_list", {"customer": "D-1", "limit": 20}))


def test_the_limits_of_one_tool_are_not_those_of_another() -> None:
    found = policy(
        tools=("orders.get", "orders.list"),
        tool_limits={"orders.list": {"limit": ArgumentLimit(maximum=20)}},
    )
    assert found.denial("orders_get", {"number": 10**6}) is None


def test_a_limit_without_bounds_only_asks_that_the_argument_is_given() -> None:
    found = limited("orders.list", "status", ArgumentLimit())
    assert found.denial("orders_list", {"status": "anything"}) is None


# Approvals


def approving(when: str, **values: object) -> AgentContext:
    rule = Approval(when=when, decisions=("approve", "reject"))
    return context(tools=("orders.refund", "orders.get"), approvals={"orders.refund": rule}, **values)


def asked(found: Policy, name: str = "orders_refund", **arguments: object) -> Approval | None:
    tool = found.find(name)
    assert tool is not None
    return found.gate(tool, arguments)


@pytest.mark.parametrize(("amount", "asks"), [(100, True), (100.5, True), (99.99, False), (0, False)])
def test_the_file_s_predicate_decides_who_is_asked(amount: float, *, asks: bool) -> None:
    rule = asked(Policy.of(approving("amount >= 100"), TOOLBOX), order=1, amount=amount)
    expected = Approval(when="amount >= 100", decisions=("approve", "reject"))
    assert rule == (expected if asks else None)


def test_a_tool_s_own_predicate_holds_where_the_file_says_nothing() -> None:
    rule = asked(policy(tools=("orders.refund",)), order=1, amount=0.01)
    assert rule == Approval(when="always", decisions=("approve", "reject"))


def test_the_file_s_predicate_replaces_the_tool_s_own() -> None:
    assert asked(Policy.of(approving("never"), TOOLBOX), order=1, amount=5.0) is None


@pytest.mark.parametrize("amount", ["50", None, True, math.nan, math.inf, [50]])
def test_an_amount_that_cannot_be_compared_asks(amount: object) -> None:
    assert asked(Policy.of(approving("amount >= 100"), TOOLBOX), order=1, amount=amount) is not None


def test_a_call_without_the_argument_asks() -> None:
    assert asked(Policy.of(approving("amount >= 100"), TOOLBOX), order=1) is not None


def test_a_tool_without_a_predicate_asks_nobody() -> None:
    found = Policy.of(approving("always"), TOOLBOX)
    assert asked(found, "orders_get", number=1) is None
    assert asked(found, order=1, amount=1.0) is not None


def test_nobody_is_asked_for_what_is_denied_anyway() -> None:
    found = Policy.of(
        approving("always", tool_limits={"orders.refund": {"amount": ArgumentLimit(maximum=500)}}), TOOLBOX
    )
    assert "at most 500" in reason(found.denial("orders_refund", {"order": 1, "amount": 501.0}))


def test_what_is_beyond_a_limit_still_needs_its_person_where_limits_are_not_enforced() -> None:
    found = Policy.of(
        approving(
            "always",
            policy_mode="shadow",
            tool_limits={"orders.refund": {"amount": ArgumentLimit(maximum=500)}},
        ),
        TOOLBOX,
    )
    refund = found.find("orders_refund")
    assert refund is not None
    arguments = {"order": 1, "amount": 501.0}
    assert reason(found.excess(refund, arguments))
    assert found.gate(refund, arguments) is not None


@pytest.mark.parametrize("mode", ["enforce", "shadow"])
def test_the_policy_judges_alike_in_both_modes(mode: str) -> None:
    found = policy(
        policy_mode=mode,
        tools=("orders.get",),
        tool_limits={"orders.get": {"number": ArgumentLimit(maximum=9)}},
    )
    assert "at most 9" in reason(found.denial("orders_get", {"number": 10}))
    assert found.denial("orders_get", {"number": 9}) is None
    other = found.denial("orders_refund", {})
    assert other is not None
    assert other.code == "tool_denied"
