from __future__ import annotations

import asyncio
import datetime as dt
import logging
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.types import interrupt

from agent.context import AgentContext, Approval, ArgumentLimit, ModelChoice
from agent.errors import RunRefused, ToolFailure
from agent.middleware.guard import served
from agent.tools.registry import Registry, ToolCall
from tests.unit.agent import contexts
from tests.unit.agent.stage import SECRET, Cast, Speaker, calls, refusal, results, run

pytestmark = pytest.mark.anyio


@dataclass
class World:
    """What the tools did outside."""

    refunds: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    seen: list[ToolCall] = field(default_factory=list[ToolCall])


@pytest.fixture(autouse=True)
def _server_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNALBOX_SERVER_SECRET", SECRET)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def registry(world: World) -> Registry:
    registry = Registry()

    @registry.tool("orders.refund", risk="write", approval="amount >= 100")
    async def refund(order: int, amount: float, *, call: ToolCall) -> str:
        """Refund an order."""
        world.refunds.append((order, amount))
        world.seen.append(call)
        return "refunded"

    @registry.tool("texts.long", risk="read", output_cap=10)
    async def long(length: int) -> str:
        """A long text."""
        return "".join(chr(ord("a") + number % 26) for number in range(length))

    @registry.tool("texts.map", risk="read")
    async def mapped() -> dict[str, object]:
        """A map."""
        return {"day": dt.date(2027, 1, 2), "city": "Köln"}

    @registry.tool("texts.slow", risk="read", timeout=0.05)
    async def slow() -> str:
        """Never ends."""
        await asyncio.Event().wait()
        return "late"

    @registry.tool("texts.broken", risk="read")
    async def broken() -> str:
        """Breaks."""
        raise RuntimeError("password=hunter2 at /srv/secret.py")

    @registry.tool("texts.unknown", risk="read")
    async def unknown() -> str:
        """Knows nothing."""
        raise ToolFailure("Order 7 is unknown; check the number.")

    @registry.tool("texts.asks", risk="read")
    async def asks() -> str:
        """Asks a person."""
        return str(interrupt("may I?"))

    assert [refund, long, mapped, slow, broken, unknown, asks]
    return registry


def context(*tools: str, **values: Any) -> AgentContext:
    return contexts.context(tools=tools, model=ModelChoice(name="openai:one"), **values)


async def result_of(
    registry: Registry, given: AgentContext, name: str, arguments: dict[str, Any], *, unattended: bool = False
) -> Any:
    """The only result of a turn in which the model makes one call; an unattended one asks nobody."""
    speaker = Speaker(lines=[calls((name, arguments)), AIMessage("done")])
    messages = await run(registry, Cast(one=speaker), given, unattended=unattended)
    assert messages[-1].content == "done"
    found = results(messages)
    assert [(message.tool_call_id, message.name) for message in found] == [("call-0", name)]
    return found[0]


async def test_an_allowed_call_is_executed_with_the_facts_of_its_run(
    registry: Registry, world: World
) -> None:
    result = await result_of(registry, context("orders.refund"), "orders_refund", {"order": 7, "amount": 5.0})
    assert (result.content, result.status) == ("refunded", "success")
    assert world.refunds == [(7, 5.0)]
    assert world.seen == [ToolCall(tenant="acme", principal="acme/u1", thread="thread-1", call_id="call-0")]


async def test_the_model_sees_its_assistant_s_tools_only(registry: Registry) -> None:
    speaker = Speaker(lines=[AIMessage("done")])
    await run(registry, Cast(one=speaker), context("texts.map", "files.delete", "orders.refund"))
    assert [set(names) for names in speaker.shown] == [{"texts_map", "orders_refund"}]


async def test_a_model_without_tools_is_shown_none(registry: Registry) -> None:
    speaker = Speaker(lines=[AIMessage("done")])
    await run(registry, Cast(one=speaker), context())
    assert not any(speaker.shown)


async def test_a_hidden_tool_is_not_executed_when_the_model_names_it(
    registry: Registry, world: World
) -> None:
    result = await result_of(registry, context("texts.map"), "orders_refund", {"order": 7, "amount": 5.0})
    assert refusal(result)["error"] == "tool_denied"
    assert "texts_map" in refusal(result)["message"]
    assert "texts_long" not in refusal(result)["message"]
    assert world.refunds == []


