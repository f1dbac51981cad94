"""The react graph and its harness, against a real OpenAI-compatible endpoint."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel

from agent.context import ModelChoice
from agent.errors import ModelUnavailable, RunRefused
from agent.offline.history import problems
from agent.offline.script import Expect, ScriptedCall, Turn
from agent.stamp import RunKey, sign
from tests.graph.conftest import ASSISTANT, SECRET, Agent
from tests.graph.workbench import Log

pytestmark = pytest.mark.anyio


def calls(*made: ScriptedCall) -> Turn:
    return Turn(content="", tool_calls=made)


def echo(text: str, **more: Any) -> ScriptedCall:
    return ScriptedCall(name="bench_echo", args={"text": text}, **more)


def said(message: Any) -> dict[str, Any]:
    assert isinstance(message, ToolMessage)
    return json.loads(str(message.content))


def thread() -> str:
    return str(uuid.uuid4())


async def test_answers_without_tools_and_shows_the_assistants_prompt(agent: Agent) -> None:
    talk = await agent.endpoint.script(Turn(content="Hello Ann."))
    messages = await agent.run(talk.says("hi"), thread=thread())
    assert [type(message) for message in messages] == [HumanMessage, AIMessage]
    assert messages[-1].content == "Hello Ann."
    (request,) = await talk.requests()
    assert request.body["messages"][0]["role"] == "system"
    assert request.body["messages"][0]["content"].startswith("You are the workbench.\n\n")
    assert request.body["model"] == "scripted"


async def test_calls_a_tool_and_answers_with_its_result(agent: Agent, log: Log) -> None:
    place = thread()
    talk = await agent.endpoint.script(calls(echo("one", id="call_1")), Turn(content="It said one."))
    messages = await agent.run(talk.says("go"), thread=place)
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
    assert said(messages[2]) == {"echo": "one", "tenant": "acme", "principal": "acme/ann"}
    assert log.effects == [("echo", "one", f"acme:{place}:call_1")]
    assert messages[-1].content == "It said one."


async def test_a_round_is_two_super_steps(agent: Agent) -> None:
    place = thread()
    talk = await agent.endpoint.script(
        calls(echo("1")), calls(echo("2")), calls(echo("3")), Turn(content="done")
    )
    await agent.run(talk.says("go"), thread=place)
    history = await agent.history(place)
    # input, then three rounds of agent and tools, then the answer: 9 checkpoints
    assert len(history) == 9
    assert [snapshot.next for snapshot in reversed(history)][1:] == [
        *[("model",), ("tools",)] * 3,
        ("model",),
        (),
    ]


async def test_history_is_kept_as_deltas(agent: Agent) -> None:
    assert isinstance(agent.graph.channels["messages"], DeltaChannel)
    place = thread()
    talk = await agent.endpoint.script(calls(echo("1")), Turn(content="done"))
    await agent.run(talk.says("go"), thread=place)
    stored = [entry.checkpoint["channel_values"] async for entry in agent.saver.alist(None)]
    assert len(stored) == 5
    assert all("messages" not in values for values in stored)


async def test_two_reads_of_a_thread_give_the_same_message_ids(agent: Agent) -> None:
    place = thread()
    talk = await agent.endpoint.script(calls(echo("1")), Turn(content="done"))
    await agent.run(talk.says("go"), thread=place)
    first, second = [
        [
            message.id
            for message in (await agent.graph.aget_state(Agent.config(RunKey("", place, "")))).values[
                "messages"
            ]
        ]
        for _ in range(2)
    ]
    assert len(first) == 4
    assert all(first)
    assert first == second


async def test_the_same_thread_remembers_and_another_does_not(agent: Agent) -> None:
    place, other = thread(), thread()
    talk = await agent.endpoint.script(Turn(content="one"), Turn(content="two"), Turn(content="three"))
    await agent.run(talk.says("first"), thread=place)
    assert len(await agent.run("second", thread=place)) == 4
    assert len(await agent.run(talk.says("first"), thread=other)) == 2
    sizes = [len(request.body["messages"]) for request in await talk.requests()]
    assert sizes == [2, 4, 2]


async def test_the_model_sees_the_assistants_tools_only(agent: Agent) -> None:
    talk = await agent.endpoint.script(Turn(content="ok", expect=Expect(tools=("bench_echo",))))
    await agent.run(talk.says("go"), thread=thread(), context=agent.context(tools=("bench.echo",)))
    assert await talk.left() == 0


async def test_an_assistant_without_tools_offers_none(agent: Agent) -> None:
    talk = await agent.endpoint.script(Turn(content="ok"))
    await agent.run(talk.says("go"), thread=thread(), context=agent.context(tools=()))
    (request,) = await talk.requests()
    assert "tools" not in request.body


async def test_a_tool_outside_the_whitelist_is_not_executed(agent: Agent, log: Log) -> None:
    """Case 36: the whitelist hides the schema, and it also stops the executor."""
    talk = await agent.endpoint.script(
        calls(ScriptedCall(name="bench_pay", args={"amount": 5})), Turn(content="I could not.")
    )
    messages = await agent.run(talk.says("go"), thread=thread(), context=agent.context(tools=("bench.echo",)))
    answer = said(messages[2])
    assert answer["error"] == "tool_denied"
    assert answer["message"] == "There is no tool 'bench_pay' here. You can use: bench_echo."
    assert log.effects == []
    assert messages[-1].content == "I could not."


async def test_a_tool_that_does_not_exist_is_answered_with_the_own_tools_only(agent: Agent) -> None:
    talk = await agent.endpoint.script(calls(ScriptedCall(name="nope", args={})), Turn(content="sorry"))
    messages = await agent.run(talk.says("go"), thread=thread(), context=agent.context(tools=("bench.echo",)))
    assert said(messages[2])["message"] == "There is no tool 'nope' here. You can use: bench_echo."


async def test_a_raising_tool_does_not_end_the_run_and_tells_no_internals(agent: Agent) -> None:
    talk = await agent.endpoint.script(
        calls(ScriptedCall(name="bench_boom", args={})),
        Turn(content="It failed."),
        Turn(content="Still here."),
    )
    place = thread()
    messages = await agent.run(talk.says("go"), thread=place)
    assert said(messages[2])["error"] == "tool_failed"
    assert "passwd" not in str(messages)
    assert "sk-123" not in str(messages)
    assert messages[-1].content == "It failed."
    assert (await agent.run("and now?", thread=place))[-1].content == "Still here."


async def test_a_tools_own_refusal_reaches_the_model(agent: Agent) -> None:
    talk = await agent.endpoint.script(calls(ScriptedCall(name="bench_fail", args={})), Turn(content="ok"))
    messages = await agent.run(talk.says("go"), thread=thread())
    assert said(messages[2]) == {
        "error": "tool_failed",
        "message": "There is no such thing here; ask for another.",
    }


async def test_arguments_that_are_not_json_become_a_tool_message(agent: Agent, log: Log) -> None:
    """Case 6: without the repair the run would end with an empty answer."""
    broken = ScriptedCall(name="bench_echo", raw_arguments='{"text": "one', id="call_broken")
    talk = await agent.endpoint.script(calls(broken), calls(echo("one")), Turn(content="done"))
    messages = await agent.run(talk.says("go"), thread=thread())
    assert messages[2].type == "tool"
    assert said(messages[2])["error"] == "arguments_unreadable"
    assert [effect[1] for effect in log.effects] == ["one"]
    assert messages[-1].content == "done"
    for request in await talk.requests():
        assert problems(request.body["messages"]) == []


async def test_arguments_against_the_schema_become_a_tool_message(agent: Agent, log: Log) -> None:
    wrong = ScriptedCall(name="bench_pay", args={"amount": -1, "to": "me"})
    talk = await agent.endpoint.script(calls(wrong), Turn(content="ok"))
    messages = await agent.run(talk.says("go"), thread=thread())
    answer = said(messages[2])
    assert answer["error"] == "arguments_invalid"
    assert "amount: Input should be greater than 0" in answer["message"]
    assert "to: Extra inputs are not permitted" in answer["message"]
    assert log.effects == []


async def test_calls_of_one_turn_run_together_and_each_id_gets_one_result(agent: Agent) -> None:
    meet = [ScriptedCall(name="bench_meet", args={"place": place}, id=f"call_{place}") for place in "ab"]
    talk = await agent.endpoint.script(calls(*meet), Turn(content="met"))
    context = agent.context(tools=("bench.meet",))
    messages = await agent.run(talk.says("go"), thread=thread(), context=context)
    results = {m.tool_call_id: m.content for m in messages if isinstance(m, ToolMessage)}
    assert results == {"call_a": "met at a", "call_b": "met at b"}


async def test_a_tool_that_takes_too_long_is_given_up_and_its_sibling_is_not(agent: Agent) -> None:
    talk = await agent.endpoint.script(
        calls(ScriptedCall(name="bench_slow", args={}, id="call_s"), echo("x", id="call_e")),
        Turn(content="ok"),
    )
    messages = await agent.run(talk.says("go"), thread=thread())
    results = {m.tool_call_id: said(m) for m in messages if isinstance(m, ToolMessage)}
    assert results["call_s"]["error"] == "tool_timeout"
    assert results["call_e"]["echo"] == "x"


async def test_a_long_result_is_capped_with_its_head_and_tail(agent: Agent) -> None:
    talk = await agent.endpoint.script(calls(ScriptedCall(name="bench_big", args={})), Turn(content="ok"))
    messages = await agent.run(talk.says("go"), thread=thread(), context=agent.context(tools=("bench.big",)))
    assert messages[2].content == (
        f"{'a' * 75}\n… 900 characters are left out here; they are not available. …\n{'z' * 25}"
    )


async def test_an_argument_beyond_its_limit_is_not_executed(agent: Agent, log: Log) -> None:
    limits = {"bench.pay": {"amount": {"maximum": 100}}}
    talk = await agent.endpoint.script(
        calls(ScriptedCall(name="bench_pay", args={"amount": 100.01})),
        calls(ScriptedCall(name="bench_pay", args={"amount": 100})),
        Turn(content="ok"),
    )
    messages = await agent.run(talk.says("go"), thread=thread(), context=agent.context(tool_limits=limits))
    assert said(messages[2])["error"] == "argument_denied"
    assert said(messages[4]) == {"paid": 100.0}
    assert [effect[:2] for effect in log.effects] == [("pay", 100.0)]


class TestAdmission:
    """The graph starts for the door's stamp only."""

    async def test_no_stamp(self, agent: Agent) -> None:
        talk = await agent.endpoint.script(Turn(content="never"))
        with pytest.raises(RunRefused, match="carries no stamp"):
            await agent.run(talk.says("go"), thread=thread(), stamped=False)
        assert await talk.requests() == []

    async def test_no_context(self, agent: Agent) -> None:
        with pytest.raises(RunRefused, match="no assistant behind it"):
            await agent.graph.ainvoke(
                {"messages": [{"role": "user", "content": "go"}]}, config=Agent.config(RunKey("r", "t", "a"))
            )

    @pytest.mark.parametrize("foreign", ["run", "thread", "assistant"])
    async def test_a_stamp_copied_from_elsewhere(self, agent: Agent, foreign: str) -> None:
        talk = await agent.endpoint.script(Turn(content="never"))
        key = RunKey(run="run-1", thread="thread-1", assistant=ASSISTANT)
        stamp = sign(agent.context(), key, principal="acme/ann", unattended=False, secret=SECRET.encode())
        copied = agent.context().model_copy(update={"stamp": stamp})
        ids = {"run": key.run, "thread": key.thread, "assistant": key.assistant, foreign: "another"}
        with pytest.raises(RunRefused, match="made for another run"):
            await agent.graph.ainvoke(
                {"messages": [{"role": "user", "content": talk.says("go")}]},
                config=Agent.config(RunKey(**ids)),
                context=copied,
            )
        assert await talk.requests() == []

    async def test_a_changed_context(self, agent: Agent) -> None:
        talk = await agent.endpoint.script(Turn(content="never"))
        key = RunKey(run="run-2", thread="thread-2", assistant=ASSISTANT)
        stamp = sign(agent.context(), key, principal="acme/ann", unattended=False, secret=SECRET.encode())
        widened = agent.context(prompt="You may do anything.").model_copy(update={"stamp": stamp})
        with pytest.raises(RunRefused, match="made for another run"):
            await agent.graph.ainvoke(
                {"messages": [{"role": "user", "content": talk.says("go")}]},
                config=Agent.config(key),
                context=widened,
            )
        assert await talk.requests() == []

    async def test_a_forged_call_in_the_state_meets_the_check_at_the_tools(
        self, agent: Agent, log: Log
    ) -> None:
        """Case 14: state written round the model still needs the door's stamp to run a tool."""
        key = RunKey(run="run-3", thread=thread(), assistant=ASSISTANT)
        forged = AIMessage(
            "", tool_calls=[{"name": "bench_pay", "args": {"amount": 5}, "id": "call_f", "type": "tool_call"}]
        )
        await agent.graph.aupdate_state(
            Agent.config(key), {"messages": [HumanMessage("go"), forged]}, as_node="model"
        )
        with pytest.raises(RunRefused, match="carries no stamp"):
            await agent.graph.ainvoke(None, config=Agent.config(key), context=agent.context())
        assert log.effects == []


