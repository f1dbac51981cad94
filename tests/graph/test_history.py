"""A thread can always take another message, and every request is a valid history (invariant 3)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.context import AgentContext, ModelChoice
from agent.errors import ModelUnavailable
from agent.framing import framed
from agent.history.answer import SILENCE
from agent.history.problems import problems as thread_problems
from agent.offline.history import problems
from agent.offline.script import ScriptedCall, Turn
from agent.state import HistoryMode
from tests.graph.conftest import Agent
from tests.graph.workbench import Log, workbench
from tests.support.endpoint import Conversation
from tests.unit.history.histories import asking, result, storable_history

pytestmark = pytest.mark.anyio

MODES: list[HistoryMode] = ["delta", "full"]
TOOLS = ("bench.hang", "bench.send", "bench.echo", "bench.meet", "bench.boom", "bench.nasty", "bench.pay")


def call(name: str, identity: str | None = None, **args: Any) -> ScriptedCall:
    return ScriptedCall(name=f"bench_{name}", args=args, id=identity)


def calls(*made: ScriptedCall) -> Turn:
    return Turn(content="", tool_calls=made)


def thread() -> str:
    return str(uuid.uuid4())


def results(messages: list[BaseMessage]) -> dict[str, Any]:
    found = {m.tool_call_id: str(m.content) for m in messages if isinstance(m, ToolMessage)}
    return {key: json.loads(text) if text.startswith("{") else text for key, text in found.items()}


async def all_valid(talk: Conversation, *, count: int) -> None:
    requests = await talk.requests()
    assert len(requests) == count
    for request in requests:
        assert problems(request.body["messages"]) == []
        assert request.refused is None


async def cancelled(
    agent: Agent, text: str, *, place: str, log: Log, context: AgentContext, calls: int = 1
) -> None:
    """A run that is cancelled while so many tools of it hang."""
    expected = log.hung + calls
    running = asyncio.create_task(agent.run(text, thread=place, context=context))
    async with asyncio.timeout(10):
        await log.begun(expected)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


class Watch(AgentMiddleware[Any, AgentContext]):
    """Stands outside the guard: sees a result when the guard has recorded it."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded = asyncio.Event()

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        message = await handler(request)
        self.recorded.set()
        return message


@pytest.mark.parametrize("mode", MODES)
async def test_a_cancelled_thread_takes_the_next_message_and_says_stopped(
    agent: Agent, log: Log, mode: HistoryMode
) -> None:
    """Case 1: the cancelled call is answered in the request and in the thread."""
    agent.harness(mode=mode)
    place, context = thread(), agent.context(tools=TOOLS)
    talk = await agent.endpoint.script(
        calls(call("hang", "call_r"), call("send", "call_w")), Turn(content="Stopped."), Turn(content="Yes.")
    )
    await cancelled(agent, talk.says("go"), place=place, log=log, context=context, calls=2)
    messages = await agent.run("and?", thread=place, context=context)
    assert [message.type for message in messages] == ["human", "ai", "tool", "tool", "human", "ai"]
    said = results(messages)
    assert said["call_r"]["error"] == "tool_stopped"
    assert said["call_w"]["error"] == "outcome_unknown"
    assert "Check before repeating" in said["call_w"]["message"]
    assert await agent.messages(place) == messages
    assert thread_problems(messages) == []
    again = await agent.run("more", thread=place, context=context)
    assert again[: len(messages)] == messages
    assert len(again) == len(messages) + 2
    await all_valid(talk, count=3)


async def test_two_reads_of_a_repaired_thread_give_the_same_ids(agent: Agent, log: Log) -> None:
    agent.harness()
    place, context = thread(), agent.context(tools=TOOLS)
    talk = await agent.endpoint.script(calls(call("hang", "call_r")), Turn(content="ok"))
    await cancelled(agent, talk.says("go"), place=place, log=log, context=context)
    asked = [message.id for message in await agent.messages(place)]
    await agent.run("next", thread=place, context=context)
    first, second = [[message.id for message in await agent.messages(place)] for _ in range(2)]
    assert first == second
    assert first[:2] == asked
    assert len(set(first)) == 5
    assert all(first)


async def test_a_repair_costs_no_super_step(agent: Agent, log: Log) -> None:
    agent.harness()
    place, context = thread(), agent.context(tools=TOOLS)
    talk = await agent.endpoint.script(calls(call("hang", "call_r")), Turn(content="ok"), Turn(content="ok"))
    await cancelled(agent, talk.says("go"), place=place, log=log, context=context)
    before = len(await agent.history(place))
    await agent.run("next", thread=place, context=context)
    repaired = len(await agent.history(place))
    await agent.run("next", thread=place, context=context)
    assert (repaired - before, len(await agent.history(place)) - repaired) == (3, 3)


