from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from pydantic import Field

from agent.context import Approval, ArgumentLimit, Limits
from agent.history.calls import UNREADABLE
from agent.policy import Denial, Policy
from agent.tools.registry import Registry
from agent.verdict import Verdict, awaited, judge, permitted, used_up
from tests.unit.agent.contexts import context

TOOLS = ("orders.get", "orders.refund", "orders.note")
DEFAULT = Approval(when="amount >= 100", decisions=("approve", "reject"))


def toolbox() -> Registry:
    registry = Registry()

    @registry.tool("orders.get", risk="read")
    async def get(number: int, part: str = "all") -> str:
        """Look up an order."""
        return f"{number} {part}"

    @registry.tool("orders.refund", risk="write", approval="amount >= 100")
    async def refund(order: int, amount: Annotated[float, Field(gt=0)]) -> str:
        """Refund an order."""
        return f"{order} {amount}"

    @registry.tool("orders.note", risk="write")
    async def note(text: str) -> str:
        """Note something on an order."""
        return text

    @registry.tool("orders.six", risk="read")
    async def six(*, a: int, b: int, c: int, d: int, e: int, f: int) -> str:
        """Take six numbers."""
        return f"{a} {b} {c} {d} {e} {f}"

    assert all(callable(tool) for tool in (get, refund, note, six))
    return registry


TOOLBOX = toolbox()


def policy(**values: Any) -> Policy:
    return Policy.of(context(**{"tools": TOOLS, **values}), TOOLBOX)


def call(identity: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, args=arguments, id=identity, type="tool_call")


def refund(identity: str, amount: float, *, order: int = 7) -> ToolCall:
    return call(identity, "orders_refund", order=order, amount=amount)


def asks(*made: ToolCall) -> AIMessage:
    return AIMessage("", tool_calls=list(made))


def said(*made: AnyMessage) -> list[AnyMessage]:
    return [HumanMessage("please"), *made]


def refused(identity: str, code: str, *, decision: str | None = None) -> ToolMessage:
    told = {"approval": {"id": "a", "decision": decision}} if decision else {}
    content = json.dumps({"error": code, "message": "…"})
    return ToolMessage(content, tool_call_id=identity, status="error", additional_kwargs=told)


def alone(made: ToolCall, **values: Any) -> Verdict:
    """The verdict on the only call of a turn."""
    return judge(policy(**values), made, said(asks(made)))


# One call


def test_an_allowed_call_is_executed_without_asking() -> None:
    assert alone(call("1", "orders_get", number=7)) == Verdict(TOOLBOX.get("orders.get"))
    assert alone(refund("1", 99.99)) == Verdict(TOOLBOX.get("orders.refund"))
    assert not alone(refund("1", 99.99)).asks


@pytest.mark.parametrize("name", ["orders_delete", "orders.get", "orders_six", ""])
def test_a_tool_that_the_run_does_not_have_is_denied_before_anything_else(name: str) -> None:
    denial = Denial(
        "tool_denied",
        f"There is no tool {name!r} here. You can use: orders_get, orders_note, orders_refund.",
    )
    assert alone(call("1", name, **{UNREADABLE: "{"}), limits=Limits(tool_calls=0)) == Verdict(None, denial)


def test_arguments_that_were_no_json_are_answered_as_such() -> None:
    verdict = alone(call("1", "orders_refund", **{UNREADABLE: '{"order": 7'}))
    assert verdict.tool is TOOLBOX.get("orders.refund")
    assert verdict.denial == Denial(
        "arguments_unreadable",
        "orders.refund: the arguments were not valid JSON, so nothing was executed. Call it again with a "
        "JSON object that fits the schema.",
    )
    assert not verdict.asks


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"order": 7}, "amount: Field required."),
        ({"order": 7, "amount": 0}, "amount: Input should be greater than 0."),
        (
            {"order": "x", "amount": -1.0},
            (
                "order: Input should be a valid integer, unable to parse string as an integer; "
                "amount: Input should be greater than 0."
            ),
        ),
    ],
)
def test_arguments_against_the_schema_are_denied_with_what_is_wrong_and_not_asked_about(
    arguments: dict[str, Any], text: str
) -> None:
    rule = {"orders.refund": Approval(when="always", decisions=("approve",))}
    verdict = alone(call("1", "orders_refund", **arguments), approvals=rule)
    assert verdict.denial == Denial("arguments_invalid", f"orders.refund was not executed. {text}")
    assert (verdict.rule, verdict.asks) == (None, False)


