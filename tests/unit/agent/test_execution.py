from __future__ import annotations

import asyncio
import datetime as dt
import json
import logging
from collections.abc import Awaitable, Callable
from decimal import Decimal

import pytest
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from pydantic import BaseModel, ValidationError

from agent.errors import RunRefused, ToolFailure
from agent.execution import OK, Ended, calling, execute, perform, served
from agent.policy import Denial
from agent.tools.registry import Registry, Tool, ToolCall

pytestmark = pytest.mark.anyio

CALL = ToolCall(tenant="acme", principal="acme/ann", thread="t1", call_id="c1")


class Line(BaseModel):
    """A line of an order."""

    name: str
    count: int = 1


@pytest.fixture
def registry() -> Registry:
    registry = Registry()

    @registry.tool("shop.order", risk="write", timeout=0.05)
    async def order(line: Line, price: Decimal = Decimal("9.90"), *, call: ToolCall) -> dict[str, object]:
        """Order a line."""
        return {"name": line.name, "count": line.count, "price": price, "by": call.principal}

    @registry.tool("shop.ping", risk="read")
    async def ping(word: str) -> str:
        """Say it back."""
        return word

    @registry.tool("shop.slow", risk="read", timeout=0.05)
    async def slow() -> str:
        """Never ends."""
        await asyncio.Event().wait()
        return "late"

    assert all(callable(tool) for tool in (order, ping, slow))
    return registry


@pytest.fixture
def tool(registry: Registry) -> Tool:
    found = registry.get("shop.order")
    assert found is not None
    return found


def giving(text: str) -> Callable[[], Awaitable[str]]:
    async def run() -> str:
        return text

    return run


def raising(error: BaseException) -> Callable[[], Awaitable[str]]:
    async def run() -> str:
        raise error

    return run


def told(ended: Ended) -> dict[str, str]:
    return json.loads(ended.text)


# How a call ends


async def test_a_call_that_works_ends_with_its_text_and_only_what_nobody_can_store_is_replaced(
    tool: Tool,
) -> None:
    assert await execute(tool, CALL, giving("")) == Ended(OK, "")
    text = "已退款 \x00 \ud83d | \ud83d\ude00"
    assert await execute(tool, CALL, giving(text)) == Ended(OK, "已退款 \ufffd \ufffd | 😀")


class Refused(ToolFailure):
    """The shop says no."""

    code = "refund_refused"


async def test_what_a_tool_says_on_purpose_is_told_to_the_model(tool: Tool) -> None:
    ended = await execute(tool, CALL, raising(Refused("Order 7 is unknown \x00; check the number.")))
    assert ended.code == "refund_refused"
    assert told(ended) == {
        "error": "refund_refused",
        "message": "Order 7 is unknown \x00; check the number.",
    }
    assert "\x00" not in ended.text


async def test_what_a_tool_does_not_say_on_purpose_stays_in_the_log(
    tool: Tool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="agent.execution"):
        ended = await execute(tool, CALL, raising(RuntimeError("password=hunter2 at /srv/secret.py")))
    assert ended.code == "tool_failed"
    assert told(ended) == {
        "error": "tool_failed",
        "message": "shop.order failed; its outcome is unknown. Do not guess a result.",
    }
    (record,) = caplog.records
    assert (record.message, record.__dict__["tool"]) == ("tool failed", "shop.order")


async def test_a_tool_is_given_up_after_its_time(tool: Tool) -> None:
    async def run() -> str:
        await asyncio.Event().wait()
        return "late"

    ended = await execute(tool, CALL, run)
    assert ended.code == "tool_timeout"
    assert told(ended)["message"] == "shop.order did not finish within 0.05 s; its outcome is unknown."


async def test_a_group_of_failures_is_one_failure(tool: Tool) -> None:
    async def run() -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(60))
            group.create_task(asyncio.to_thread(int, "no number"))
        return "never"

    assert (await execute(tool, CALL, run)).code == "tool_failed"


@pytest.mark.parametrize("stop", [GraphInterrupt(()), GraphBubbleUp("stop")])
async def test_a_tool_that_interrupts_the_run_has_not_failed(tool: Tool, stop: GraphBubbleUp) -> None:
    with pytest.raises(GraphBubbleUp) as raised:
        await execute(tool, CALL, raising(stop))
    assert raised.value is stop