@pytest.mark.parametrize("mode", MODES)
async def test_three_rounds_without_a_repair_are_nine_checkpoints(agent: Agent, mode: HistoryMode) -> None:
    agent.harness(mode=mode)
    place = thread()
    talk = await agent.endpoint.script(
        calls(call("echo", text="1")), calls(call("echo", text="2")), calls(call("echo", text="3")),
        Turn(content="done"),
    )  # fmt: skip
    await agent.run(talk.says("go"), thread=place)
    history = await agent.history(place)
    assert len(history) == 9
    assert [snapshot.next for snapshot in reversed(history)][1:] == [
        *[("model",), ("tools",)] * 3,
        ("model",),
        (),
    ]
    await all_valid(talk, count=4)


async def test_a_valid_thread_is_not_written_to(agent: Agent) -> None:
    agent.harness()
    place = thread()
    talk = await agent.endpoint.script(calls(call("echo", text="1")), Turn(content="done"))
    sent: Any = {"messages": [HumanMessage(talk.says("go"))]}
    await agent.invoke(sent, thread=place)
    written: list[Any] = []
    async for entry in agent.saver.alist(None):
        written += [value for _, channel, value in entry.pending_writes or [] if channel == "messages"]
    assert len(written) == 4  # the person's message, the call, its result, the answer: nothing twice
    assert "RemoveMessage" not in repr(written)


@pytest.mark.parametrize("mode", MODES)
async def test_one_failing_tool_does_not_end_the_conversation(agent: Agent, mode: HistoryMode) -> None:
    """Case 2: a raising tool is a result, and the next message is answered."""
    agent.harness(mode=mode)
    place = thread()
    talk = await agent.endpoint.script(
        calls(call("boom", "call_b"), call("echo", "call_e", text="x")),
        Turn(content="One failed."),
        Turn(content="Yes?"),
    )
    context = agent.context(tools=TOOLS)
    messages = await agent.run(talk.says("go"), thread=place, context=context)
    said = results(messages)
    assert said["call_b"]["error"] == "tool_failed"
    assert said["call_e"]["echo"] == "x"
    assert (await agent.run("still there?", thread=place, context=context))[-1].content == "Yes?"
    await all_valid(talk, count=3)


async def test_what_had_happened_before_the_cancel_is_not_called_undone(agent: Agent, log: Log) -> None:
    """Case 3: the finished sibling's real result reaches the model, the other's outcome is unknown."""
    watch = Watch()
    agent.harness(outer=(watch,))
    place, context = thread(), agent.context(tools=TOOLS)
    talk = await agent.endpoint.script(
        calls(call("send", "call_w"), call("pay", "call_p", amount=5)), Turn(content="Paid, sending unknown.")
    )
    running = asyncio.create_task(agent.run(talk.says("go"), thread=place, context=context))
    await asyncio.wait_for(asyncio.gather(log.begun(1), watch.recorded.wait()), 10)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    messages = await agent.run("what happened?", thread=place, context=context)
    said = results(messages)
    assert said["call_p"] == {"paid": 5.0}
    assert said["call_w"]["error"] == "outcome_unknown"
    assert [effect[0] for effect in log.effects].count("pay") == 1
    wire = (await talk.requests())[-1].body["messages"]
    assert [m["content"] for m in wire if m.get("tool_call_id") == "call_p"] == [
        framed(json.dumps({"paid": 5.0}), name="bench_pay")
    ]
    await all_valid(talk, count=2)


async def test_a_write_of_a_thread_that_the_ledger_does_not_know_is_said_to_be_unknown(agent: Agent) -> None:
    """Case 3: what is not known is not guessed, as on a thread that was copied from another."""
    place, context = thread(), agent.context(tools=TOOLS)
    talk = await agent.endpoint.script(Turn(content="I will check."))
    paying = asking("call_p", message="m-pay", name="bench_pay")
    held: list[BaseMessage] = [HumanMessage(talk.says("pay")), paying]
    await agent.put(held, thread=place)
    messages = await agent.run("what happened?", thread=place, context=context)
    assert results(messages)["call_p"]["error"] == "outcome_unknown"
    await all_valid(talk, count=1)


async def test_broken_arguments_end_in_an_answer_not_in_silence(agent: Agent) -> None:
    """Case 6: the model is told, tries again, and the person gets an answer."""
    agent.harness()
    broken = ScriptedCall(name="bench_echo", raw_arguments='{"text": "one', id="call_b")
    talk = await agent.endpoint.script(calls(broken), calls(broken), Turn(content="I could not."))
    messages = await agent.run(talk.says("go"), thread=thread())
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert [said["error"] for said in results(messages).values()] == ["arguments_unreadable"] * 2
    assert messages[-1].content == "I could not."
    await all_valid(talk, count=3)