def test_the_model_is_told_five_faults_at_most_and_never_the_values() -> None:
    arguments = dict.fromkeys("abcdef", "hunter2")
    verdict = alone(call("1", "orders_six", **arguments), tools=("orders.six",))
    assert verdict.denial is not None
    assert verdict.denial.text.count("Input should be a valid integer") == 5
    assert "f: " not in verdict.denial.text
    assert "hunter2" not in verdict.denial.text


LIMIT = {"orders.refund": {"amount": ArgumentLimit(maximum=500)}}
BEYOND = Denial(
    "argument_denied", "orders.refund: argument 'amount' must be at most 500; it was not executed."
)


def test_a_call_beyond_its_limits_is_denied_and_nobody_is_asked() -> None:
    verdict = alone(refund("1", 501), tool_limits=LIMIT)
    assert verdict == Verdict(TOOLBOX.get("orders.refund"), BEYOND)
    assert not verdict.asks
    assert alone(refund("1", 500), tool_limits=LIMIT).asks


def test_shadow_only_notes_what_is_beyond_and_still_asks() -> None:
    verdict = alone(refund("1", 501), tool_limits=LIMIT, policy_mode="shadow")
    assert verdict == Verdict(TOOLBOX.get("orders.refund"), shadowed=BEYOND, rule=DEFAULT)
    assert verdict.asks


def test_a_gated_call_asks_by_the_assistant_s_rule_or_else_by_the_tool_s() -> None:
    assert alone(refund("1", 100)) == Verdict(TOOLBOX.get("orders.refund"), rule=DEFAULT)
    rule = Approval(when="amount >= 10", decisions=("approve",), expires=60, by="boss")
    own = alone(refund("1", 10), approvals={"orders.refund": rule})
    assert (own.rule, own.asks) == (rule, True)


# What the turn has done before


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_a_call_beyond_the_turn_s_calls_is_denied_and_not_asked_about(allowed: int) -> None:
    made = [refund("1", 100), refund("2", 200), refund("3", 300)]
    limited = policy(limits=Limits(tool_calls=allowed))
    found = [judge(limited, one, said(asks(*made))) for one in made]
    assert [verdict.asks for verdict in found] == [place < allowed for place in range(3)]
    assert {verdict.denial for verdict in found[allowed:]} == {used_up(allowed)}
    assert used_up(2) == Denial(
        "tool_calls_used_up", "This turn may make 2 tool calls and has; this one was not executed."
    )


def test_a_negative_limit_allows_no_call() -> None:
    assert alone(call("1", "orders_get", number=7), limits=Limits(tool_calls=-1)).denial == used_up(-1)


def test_the_same_call_again_is_denied_and_not_asked_about() -> None:
    made = refund("1", 100), refund("2", 100)
    verdict = judge(policy(), made[1], said(asks(*made)))
    assert verdict == Verdict(
        TOOLBOX.get("orders.refund"),
        Denial(
            "repeated_call",
            "This very call was already made in this turn; its result stands above and is unchanged. "
            "Change your approach.",
        ),
        rule=DEFAULT,
    )
    assert not verdict.asks
    assert judge(policy(), made[0], said(asks(*made))).asks


@pytest.mark.parametrize(
    ("before", "asked"),
    [
        (refused("1", "approval_rejected", decision="reject"), False),
        (refused("1", "approval_expired"), True),
        (refused("1", "tool_failed", decision="approve"), True),
        (refused("1", "tool_timeout", decision="edit"), True),
        (ToolMessage("refunded", tool_call_id="1"), False),
    ],
)
def test_a_call_is_a_repeat_unless_it_failed_or_nobody_decided(before: ToolMessage, *, asked: bool) -> None:
    """B-04, B-22: a rejection holds for the turn; what failed may be tried and is asked about again."""
    again = refund("2", 100)
    verdict = judge(policy(), again, said(asks(refund("1", 100)), before, asks(again)))
    assert verdict.asks is asked
    assert (verdict.denial is None) is asked
    assert verdict.denial is None or verdict.denial.code == "repeated_call"


def test_a_new_message_of_a_person_begins_anew() -> None:
    earlier = said(asks(refund("1", 100)), ToolMessage("refunded", tool_call_id="1"), AIMessage("done"))
    made = refund("2", 100)
    limits = Limits(tool_calls=1, approvals=1)
    assert judge(policy(limits=limits), made, [*earlier, HumanMessage("again"), asks(made)]).asks


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_a_turn_asks_no_more_often_than_it_may(allowed: int) -> None:
    made = [refund("1", 100), call("r", "orders_get", number=1), refund("2", 200), refund("3", 300)]
    limited = policy(limits=Limits(approvals=allowed))
    found = {one["id"]: judge(limited, one, said(asks(*made))) for one in made}
    assert [identity for identity, verdict in found.items() if verdict.asks] == ["1", "2"][:allowed]
    assert found["r"].denial is None
    assert found["3"].denial == Denial(
        "approvals_used_up",
        "orders_refund needs a person's approval, and this turn has asked as often as it may. It was not "
        "executed.",
    )