async def test_a_cancelled_run_is_cancelled(tool: Tool) -> None:
    under_way = asyncio.Event()

    async def run() -> str:
        under_way.set()
        await asyncio.Event().wait()
        return "never"

    slow = asyncio.create_task(execute(tool, CALL, run))
    await under_way.wait()
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow


async def test_a_tool_that_stops_only_itself_does_not_end_the_run(tool: Tool) -> None:
    async def run() -> str:
        part = asyncio.create_task(asyncio.sleep(60))
        part.cancel()
        await part
        return "never"

    ended = await execute(tool, CALL, run)
    assert ended.code == "tool_failed"
    assert told(ended)["message"] == (
        "shop.order stopped itself; its outcome is unknown. Do not guess a result."
    )


def test_a_refusal_is_json_that_can_be_stored() -> None:
    ended = Ended.refused(Denial("approval_rejected", 'No: "too much" \ud83d 已'))
    assert ended.code == "approval_rejected"
    assert told(ended) == {"error": "approval_rejected", "message": 'No: "too much" \ufffd 已'}
    assert "已" in ended.text


# What runs


async def test_arguments_become_what_the_tool_declares(tool: Tool) -> None:
    text = await perform(tool, {"line": {"name": "Tasse", "count": "2"}, "price": 1.5}, CALL)
    assert json.loads(text) == {"name": "Tasse", "count": 2, "price": "1.5", "by": "acme/ann"}


async def test_arguments_that_are_left_out_have_their_defaults(tool: Tool) -> None:
    text = await perform(tool, {"line": {"name": "Tasse"}}, CALL)
    assert json.loads(text) == {"name": "Tasse", "count": 1, "price": "9.90", "by": "acme/ann"}


@pytest.mark.parametrize(
    "arguments", [{}, {"line": {"name": "Tasse"}, "call": {"tenant": "globex"}}, {"line": "Tasse"}]
)
async def test_arguments_against_the_schema_are_not_performed(
    tool: Tool, arguments: dict[str, object]
) -> None:
    with pytest.raises(ValidationError):
        await perform(tool, arguments, CALL)


async def test_a_text_is_given_as_it_is_and_anything_else_as_json(registry: Registry) -> None:
    results: list[object] = ["Köln", "", {"day": dt.date(2027, 1, 2)}, ["Köln"], None, 1.5]

    @registry.tool("shop.any", risk="read")
    async def anything() -> object:
        """Give anything."""
        return results.pop(0)

    assert anything
    found = registry.get("shop.any")
    assert found is not None
    texts = [await perform(found, {}, CALL) for _ in range(6)]
    assert texts == ["Köln", "", '{"day": "2027-01-02"}', '["Köln"]', "null", "1.5"]


# The tools of a graph


async def test_a_tool_learns_the_facts_of_its_own_call_only(registry: Registry) -> None:
    tools = {tool.name: tool for tool in served(registry)}
    assert sorted(tools) == ["shop_order", "shop_ping", "shop_slow"]
    tool = registry.get("shop.order")
    assert tool is not None

    async def one(principal: str) -> Ended:
        facts = ToolCall(tenant="acme", principal=principal, thread="t1", call_id=principal)

        async def run() -> str:
            return str(await tools["shop_order"].ainvoke({"line": {"name": principal}}))

        return await execute(tool, facts, run)

    found = await asyncio.gather(*(one(f"acme/u{number}") for number in range(5)))
    assert [told(ended)["by"] for ended in found] == [f"acme/u{number}" for number in range(5)]


@pytest.mark.parametrize("before", [giving("fine"), raising(RuntimeError("no")), raising(ToolFailure("no"))])
async def test_nothing_runs_outside_a_call_nor_after_one(
    registry: Registry, tool: Tool, before: Callable[[], Awaitable[str]]
) -> None:
    await execute(tool, CALL, before)
    ping = next(one for one in served(registry) if one.name == "shop_ping")
    with pytest.raises(RunRefused, match=r"Tool 'shop\.ping' runs behind the guard only\."):
        await ping.ainvoke({"word": "hi"})
    with calling(CALL):
        assert await ping.ainvoke({"word": "hi"}) == "hi"


def test_the_model_is_shown_what_the_registry_declares(registry: Registry) -> None:
    ping = next(one for one in served(registry) if one.name == "shop_ping")
    declared = registry.get("shop.ping")
    assert declared is not None
    assert (ping.description, ping.args_schema) == ("Say it back.", declared.arguments)