@pytest.mark.parametrize("content", ["", " \n"])
async def test_an_empty_answer_is_said_to_be_empty(agent: Agent, content: str) -> None:
    """Case 6: never an empty success; the thread goes on."""
    agent.harness()
    place = thread()
    talk = await agent.endpoint.script(Turn(content=content), Turn(content="Here."))
    assert (await agent.run(talk.says("go"), thread=place))[-1].content == SILENCE
    assert (await agent.run("again", thread=place))[-1].content == "Here."
    await all_valid(talk, count=2)


@pytest.mark.parametrize("mode", MODES)
async def test_sending_the_whole_conversation_again_does_not_double_it(
    agent: Agent, mode: HistoryMode
) -> None:
    """Case 7: messages that come again under their ids are the same messages."""
    agent.harness(mode=mode)
    place = thread()
    talk = await agent.endpoint.script(Turn(content="one"), Turn(content="two"))
    first = HumanMessage(talk.says("first"), id="client-1")
    await agent.invoke({"messages": [first]}, thread=place)
    held = await agent.messages(place)
    await agent.invoke({"messages": [*held, HumanMessage("second", id="client-2")]}, thread=place)
    assert [m.content for m in await agent.messages(place)] == [first.content, "one", "second", "two"]
    assert [len(request.body["messages"]) for request in await talk.requests()] == [2, 4]


async def test_ids_that_an_endpoint_uses_again_keep_effects_apart(agent: Agent, log: Log) -> None:
    """The idempotency key is made of the call's id: two payments must not share one."""
    agent.harness()
    place = thread()
    one, two, three = (call("pay", "call_0", amount=amount) for amount in (5, 6, 7))
    talk = await agent.endpoint.script(calls(one, two), calls(three), Turn(content="done"))
    messages = await agent.run(talk.says("go"), thread=place)
    keys = [effect[2] for effect in log.effects]
    assert len(keys) == len(set(keys)) == 3
    assert len(results(messages)) == 3
    await all_valid(talk, count=3)


@pytest.mark.parametrize("dialect", ["empty", "repeated"])
async def test_endpoints_with_strange_ids_do_not_break_a_thread(agent: Agent, dialect: str) -> None:
    agent.harness()
    talk = await agent.endpoint.script(
        calls(call("echo", text="1"), call("echo", text="2")),
        calls(call("echo", text="3")),
        Turn(content="done"),
        tool_ids=dialect,
    )
    messages = await agent.run(talk.says("go"), thread=thread())
    assert [said["echo"] for said in results(messages).values()] == ["1", "2", "3"]
    await all_valid(talk, count=3)


async def test_text_that_databases_refuse_never_enters_the_thread(agent: Agent) -> None:
    agent.harness()
    place = thread()
    talk = await agent.endpoint.script(calls(call("nasty", "call_n")), Turn(content="nul \x00 byte"))
    messages = await agent.run(talk.says("go \x00"), thread=place, context=agent.context(tools=TOOLS))
    assert results(messages)["call_n"] == "null \ufffd lone \ufffd pair 😀"
    assert str(messages[0].content).endswith("go \ufffd")
    assert messages[-1].content == "nul \ufffd byte"
    assert "\x00" not in repr(messages)
    repr(await agent.messages(place)).encode()
    await all_valid(talk, count=2)


@pytest.mark.parametrize("mode", MODES)
async def test_a_number_that_a_checkpoint_can_not_hold_does_not_end_the_run(
    agent: Agent, mode: HistoryMode, log: Log
) -> None:
    agent.harness(mode=mode)
    place = thread()
    huge, nan = (
        call("echo", "call_h", text=10**30),
        ScriptedCall(name="bench_pay", raw_arguments='{"amount": NaN}'),
    )
    talk = await agent.endpoint.script(calls(huge, nan), Turn(content="odd"))
    messages = await agent.run(talk.says("go"), thread=place)
    assert messages[-1].content == "odd"
    assert results(messages)["call_h"]["error"] == "arguments_unreadable"
    assert log.effects == []
    assert await agent.messages(place) == messages
    await all_valid(talk, count=2)


async def test_a_name_that_no_endpoint_takes_does_not_stay_in_the_thread(agent: Agent, log: Log) -> None:
    agent.harness()
    strange = ScriptedCall(name="no such tool!", args={}, id="call_s")
    talk = await agent.endpoint.script(calls(strange), Turn(content="sorry"))
    messages = await agent.run(talk.says("go"), thread=thread())
    assert results(messages)["call_s"]["error"] == "tool_denied"
    assert log.effects == []
    await all_valid(talk, count=2)


