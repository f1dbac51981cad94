from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import pytest
from inline_snapshot import snapshot
from pydantic import Field, ValidationError

from agent.errors import ToolRegistrationError
from agent.tools.registry import Registry, Tool, ToolCall, wire_name

Amount = Annotated[float, Field(gt=0, le=1_000, description="Amount in the order's currency.")]


async def plain(number: int) -> str:
    """Look up an order."""
    return str(number)


async def refund(order: int, amount: Amount, *, reason: str = "goodwill", call: ToolCall) -> str:
    """Refund an amount of one order.

    Look the order up first.
    """
    return f"{order} {amount} {reason} {call.tenant}"


def registered(run: Callable[..., Awaitable[object]], name: str = "orders.get", **options: Any) -> Tool:
    registry = Registry()
    given: dict[str, Any] = {"risk": "read", **options}
    registry.tool(name, **given)(run)
    tool = registry.get(name)
    assert tool is not None
    return tool


def refused(run: Callable[..., Any], name: str = "orders.get") -> str:
    registry = Registry()
    with pytest.raises(ToolRegistrationError) as caught:
        registry.tool(name, risk="read")(run)
    assert len(registry) == 0
    assert caught.value.code == "tool_registration"
    return str(caught.value)


def test_a_tool_is_found_by_its_name_and_by_its_wire_name() -> None:
    registry = Registry()
    assert registry.tool("orders.get", risk="read")(plain) is plain
    tool = registry.get("orders.get")
    assert tool is not None
    assert (tool.name, tool.wire, tool.run) == ("orders.get", "orders_get", plain)
    assert registry.by_wire("orders_get") is tool
    assert registry.get("orders_get") is None
    assert registry.by_wire("orders.get") is None
    assert (len(registry), list(registry), registry.names()) == (1, [tool], ["orders.get"])


def test_what_is_not_said_is_the_careful_choice() -> None:
    tool = registered(plain)
    assert (tool.timeout, tool.output_cap, tool.approval, tool.scopes) == (10.0, 20_000, None, frozenset())


@pytest.mark.parametrize(
    ("risk", "said", "idempotent"),
    [
        ("read", None, True),
        ("write", None, False),
        ("dangerous", None, False),
        ("write", True, True),
        ("read", False, False),
    ],
)
def test_only_reads_may_be_repeated_unless_the_tool_says_so(
    risk: str, *, said: bool | None, idempotent: bool
) -> None:
    assert registered(plain, risk=risk, idempotent=said).idempotent is idempotent


def test_a_tool_keeps_what_it_was_declared_with() -> None:
    tool = registered(
        refund,
        "orders.refund",
        risk="dangerous",
        timeout=2.5,
        output_cap=100,
        approval="amount >= 100",
        scopes=["billing", "billing"],
    )
    assert (tool.risk, tool.timeout, tool.output_cap) == ("dangerous", 2.5, 100)
    assert (tool.approval, tool.scopes) == ("amount >= 100", frozenset({"billing"}))


def test_names_come_sorted_and_tools_in_the_order_of_the_question() -> None:
    registry = Registry()
    for name in ("orders.refund", "kb.search", "orders.get"):
        registry.tool(name, risk="read")(plain)
    assert registry.names() == ["kb.search", "orders.get", "orders.refund"]
    assert [tool.name for tool in registry] == ["orders.refund", "kb.search", "orders.get"]
    asked = ["orders.get", "files.delete", "kb.search", "orders_get"]
    assert [tool.name for tool in registry.select(asked)] == ["orders.get", "kb.search"]
    assert registry.select([]) == []


def test_a_name_is_taken_once() -> None:
    registry = Registry()
    registry.tool("orders.get", risk="read")(plain)
    with pytest.raises(ToolRegistrationError, match=r"'orders\.get' is registered twice"):
        registry.tool("orders.get", risk="write")(refund)
    tool = registry.get("orders.get")
    assert tool is not None
    assert (tool.run, tool.risk) == (plain, "read")


def test_two_names_with_one_wire_name_are_refused() -> None:
    registry = Registry()
    registry.tool("orders.get_all", risk="read")(plain)
    with pytest.raises(ToolRegistrationError, match=r"shares its wire name 'orders_get_all' with") as caught:
        registry.tool("orders.get.all", risk="read")(plain)
    assert "'orders.get_all'" in str(caught.value)
    assert registry.names() == ["orders.get_all"]


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        "Orders.get",
        "orders.Get",
        "orders get",
        "orders-x.get",
        ".get",
        "orders.",
        "orders..get",
        "1orders.get",
        "orders.1get",
        "orders._get",
        "orders/get",
        "orders.get\n",
        "",
        "o." + "x" * 63,
    ],
)
def test_a_name_that_no_provider_or_file_takes_is_refused(name: str) -> None:
    said = refused(plain, name)
    assert repr(name) in said
    assert "dotted lower-case words" in said


def test_the_longest_name_fits_the_wire() -> None:
    tool = registered(plain, "o." + "x" * 62)
    assert len(tool.wire) == 64


def test_a_wire_name_has_no_dots() -> None:
    assert wire_name("orders.refund.all") == "orders_refund_all"


def test_a_function_that_is_not_async_is_refused() -> None:
    def get(number: int) -> str:
        """Look up an order."""
        return str(number)

    assert "must be an async function" in refused(get)


def test_an_object_with_an_async_call_is_refused() -> None:
    class Get:
        """Look up an order."""

        async def __call__(self, number: int) -> str:
            return str(number)

    assert "must be an async function" in refused(Get())


