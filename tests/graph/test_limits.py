"""Limits of a turn, at the endpoint: it ends with a visible answer, and it stays ended over resumes."""

from __future__ import annotations

import json
import uuid

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from agent.errors import ModelUnavailable
from agent.offline.history import problems
from agent.offline.script import ScriptedCall, Turn
from tests.graph.conftest import Agent
from tests.graph.workbench import Log

pytestmark = pytest.mark.anyio


def echo(text: str) -> Turn:
    return Turn(content="", tool_calls=(ScriptedCall(name="bench_echo", args={"text": text}),))


def place() -> str:
    return str(uuid.uuid4())


@pytest.mark.parametrize(
    ("limits", "rounds"),
    [
        ({"steps": 1}, 0),
        ({"steps": 3}, 1),
        ({"steps": 4}, 1),
        ({"steps": 5}, 2),
        ({"model_calls": 1}, 0),
        ({"model_calls": 3}, 2),
        ({"tool_calls": 0}, 0),
        ({"tool_calls": 2}, 2),
    ],
)
async def test_a_looping_model_is_stopped_with_an_answer(
    agent: Agent, log: Log, limits: dict[str, int], rounds: int
) -> None:
    """B-02, B-03 and case 44: a fuse that still gives a partial answer."""
    ((name, allowed),) = limits.items()
    where = place()
    turns = [echo(str(number)) for number in range(rounds)]
    talk = await agent.endpoint.script(*turns, Turn(content="This much I know."))
    messages = await agent.run(talk.says("go"), thread=where, context=agent.context(limits=limits))
    assert [effect[1] for effect in log.effects] == [str(number) for number in range(rounds)]
    answer = messages[-1]
    assert isinstance(answer, AIMessage)
    reason = (
        f"[Stopped at the limit of {allowed} {name.replace('_', ' ')}; nothing beyond the above was checked.]"
    )
    assert answer.content == f"This much I know.\n\n{reason}"
    assert answer.additional_kwargs["stopped"]["limit"] == name
    *earlier, last = await talk.requests()
    assert len(earlier) == rounds
    assert all(request.body["tools"] for request in earlier)
    assert "tools" not in last.body
    assert "You can't call tools any more" in last.body["messages"][0]["content"]
    history = await agent.history(where)
    assert len(history) - 2 <= limits.get("steps", 99)  # beside the steps: the input's and the start's


async def test_a_model_that_calls_on_when_it_may_not_gets_no_call_through(agent: Agent, log: Log) -> None:
    talk = await agent.endpoint.script(echo("1"), echo("2"))
    messages = await agent.run(
        talk.says("go"), thread=place(), context=agent.context(limits={"tool_calls": 1})
    )
    assert [effect[1] for effect in log.effects] == ["1"]
    answer = messages[-1]
    assert isinstance(answer, AIMessage)
    assert answer.tool_calls == []
    assert str(answer.content).startswith("[Stopped at the limit of 1 tool calls")


async def test_calls_of_one_answer_beyond_the_budget_are_answered_and_not_executed(
    agent: Agent, log: Log
) -> None:
    many = tuple(ScriptedCall(name="bench_echo", args={"text": str(n)}, id=f"call_{n}") for n in range(5))
    talk = await agent.endpoint.script(Turn(content="", tool_calls=many), Turn(content="ok"))
    messages = await agent.run(
        talk.says("go"), thread=place(), context=agent.context(limits={"tool_calls": 3})
    )
    assert sorted(str(effect[1]) for effect in log.effects) == ["0", "1", "2"]
    results = {m.tool_call_id: json.loads(str(m.content)) for m in messages if isinstance(m, ToolMessage)}
    assert [results[f"call_{n}"].get("error") for n in range(5)] == [None] * 3 + ["tool_calls_used_up"] * 2
    for request in await talk.requests():
        assert problems(request.body["messages"]) == []


async def test_a_repeated_call_is_not_executed_and_a_changed_one_is(agent: Agent, log: Log) -> None:
    """B-04: key order does not make another call, a changed value does; the next turn starts anew."""
    where = place()
    talk = await agent.endpoint.script(
        echo("a"), echo("a"), echo("b"), Turn(content="done"), echo("a"), Turn(content="done again")
    )
    messages = await agent.run(talk.says("go"), thread=where)
    assert [effect[1] for effect in log.effects] == ["a", "b"]
    repeated = json.loads(str(messages[4].content))
    assert repeated["error"] == "repeated_call"
    assert "Change your approach" in repeated["message"]
    await agent.run("once more", thread=where)
    assert [effect[1] for effect in log.effects] == ["a", "b", "a"]


async def test_the_same_call_twice_in_one_answer_runs_once(agent: Agent, log: Log) -> None:
    twice = tuple(ScriptedCall(name="bench_pay", args={"amount": 5}, id=f"call_{n}") for n in range(2))
    talk = await agent.endpoint.script(Turn(content="", tool_calls=twice), Turn(content="ok"))
    messages = await agent.run(talk.says("go"), thread=place())
    assert [effect[:2] for effect in log.effects] == [("pay", 5.0)]
    assert [m.status for m in messages if isinstance(m, ToolMessage)] == ["success", "error"]


async def test_a_call_that_failed_may_be_tried_again(agent: Agent) -> None:
    failing = Turn(content="", tool_calls=(ScriptedCall(name="bench_fail", args={}),))
    talk = await agent.endpoint.script(failing, failing, Turn(content="gave up"))
    messages = await agent.run(talk.says("go"), thread=place())
    codes = [json.loads(str(m.content))["error"] for m in messages if isinstance(m, ToolMessage)]
    assert codes == ["tool_failed", "tool_failed"]


async def test_a_model_that_only_repeats_itself_is_stopped(agent: Agent, log: Log) -> None:
    """Case 44: the same call for ever."""
    talk = await agent.endpoint.script(*[echo("a")] * 3, Turn(content="I am going round in circles."))
    context = agent.context(limits={"repeats": 2})
    messages = await agent.run(talk.says("go"), thread=place(), context=context)
    assert [effect[1] for effect in log.effects] == ["a"]
    assert str(messages[-1].content).endswith(
        "[Stopped at the limit of 2 repeats; nothing beyond the above was checked.]"
    )
    assert await talk.left() == 0


async def test_what_a_turn_has_used_survives_an_interruption(agent: Agent, log: Log) -> None:
    """Case 44 and platform notes, C4: a stock limit starts again at zero with every resume."""
    where = place()
    talk = await agent.endpoint.script(echo("1"), Turn(status=400, error="no"), Turn(content="Enough."))
    context = agent.context(limits={"model_calls": 3})
    with pytest.raises(ModelUnavailable):
        await agent.run(talk.says("go"), thread=where, context=context)
    messages = await agent.resume(thread=where, context=context)
    assert str(messages[-1].content).startswith("Enough.\n\n[Stopped at the limit of 3 model calls")
    assert [effect[1] for effect in log.effects] == ["1"]