async def test_an_outage_in_the_middle_leaves_a_thread_that_goes_on(agent: Agent, log: Log) -> None:
    agent.harness()
    place, context = thread(), agent.context(tools=TOOLS)
    talk = await agent.endpoint.script(calls(call("hang", "call_r")), Turn(content="Back."))
    await cancelled(agent, talk.says("go"), place=place, log=log, context=context)
    down = agent.context(tools=TOOLS, model=ModelChoice(name="openai:gone", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ModelUnavailable):
        await agent.run("hello?", thread=place, context=down)
    messages = await agent.run("again", thread=place, context=context)
    assert [message.type for message in messages] == ["human", "ai", "tool", "human", "human", "ai"]
    assert thread_problems(messages) == []
    await all_valid(talk, count=2)


async def test_removals_are_no_news_for_the_person_who_watches(agent: Agent, log: Log) -> None:
    """The repair is written with the answer; a client that shows messages is not told to show a removal."""
    agent.harness()
    place, context = thread(), agent.context(tools=TOOLS)
    talk = await agent.endpoint.script(calls(call("hang", "call_r")), Turn(content="ok"))
    await cancelled(agent, talk.says("go"), place=place, log=log, context=context)
    shown = [message async for message in agent.stream("next", thread=place, context=context)]
    assert "".join(str(m.content) for m in shown if isinstance(m, AIMessage)) == "ok"
    assert {message.type for message in shown} <= {"AIMessageChunk", "ai", "tool"}
    assert [m.type for m in await agent.messages(place)] == ["human", "ai", "tool", "human", "ai"]


async def test_a_thread_of_an_older_version_is_repaired_in_place(agent: Agent) -> None:
    agent.harness()
    place = thread()
    talk = await agent.endpoint.script(Turn(content="ok"))
    old: list[BaseMessage] = [
        HumanMessage(talk.says("go"), id="h1"),
        AIMessage("", id="blank"),
        result("orphan"),
        asking("call_0", message="a1"),
        HumanMessage("and?", id="h2"),
        asking("call_0", message="a2"),
        result("call_0", "second"),
    ]
    await agent.put(old, thread=place, after="tools")
    messages = (await agent.invoke(None, thread=place))["messages"]
    assert [message.id for message in messages if message.id in {"h1", "a1", "h2", "a2"}] == [
        "h1",
        "a1",
        "h2",
        "a2",
    ]
    assert [message.type for message in messages] == ["human", "ai", "tool", "human", "ai", "tool", "ai"]
    assert thread_problems(messages) == []
    assert await agent.messages(place) == messages
    await all_valid(talk, count=1)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(storable_history, st.sampled_from(MODES))
async def test_whatever_a_thread_holds_every_request_is_valid(
    agent: Agent, messages: list[BaseMessage], mode: HistoryMode
) -> None:
    """Invariant 3, over HTTP: the strict endpoint takes the request, and the thread is whole afterwards."""
    agent.harness(mode=mode)
    place = thread()
    talk = await agent.endpoint.script(Turn(content="one"), Turn(content="two"))
    copies = [message.model_copy(deep=True) for message in messages]
    await agent.put([HumanMessage(talk.says("go"), id="goal"), *copies], thread=place)
    await agent.run("first", thread=place)
    held = await agent.messages(place)
    assert thread_problems(held) == []
    assert [message.id for message in await agent.messages(place)] == [message.id for message in held]
    await agent.run("second", thread=place)
    assert (await agent.messages(place))[: len(held)] == held
    await all_valid(talk, count=2)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["hang", "send", "echo", "boom", "pay", "broken"]), max_size=3),
    st.integers(0, 3),
)
async def test_whatever_is_cancelled_every_request_is_valid(
    agent: Agent, names: list[str], place_of: int
) -> None:
    """Invariant 3 over cancels: each turn makes some calls, one of which hangs until the run is cancelled."""
    log = Log()
    fresh = Agent(workbench(log), agent.endpoint, agent.ledger).harness()
    place, context = thread(), fresh.context(tools=TOOLS)
    names.insert(place_of, "hang")
    made = [_made(name) for name in names]
    talk = await agent.endpoint.script(calls(*made), calls(*made), Turn(content="done"))
    await cancelled(fresh, talk.says("go"), place=place, log=log, context=context)
    await cancelled(fresh, "again", place=place, log=log, context=context)
    messages = await fresh.run("and now?", thread=place, context=context)
    assert messages[-1].content == "done"
    assert thread_problems(messages) == []
    assert len(results(messages)) == 2 * len(made)
    await all_valid(talk, count=3)


def _made(name: str) -> ScriptedCall:
    match name:
        case "broken":
            return ScriptedCall(name="bench_echo", raw_arguments="{")
        case "echo":
            return call("echo", text="x")
        case "pay":
            return call("pay", amount=1)
        case _:
            return call(name)