def test_a_function_without_a_docstring_is_refused() -> None:
    async def silent(number: int) -> str:
        return str(number)

    async def empty(number: int) -> str:
        """ """
        return str(number)

    assert "has no docstring" in refused(silent)
    assert "has no docstring" in refused(empty)


def test_an_argument_without_a_type_is_refused_by_name() -> None:
    async def get(number: int, verbose: bool) -> str:  # noqa: FBT001 - as a tool is called
        """Look up an order."""
        return f"{number} {verbose}"

    del get.__annotations__["verbose"]
    assert "argument 'verbose' has no type" in refused(get)


def test_arguments_without_number_are_refused() -> None:
    async def many(*numbers: int) -> str:
        """Look up orders."""
        return str(numbers)

    async def named(**numbers: int) -> str:
        """Look up orders."""
        return str(numbers)

    assert "argument 'numbers' takes any number of values" in refused(many)
    assert "argument 'numbers' takes any number of values" in refused(named)


def test_an_argument_that_has_no_name_for_the_caller_is_refused() -> None:
    async def get(number: int, /) -> str:
        """Look up an order."""
        return str(number)

    assert "argument 'number'" in refused(get)


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[ToolCall, "the call"],
        ToolCall | None,
        list[ToolCall],
        "dict[str, ToolCall]",
    ],
    ids=["annotated", "union", "list", "text"],
)
def test_the_call_cannot_become_an_argument_that_the_model_fills_in(annotation: Any) -> None:
    async def get(number: int, call: Any = None) -> str:
        """Look up an order."""
        return f"{number} {call}"

    get.__annotations__["call"] = annotation
    assert "argument 'call'" in refused(get)


def test_the_call_is_passed_once() -> None:
    async def get(number: int, call: ToolCall, again: ToolCall) -> str:
        """Look up an order."""
        return f"{number} {call} {again}"

    assert "argument 'again'" in refused(get)


def test_a_method_s_self_is_no_argument() -> None:
    class Tools:
        async def get(self, number: int) -> str:
            """Look up an order."""
            return str(number)

    assert list(registered(Tools().get).arguments.model_fields) == ["number"]


def test_the_call_is_hidden_from_the_model() -> None:
    tool = registered(refund, "orders.refund")
    assert tool.call_argument == "call"
    assert list(tool.arguments.model_fields) == ["order", "amount", "reason"]
    assert "call" not in str(tool.schema())
    assert "tenant" not in str(tool.schema())


def test_the_model_cannot_pass_a_call_of_its_own() -> None:
    tool = registered(refund, "orders.refund")
    forged = {"tenant": "globex", "principal": "globex/boss", "thread": "t", "call_id": "c"}
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        tool.arguments.model_validate({"order": 1, "amount": 2.0, "call": forged})


def test_a_tool_without_a_call_gets_none() -> None:
    assert registered(plain).call_argument is None


def test_the_name_of_the_call_is_free() -> None:
    async def get(number: int, *, who: ToolCall) -> str:
        """Look up an order."""
        return f"{number} {who.key}"

    assert registered(get).call_argument == "who"


def test_arguments_are_checked_as_they_are_annotated() -> None:
    arguments = registered(refund, "orders.refund").arguments
    assert arguments.model_validate({"order": 1, "amount": 2}).model_dump() == {
        "order": 1,
        "amount": 2.0,
        "reason": "goodwill",
    }
    for wrong in ({"order": 1}, {"order": 1, "amount": 0}, {"order": 1, "amount": 2, "note": "x"}):
        with pytest.raises(ValidationError):
            arguments.model_validate(wrong)


def test_the_schema_is_what_the_model_is_shown() -> None:
    async def find(
        customer: Annotated[str, Field(min_length=1, description="Customer id, such as C-0001.")],
        status: Literal["paid", "sent"] | None = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        *,
        call: ToolCall,
    ) -> str:
        """List the orders of one customer.

        Newest first.
        """
        return f"{customer} {status} {limit} {call}"

    assert registered(find, "orders.find").schema() == snapshot(
        {
            "type": "function",
            "function": {
                "name": "orders_find",
                "description": """\
List the orders of one customer.

Newest first.\
""",
                "parameters": {
                    "additionalProperties": False,
                    "properties": {
                        "customer": {
                            "description": "Customer id, such as C-0001.",
                            "minLength": 1,
                            "title": "Customer",
                            "type": "string",
                        },
                        "status": {
                            "anyOf": [{"enum": ["paid", "sent"], "type": "string"}, {"type": "null"}],
                            "default": None,
                            "title": "Status",
                        },
                        "limit": {
                            "default": 10,
                            "maximum": 50,
                            "minimum": 1,
                            "title": "Limit",
                            "type": "integer",
                        },
                    },
                    "required": ["customer"],
                    "type": "object",
                },
            },
        }
    )


def test_the_description_is_the_docstring_without_its_indent() -> None:
    tool = registered(refund, "orders.refund")
    assert tool.description == "Refund an amount of one order.\n\nLook the order up first."
    assert tool.description == inspect.getdoc(refund)


def test_the_key_of_an_effect_is_the_same_for_every_retry_and_for_nothing_else() -> None:
    call = ToolCall(tenant="acme", principal="acme/u1", thread="t1", call_id="c1")
    assert call.key == "acme:t1:c1"
    again = ToolCall(tenant="acme", principal="acme/u2", thread="t1", call_id="c1")
    assert again.key == call.key
    others = [
        ToolCall(tenant="globex", principal="acme/u1", thread="t1", call_id="c1"),
        ToolCall(tenant="acme", principal="acme/u1", thread="t2", call_id="c1"),
        ToolCall(tenant="acme", principal="acme/u1", thread="t1", call_id="c2"),
    ]
    assert len({call.key, *(other.key for other in others)}) == 4