@pytest.mark.parametrize(
    ("answered", "counts"),
    [
        (ToolMessage("refunded", tool_call_id="1"), True),
        (refused("1", "approval_rejected", decision="reject"), True),
        (refused("1", "approval_expired"), True),
        (refused("1", "tool_failed", decision="approve"), True),
        (refused("1", "tool_calls_used_up"), False),
        (refused("1", "repeated_call"), False),
        (refused("1", "approvals_used_up"), False),
    ],
)
def test_only_calls_that_were_asked_about_count_as_questions(answered: ToolMessage, *, counts: bool) -> None:
    made = refund("2", 200)
    limited = policy(limits=Limits(approvals=1))
    verdict = judge(limited, made, said(asks(refund("1", 100)), answered, asks(made)))
    assert verdict.asks is not counts
    assert (verdict.denial is not None) is counts


def test_calls_without_ids_are_judged_too() -> None:
    made = ToolCall(name="orders_refund", args={"order": 7, "amount": 100}, id=None, type="tool_call")
    assert judge(policy(limits=Limits(approvals=1, tool_calls=1)), made, said(asks(made))).asks


# What does not depend on the turn


def test_what_a_person_edited_is_judged_by_policy_and_schema_alone() -> None:
    """The limits of the turn were passed when the call was asked about."""
    narrow = policy(limits=Limits(tool_calls=0, approvals=0), tool_limits=LIMIT)
    assert permitted(narrow, refund("1", 500)) == Verdict(TOOLBOX.get("orders.refund"), rule=DEFAULT)
    assert permitted(narrow, refund("1", 501)).denial == BEYOND
    assert permitted(narrow, refund("1", -1)).denial == Denial(
        "arguments_invalid", "orders.refund was not executed. amount: Input should be greater than 0."
    )
    assert permitted(policy(tools=()), refund("1", 1)).denial == Denial(
        "tool_denied", "There is no tool 'orders_refund' here. You have no tools; answer without."
    )


# What a write waits for


def test_a_write_waits_for_the_calls_beside_it_that_ask() -> None:
    """B-22: not for itself, for reads, for small amounts, for denied calls or those of other answers."""
    write = call("w", "orders_note", text="x")
    beside = [
        refund("1", 100),
        write,
        call("r", "orders_get", number=1),
        refund("2", 5),
        refund("3", -1),
        call("4", "orders_delete"),
        refund("5", 300),
        refund("6", 300),
    ]
    thread = said(asks(refund("0", 900)), ToolMessage("refunded", tool_call_id="0"), asks(*beside))
    found = awaited(policy(), write, thread)
    assert [(one["id"], verdict) for one, verdict in found] == [
        ("1", Verdict(TOOLBOX.get("orders.refund"), rule=DEFAULT)),
        ("5", Verdict(TOOLBOX.get("orders.refund"), rule=DEFAULT)),
    ]


def test_a_write_waits_for_no_call_that_may_not_ask_any_more() -> None:
    write = call("w", "orders_note", text="x")
    beside = asks(refund("1", 100), refund("2", 200), write)
    found = awaited(policy(limits=Limits(approvals=1)), write, said(beside))
    assert [one["id"] for one, _ in found] == ["1"]
    assert awaited(policy(limits=Limits(approvals=0)), write, said(beside)) == []


def test_a_call_of_no_answer_waits_for_nothing() -> None:
    assert awaited(policy(), call("w", "orders_note", text="x"), said(asks(refund("1", 100)))) == []


# Anything that a model may send

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["order", "amount", "number", "part", "text", UNREADABLE])
WIRES = st.sampled_from(["orders_get", "orders_refund", "orders_note", "orders_six", "nothing"])


@given(WIRES, st.dictionaries(NAMES | st.text(max_size=4), JSON, max_size=4), st.booleans())
def test_every_call_gets_one_verdict(wire: str, arguments: dict[str, Any], shadow: bool) -> None:  # noqa: FBT001
    mode = "shadow" if shadow else "enforce"
    verdict = alone(call("1", wire, **arguments), tool_limits=LIMIT, policy_mode=mode)
    assert (verdict.tool is None) == (wire in ("orders_six", "nothing"))
    if verdict.tool is None:
        assert verdict.denial is not None
    elif verdict.denial is None:
        verdict.tool.arguments.model_validate(arguments)
        amount = arguments.get("amount")
        small = isinstance(amount, int | float) and not isinstance(amount, bool) and amount < 100
        assert verdict.asks is (wire == "orders_refund" and not small)