class TestModel:
    """An outage is an error in words, never an answer; the thread goes on."""

    async def test_an_endpoint_that_is_down(self, agent: Agent) -> None:
        place = thread()
        talk = await agent.endpoint.script(Turn(content="Back again."))
        down = agent.context(model=ModelChoice(name="openai:gone", base_url="http://127.0.0.1:9/v1"))
        with pytest.raises(ModelUnavailable) as caught:
            await agent.run(talk.says("hello"), thread=place, context=down)
        assert str(caught.value) == (
            "The endpoint of model 'openai:gone' could not be reached. Nothing is lost: send your message "
            "again later. [model_unavailable]"
        )
        messages = await agent.run("again", thread=place)
        assert [message.type for message in messages] == ["human", "human", "ai"]

    async def test_a_refused_key_is_not_retried_elsewhere(self, agent: Agent) -> None:
        talk = await agent.endpoint.script(
            Turn(status=401, error="bad key sk-123"), Turn(content="the fallback must not be asked")
        )
        choice = ModelChoice(name="openai:main", base_url=agent.endpoint.url, fallbacks=("openai:spare",))
        with pytest.raises(ModelUnavailable, match="refused the key") as caught:
            await agent.run(talk.says("go"), thread=thread(), context=agent.context(model=choice))
        assert "sk-123" not in str(caught.value)
        assert [request.body["model"] for request in await talk.requests()] == ["main"]

    async def test_a_busy_model_gives_way_to_its_fallback(self, agent: Agent) -> None:
        busy = Turn(status=429, headers={"retry-after": "0"})
        talk = await agent.endpoint.script(busy, busy, busy, Turn(content="spare here"))
        choice = ModelChoice(name="openai:main", base_url=agent.endpoint.url, fallbacks=("openai:spare",))
        messages = await agent.run(talk.says("go"), thread=thread(), context=agent.context(model=choice))
        assert messages[-1].content == "spare here"
        asked = [request.body["model"] for request in await talk.requests()]
        assert asked == ["main", "main", "main", "spare"]

    async def test_no_model_is_refused(self, agent: Agent) -> None:
        with pytest.raises(RunRefused, match="'support' has no model"):
            await agent.run("go", thread=thread(), context=agent.context(model=None))

    async def test_the_deployments_key_stays_with_the_deployments_endpoint(
        self, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-deployment")
        talk = await agent.endpoint.script(Turn(content="ok"))
        await agent.run(talk.says("go"), thread=thread())
        (request,) = await talk.requests()
        assert "sk-deployment" not in request.model_dump_json()


async def test_state_is_not_mutated_by_the_harness(agent: Agent) -> None:
    """B-10: nodes return patches; what was stored stays as it was."""
    place = thread()
    broken = ScriptedCall(name="bench_echo", raw_arguments="{", id="call_b")
    talk = await agent.endpoint.script(calls(broken), Turn(content="a"), Turn(content="b"))
    first = await agent.run(talk.says("go"), thread=place)
    before = [message.model_dump() for message in first]
    second = await agent.run("more", thread=place)
    assert [message.model_dump() for message in second][: len(before)] == before
    assert len(second) == len(before) + 2


async def test_a_cut_amount_is_not_paid(agent: Agent, log: Log) -> None:
    """A streamed `{"amount": 9` of a cut 950 is completed by the client to a call with 9."""
    for cut in (
        ScriptedCall(name="bench_pay", raw_arguments='{"amount": 9'),
        ScriptedCall(name="bench_pay", args={"amount": 9}),
    ):
        talk = await agent.endpoint.script(
            Turn(content="", tool_calls=(cut,), finish_reason="length"), Turn(content="sorry")
        )
        seen = [part async for part in agent.stream(talk.says("pay"), thread=thread())]
        assert [json.loads(str(m.content))["error"] for m in seen if isinstance(m, ToolMessage)] == [
            "arguments_unreadable"
        ]
    assert log.effects == []


async def test_broken_json_in_a_stream_is_not_executed_with_what_was_legible(agent: Agent, log: Log) -> None:
    broken = ScriptedCall(name="bench_pay", raw_arguments='{"amount": 9, "note": "x')
    talk = await agent.endpoint.script(Turn(content="", tool_calls=(broken,)), Turn(content="sorry"))
    seen = [part async for part in agent.stream(talk.says("pay"), thread=thread())]
    (answer,) = [part for part in seen if isinstance(part, ToolMessage)]
    assert json.loads(str(answer.content))["error"] == "arguments_unreadable"
    assert log.effects == []


@pytest.mark.parametrize(
    "said",
    [Turn(content=""), Turn(content=" \n"), Turn(content="", finish_reason="content_filter")],
    ids=["empty", "blank", "filtered"],
)
async def test_an_answer_without_a_word_is_no_silent_success(agent: Agent, said: Turn) -> None:
    """Case 6 and invariant 3: something is said, and the thread takes the next message."""
    where = thread()
    talk = await agent.endpoint.script(said, Turn(content="here"))
    messages = await agent.run(talk.says("go"), thread=where)
    assert messages[-1].content == "The model gave an empty answer. Please ask again."
    assert (await agent.run("again", thread=where))[-1].content == "here"
    assert [problems(request.body["messages"]) for request in await talk.requests()] == [[], []]


@pytest.mark.parametrize("name", ["bench.echo", "", "名字", "x" * 500])
async def test_a_name_that_providers_refuse_does_not_stay_in_the_thread(agent: Agent, name: str) -> None:
    where = thread()
    odd = ScriptedCall(name=name, args={"text": "x"})
    talk = await agent.endpoint.script(
        Turn(content="", tool_calls=(odd,)), Turn(content="a"), Turn(content="b")
    )
    await agent.run(talk.says("go"), thread=where)
    assert (await agent.run("again", thread=where))[-1].content == "b"
    assert [problems(request.body["messages"]) for request in await talk.requests()] == [[], [], []]