async def test_a_tool_that_does_not_exist_gets_the_same_words(registry: Registry) -> None:
    result = await result_of(registry, context("texts.map"), "launch_rockets", {})
    said = refusal(result)
    assert said == {
        "error": "tool_denied",
        "message": "There is no tool 'launch_rockets' here. You can use: texts_map.",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"order": 7}, "amount: Field required"),
        ({"order": 7, "amount": "lots"}, "amount: Input should be a valid number"),
        ({"order": 7, "amount": 5.0, "note": "x"}, "note: Extra inputs are not permitted"),
        (
            {"order": 7, "amount": 5.0, "call": {"tenant": "globex"}},
            "call: Extra inputs are not permitted",
        ),
    ],
)
async def test_arguments_that_do_not_fit_are_not_executed_and_say_why(
    registry: Registry, world: World, arguments: dict[str, Any], said: str
) -> None:
    result = await result_of(registry, context("orders.refund"), "orders_refund", arguments)
    assert refusal(result)["error"] == "arguments_invalid"
    assert said in refusal(result)["message"]
    assert world.refunds == []


async def test_arguments_that_were_no_json_are_answered_and_not_executed(
    registry: Registry, world: World
) -> None:
    unreadable = AIMessage(
        content="",
        invalid_tool_calls=[
            {
                "name": "orders_refund",
                "args": '{"order": 7',
                "id": "call-0",
                "error": None,
                "type": "invalid_tool_call",
            }
        ],
    )
    speaker = Speaker(lines=[unreadable, AIMessage("done")])
    messages = await run(registry, Cast(one=speaker), context("orders.refund"))
    found = results(messages)
    assert [message.tool_call_id for message in found] == ["call-0"]
    assert refusal(found[0])["error"] == "arguments_unreadable"
    assert messages[-1].content == "done"
    assert world.refunds == []


async def test_a_call_that_needs_a_person_is_not_executed(registry: Registry, world: World) -> None:
    given = context("orders.refund")
    refund = {"order": 7, "amount": 100.0}
    result = await result_of(registry, given, "orders_refund", refund, unattended=True)
    assert refusal(result)["error"] == "approval_proposed"
    assert world.refunds == []


LIMIT = {"orders.refund": {"amount": ArgumentLimit(maximum=50)}}


async def test_a_call_beyond_its_limits_is_not_executed(registry: Registry, world: World) -> None:
    result = await result_of(
        registry, context("orders.refund", tool_limits=LIMIT), "orders_refund", {"order": 7, "amount": 51.0}
    )
    assert refusal(result)["error"] == "argument_denied"
    assert world.refunds == []


async def test_shadow_lets_a_call_beyond_its_limits_through_and_reports_it(
    registry: Registry, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="agent.middleware.guard"):
        result = await result_of(
            registry,
            context("orders.refund", tool_limits=LIMIT, policy_mode="shadow"),
            "orders_refund",
            {"order": 7, "amount": 51.0},
        )
    assert result.content == "refunded"
    assert world.refunds == [(7, 51.0)]
    reported = [record for record in caplog.records if record.message == "policy would deny"]
    assert [(record.__dict__["code"], record.__dict__["tool"]) for record in reported] == [
        ("argument_denied", "orders_refund")
    ]


async def test_shadow_is_no_way_round_a_person(registry: Registry, world: World) -> None:
    """Beyond the limit and in need of approval: the one is only reported, the other still holds."""
    result = await result_of(
        registry,
        context("orders.refund", tool_limits=LIMIT, policy_mode="shadow"),
        "orders_refund",
        {"order": 7, "amount": 100.0},
        unattended=True,
    )
    assert refusal(result)["error"] == "approval_proposed"
    assert world.refunds == []


async def test_shadow_is_no_way_round_the_whitelist_or_the_schema(registry: Registry, world: World) -> None:
    shadow = context("texts.map", policy_mode="shadow")
    hidden = await result_of(registry, shadow, "orders_refund", {"order": 7, "amount": 5.0})
    assert refusal(hidden)["error"] == "tool_denied"
    wrong = await result_of(registry, shadow, "texts_map", {"all": True})
    assert refusal(wrong)["error"] == "arguments_invalid"
    assert world.refunds == []


async def test_a_tool_that_takes_too_long_is_given_up(registry: Registry) -> None:
    result = await result_of(registry, context("texts.slow"), "texts_slow", {})
    assert refusal(result) == {
        "error": "tool_timeout",
        "message": "texts.slow did not finish within 0.05 s; its outcome is unknown.",
    }


async def test_a_tool_that_breaks_tells_the_model_nothing_of_the_inside(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    result = await result_of(registry, context("texts.broken"), "texts_broken", {})
    assert refusal(result)["error"] == "tool_failed"
    for word in ("hunter2", "/srv", "RuntimeError"):
        assert word not in str(result.content)
    assert "hunter2" in caplog.text


async def test_a_tool_s_own_failure_is_passed_on_in_its_words(registry: Registry) -> None:
    result = await result_of(registry, context("texts.unknown"), "texts_unknown", {})
    assert refusal(result) == {"error": "tool_failed", "message": "Order 7 is unknown; check the number."}


async def test_a_question_to_a_person_is_no_failure(registry: Registry) -> None:
    speaker = Speaker(lines=[calls(("texts_asks", {}))])
    messages = await run(registry, Cast(one=speaker), context("texts.asks"))
    last = messages[-1]
    assert isinstance(last, AIMessage)
    assert [call["name"] for call in last.tool_calls] == ["texts_asks"]
    assert results(messages) == []


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, ""),
        (10, "abcdefghij"),
        (11, "abcdefgh\n… 1 characters are left out here; they are not available. …\njk"),
        (52, "abcdefgh\n… 42 characters are left out here; they are not available. …\nyz"),
    ],
)
async def test_a_result_keeps_its_ends_when_it_is_too_long(
    registry: Registry, length: int, text: str
) -> None:
    result = await result_of(registry, context("texts.long"), "texts_long", {"length": length})
    assert result.content == text


async def test_a_result_that_is_no_text_is_written_as_json(registry: Registry) -> None:
    result = await result_of(registry, context("texts.map"), "texts_map", {})
    assert result.content == '{"day": "2027-01-02", "city": "Köln"}'


async def test_each_call_of_a_round_gets_exactly_one_result(registry: Registry, world: World) -> None:
    wanted = calls(
        ("orders_refund", {"order": 1, "amount": 1.0}),
        ("texts_slow", {}),
        ("texts_broken", {}),
        ("launch_rockets", {}),
        ("orders_refund", {"order": 2, "amount": 2.0}),
        ("orders_refund", {"order": 3, "amount": 300.0}),
    )
    speaker = Speaker(lines=[wanted, AIMessage("done")])
    given = context("orders.refund", "texts.slow", "texts.broken")
    found = results(await run(registry, Cast(one=speaker), given, unattended=True))
    assert [message.tool_call_id for message in found] == [f"call-{number}" for number in range(6)]
    assert [message.status for message in found] == ["success", "error", "error", "error", "success", "error"]
    assert sorted(world.refunds) == [(1, 1.0), (2, 2.0)]
    assert {call.call_id for call in world.seen} == {"call-0", "call-4"}


async def test_no_tool_runs_outside_the_guard(registry: Registry, world: World) -> None:
    tool = next(tool for tool in served(registry) if tool.name == "orders_refund")
    with pytest.raises(RunRefused, match=r"'orders\.refund' runs behind the guard only"):
        await tool.ainvoke({"order": 7, "amount": 5.0})
    assert world.refunds == []


async def test_a_run_without_a_stamp_reaches_neither_model_nor_tool(registry: Registry, world: World) -> None:
    speaker = Speaker(lines=[calls(("orders_refund", {"order": 7, "amount": 5.0}))])
    with pytest.raises(RunRefused, match="carries no stamp"):
        await run(registry, Cast(one=speaker), context("orders.refund"), stamped=False)
    assert speaker.heard == []
    assert world.refunds == []


async def test_a_run_without_a_context_is_refused(registry: Registry) -> None:
    speaker = Speaker(lines=[AIMessage("done")])
    with pytest.raises(RunRefused, match="no assistant behind it"):
        await run(registry, Cast(one=speaker), None)
    assert speaker.heard == []


async def test_the_predicate_that_an_assistant_sets_replaces_the_tool_s(
    registry: Registry, world: World
) -> None:
    given = context(
        "orders.refund", approvals={"orders.refund": Approval(when="amount >= 10", decisions=("approve",))}
    )
    refund = {"order": 7, "amount": 10.0}
    asked = await result_of(registry, given, "orders_refund", refund, unattended=True)
    assert refusal(asked)["error"] == "approval_proposed"
    assert (
        await result_of(registry, given, "orders_refund", {"order": 7, "amount": 9.0})
    ).content == "refunded"
    assert world.refunds == [(7, 9.0)]
