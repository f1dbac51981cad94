"""The react graph on endpoints with dialects and bad days (field cases 82 to 87)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from agent.context import Limits, ModelChoice
from agent.errors import ModelUnavailable
from agent.graphs.react import build
from agent.models import Models
from agent.models.outgoing import REASONING
from agent.models.usage import ESTIMATED
from agent.offline.history import problems
from agent.offline.script import RateLimit, ScriptedCall, Turn
from agent.stamp import RunKey, sign
from tests.graph.conftest import ASSISTANT, SECRET, Agent
from tests.graph.workbench import Log
from tests.support.endpoint import Conversation
from tests.unit.models.test_retry import Clock

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def patient(agent: Agent, clock: Clock) -> Agent:
    """The agent, whose waits between attempts pass on a clock of their own."""
    models = Models(retry=clock.retry())
    agent.graph = build(agent.registry, models, agent.ledger).copy(update={"checkpointer": agent.saver})
    return agent


def calls(*texts: str, **more: Any) -> Turn:
    made = [ScriptedCall(name="bench_echo", args={"text": text}) for text in texts]
    return Turn(content="", tool_calls=tuple(made), **more)


def thread() -> str:
    return str(uuid.uuid4())


def model(agent: Agent, *fallbacks: str, **values: Any) -> Any:
    given: dict[str, Any] = {"name": "openai:main", "base_url": agent.endpoint.url, "fallbacks": fallbacks}
    choice = ModelChoice.model_validate({**given, **values})
    return agent.context(model=choice)


async def streamed(
    agent: Agent, text: str, *, place: str, context: Any
) -> tuple[list[AIMessageChunk], list[Any], list[BaseMessage]]:
    """One turn as a streaming client sees it: tokens, custom events, and the thread afterwards."""
    key = RunKey(run=str(uuid.uuid4()), thread=place, assistant=ASSISTANT)
    stamp = sign(context, key, principal="acme/ann", unattended=False, secret=SECRET.encode())
    tokens: list[AIMessageChunk] = []
    events: list[Any] = []
    async for mode, part in agent.graph.astream(
        {"messages": [{"role": "user", "content": text}]},
        config=Agent.config(key),
        context=context.model_copy(update={"stamp": stamp}),
        stream_mode=["messages", "custom"],
    ):
        payload: Any = part
        if mode == "custom":
            events.append(payload)
        elif isinstance(payload[0], AIMessageChunk):
            tokens.append(payload[0])
    state = await agent.graph.aget_state(Agent.config(key))
    return tokens, events, state.values["messages"]


async def asked(talk: Conversation) -> list[str]:
    return [request.body["model"] for request in await talk.requests()]


async def valid(talk: Conversation) -> int:
    """How many requests the endpoint saw; each is a history that a strict one takes."""
    seen = await talk.requests()
    for request in seen:
        assert problems(request.body["messages"]) == []
    return len(seen)


HABITS: dict[str, dict[str, Any]] = {
    "generic-safe": {
        "refuse_null_content": True,
        "refuse_blank_content": True,
        "refuse_json_schema": True,
        "refuse_forced_tool_choice": True,
        "refuse_parallel_tool_calls": True,
        "refuse_stream_options": True,
        "only_max_tokens": True,
        "refuse_reasoning": True,
        "tool_ids": "empty",
        "tool_index": "missing",
    },
    "deepseek": {
        "refuse_null_content": True,
        "refuse_json_schema": True,
        "refuse_forced_tool_choice": True,
        "refuse_parallel_tool_calls": True,
        "only_max_tokens": True,
        "require_reasoning": True,
        "tool_ids": "per_chunk",
    },
    "compatible": {
        "refuse_null_content": True,
        "refuse_json_schema": True,
        "only_max_tokens": True,
        "refuse_reasoning": True,
        "tool_ids": "repeated",
        "tool_index": "same",
    },
    "openai": {"refuse_blank_content": True, "refuse_reasoning": True},
}
"""What an endpoint of each profile may do to a request, all at once."""


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("profile", HABITS)
async def test_a_tool_loop_works_on_every_dialect(
    patient: Agent,
    log: Log,
    profile: str,
    stream: bool,  # noqa: FBT001
) -> None:
    """Cases 82, 83 and 84: nothing that the endpoint refuses is ever sent, and each call runs once."""
    place = thread()
    talk = await patient.endpoint.script(
        calls("one", "two", reasoning="both"),
        calls("three", reasoning="once more"),
        Turn(content="All said."),
        Turn(content="Again."),
        **HABITS[profile],
    )
    context = model(patient, profile=profile, max_tokens=200)
    if stream:
        _, _, messages = await streamed(patient, talk.says("go"), place=place, context=context)
    else:
        messages = await patient.run(talk.says("go"), thread=place, context=context)
    assert [message.type for message in messages] == ["human", "ai", "tool", "tool", "ai", "tool", "ai"]
    assert messages[-1].content == "All said."
    assert sorted(str(effect[1]) for effect in log.effects) == ["one", "three", "two"]
    ids = [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
    assert all(ids)
    assert len(set(ids)) == 3
    assert (await patient.run("more", thread=place, context=context))[-1].content == "Again."
    assert await valid(talk) == 4


async def test_an_id_that_comes_back_in_the_next_turn_is_another_effect(patient: Agent, log: Log) -> None:
    """Where calls are numbered from 0 each time, a second payment must not look like the first."""
    again = [ScriptedCall(name="bench_pay", args={"amount": amount}, id="call_0") for amount in (5, 7)]
    talk = await patient.endpoint.script(
        *(Turn(content="", tool_calls=(one,)) for one in again), Turn(content="paid")
    )
    await patient.run(talk.says("go"), thread=thread(), context=model(patient))
    assert [effect[:2] for effect in log.effects] == [("pay", 5.0), ("pay", 7.0)]
    keys = [effect[2] for effect in log.effects]
    assert len(set(keys)) == 2
    assert await valid(talk) == 3


async def test_a_schema_is_not_asked_for_by_a_tool_loop(patient: Agent) -> None:
    """Case 82: an endpoint without json_schema answers; nothing in the loop asks for one."""
    talk = await patient.endpoint.script(calls("one"), Turn(content="done"), refuse_json_schema=True)
    messages = await patient.run(talk.says("go"), thread=thread(), context=model(patient))
    assert messages[-1].content == "done"
    assert [request.refused for request in await talk.requests()] == [None, None]


async def test_tools_are_offered_without_force(patient: Agent) -> None:
    """Case 83: a model that thinks refuses a forced choice; the loop forces none."""
    talk = await patient.endpoint.script(calls("one"), Turn(content="done"), refuse_forced_tool_choice=True)
    context = model(patient, profile="openai")
    await patient.run(talk.says("go"), thread=thread(), context=context)
    choices = [request.body.get("tool_choice") for request in await talk.requests()]
    assert choices == [None, None]


async def test_reasoning_survives_the_checkpoint_and_goes_back(patient: Agent) -> None:
    """Case 84: also into the next turn, read from the thread."""
    place = thread()
    talk = await patient.endpoint.script(
        calls("one", reasoning="first thought"), Turn(content="a"), Turn(content="b"), require_reasoning=True
    )
    context = model(patient, profile="deepseek")
    await patient.run(talk.says("go"), thread=place, context=context)
    messages = await patient.run("more", thread=place, context=context)
    assert [message.additional_kwargs.get(REASONING) for message in messages if message.type == "ai"] == [
        "first thought",
        None,
        None,
    ]
    last = (await talk.requests())[-1].body["messages"]
    assert [message.get("reasoning_content") for message in last if message["role"] == "assistant"] == [
        "first thought",
        None,
    ]


async def test_reasoning_does_not_follow_to_an_endpoint_that_refuses_it(patient: Agent) -> None:
    """Case 84: a thread that moves to another provider keeps its ids and leaves the thoughts behind."""
    place = thread()
    talk = await patient.endpoint.script(
        calls("one", reasoning="first thought"), Turn(content="a"), Turn(content="b"), refuse_reasoning=True
    )
    first = await patient.run(talk.says("go"), thread=place, context=model(patient, profile="compatible"))
    await patient.run("more", thread=place, context=model(patient, profile="openai"))
    assert first[1].additional_kwargs[REASONING] == "first thought"
    sent = (await talk.requests())[-1].body["messages"]
    assert "first thought" not in str(sent)
    assert isinstance(first[1], AIMessage)
    assert [call["id"] for call in sent[2]["tool_calls"]] == [call["id"] for call in first[1].tool_calls]
    assert await valid(talk) == 3


async def test_a_thread_of_another_model_goes_on_with_one_that_demands_reasoning(patient: Agent) -> None:
    """Case 84, back again."""
    place = thread()
    talk = await patient.endpoint.script(calls("one"), Turn(content="a"), Turn(content="b"))
    await patient.run(talk.says("go"), thread=place, context=model(patient, profile="openai"))
    strict = await patient.endpoint.script(Turn(content="c"), require_reasoning=True)
    messages = (await patient.graph.aget_state(Agent.config(RunKey("", place, "")))).values["messages"]
    renamed = messages[0].model_copy(update={"content": strict.says("go")})
    await patient.graph.aupdate_state(Agent.config(RunKey("", place, "")), {"messages": [renamed]})
    found = await patient.run("more", thread=place, context=model(patient, profile="deepseek"))
    assert found[-1].content == "c"


async def test_each_of_two_equal_calls_is_answered(patient: Agent) -> None:
    """Case 85, without a schema: a call made twice in a turn leaves no id without a result."""
    talk = await patient.endpoint.script(calls("one", "one"), Turn(content="done"), tool_ids="repeated")
    messages = await patient.run(talk.says("go"), thread=thread(), context=model(patient))
    assert messages[-1].content == "done"
    results = [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
    assert len(set(results)) == 2
    assert await valid(talk) == 2


@pytest.mark.parametrize(
    ("profile", "habits", "estimated"),
    [("compatible", {}, False), ("compatible", {"no_usage": True}, True), ("generic-safe", {}, True)],
)
async def test_a_streamed_run_has_its_usage(
    patient: Agent,
    profile: str,
    habits: dict[str, bool],
    estimated: bool,  # noqa: FBT001
) -> None:
    """Case 86: the server streams inside, and no budget may see zero."""
    talk = await patient.endpoint.script(calls("one"), Turn(content="done"), **habits)
    context = model(patient, profile=profile)
    _, _, messages = await streamed(patient, talk.says("go"), place=thread(), context=context)
    answers = [message for message in messages if isinstance(message, AIMessage)]
    assert len(answers) == 2
    for answer in answers:
        assert answer.usage_metadata is not None
        assert answer.usage_metadata["input_tokens"] > 50
        assert answer.usage_metadata["output_tokens"] > 0
        assert answer.response_metadata.get(ESTIMATED, False) is estimated
    streams = [request.body.get("stream_options") for request in await talk.requests()]
    assert streams == [None if profile == "generic-safe" else {"include_usage": True}] * 2


class TestBadDays:
    """Case 87: one retry layer, then the assistant's own fallbacks, then an error in words."""

    async def test_a_limit_in_the_middle_of_a_tool_loop_is_waited_out(
        self, patient: Agent, clock: Clock, log: Log
    ) -> None:
        talk = await patient.endpoint.script(
            calls("one"), calls("two"), Turn(content="done"), rate_limit_at=RateLimit(call=3, retry_after=7)
        )
        messages = await patient.run(talk.says("go"), thread=thread(), context=model(patient))
        assert messages[-1].content == "done"
        assert clock.waits == [7.0]
        assert await valid(talk) == 4
        assert [effect[1] for effect in log.effects] == ["one", "two"]

    async def test_a_fallback_goes_on_in_the_middle_of_a_tool_loop_with_a_history_it_accepts(
        self, patient: Agent, log: Log
    ) -> None:
        busy = [Turn(status=503)] * 3
        talk = await patient.endpoint.script(
            calls("one", reasoning="hm"), *busy, Turn(content="spare here"), refuse_reasoning=True
        )
        context = model(patient, "openai:spare", profile="compatible")
        messages = await patient.run(talk.says("go"), thread=thread(), context=context)
        assert messages[-1].content == "spare here"
        assert await asked(talk) == ["main"] * 4 + ["spare"]
        assert await valid(talk) == 5
        assert [effect[1] for effect in log.effects] == ["one"]

    async def test_only_the_assistants_own_models_are_asked(self, patient: Agent) -> None:
        talk = await patient.endpoint.script(*[Turn(status=429)] * 9)
        with pytest.raises(ModelUnavailable, match="'openai:spare' is over its rate limit"):
            await patient.run(talk.says("go"), thread=thread(), context=model(patient, "openai:spare"))
        assert await asked(talk) == ["main"] * 3 + ["spare"] * 3

    async def test_a_refused_request_is_not_repeated(self, patient: Agent, clock: Clock) -> None:
        talk = await patient.endpoint.script(Turn(status=400, error="sk-123"), Turn(content="never"))
        with pytest.raises(ModelUnavailable, match="refused the request") as caught:
            await patient.run(talk.says("go"), thread=thread(), context=model(patient, "openai:spare"))
        assert "sk-123" not in str(caught.value)
        assert (await asked(talk), clock.waits) == (["main"], [])

    @pytest.mark.parametrize(
        "half",
        [
            Turn(content="half an answer that", cut_after_chunks=3),
            Turn(content="half an answer that", finish_reason=None),
        ],
        ids=["connection", "no finish reason"],
    )
    async def test_a_cut_stream_leaves_one_whole_answer(self, patient: Agent, half: Turn) -> None:
        """The half answer was streamed under an id that the thread never gets; the client is told."""
        talk = await patient.endpoint.script(half, Turn(content="The whole answer."))
        tokens, events, messages = await streamed(
            patient, talk.says("go"), place=thread(), context=model(patient)
        )
        assert [message.type for message in messages] == ["human", "ai"]
        assert messages[-1].content == "The whole answer."
        texts: dict[str | None, str] = {}
        for token in tokens:
            texts[token.id] = texts.get(token.id, "") + str(token.text)
        assert len(texts) == 2
        assert texts[messages[-1].id] == "The whole answer."
        (void,) = [text for identifier, text in texts.items() if identifier != messages[-1].id]
        assert void
        assert "half an answer that".startswith(void)
        assert events == [{"type": "model_retry", "attempt": 2, "pause": 0.5}]

    async def test_a_stream_cut_for_ever_is_an_error_and_no_answer(self, patient: Agent) -> None:
        place = thread()
        cut = Turn(content="half", finish_reason=None)
        talk = await patient.endpoint.script(cut, cut, cut, Turn(content="later"))
        with pytest.raises(ModelUnavailable, match=r"broke off its answer\. Nothing is lost"):
            await streamed(patient, talk.says("go"), place=place, context=model(patient))
        messages = await patient.run("again", thread=place, context=model(patient))
        assert [message.type for message in messages] == ["human", "human", "ai"]
        assert "half" not in str(messages)

    async def test_a_half_tool_call_is_not_executed(self, patient: Agent, log: Log) -> None:
        pay = ScriptedCall(name="bench_pay", args={"amount": 5, "note": "a long note of many pieces"})
        talk = await patient.endpoint.script(
            Turn(content="", tool_calls=(pay,), cut_after_chunks=4), Turn(content="Not paid.")
        )
        _, _, messages = await streamed(patient, talk.says("go"), place=thread(), context=model(patient))
        assert messages[-1].content == "Not paid."
        assert log.effects == []

    async def test_a_slow_first_byte_ends_at_the_choices_timeout(self, patient: Agent) -> None:
        talk = await patient.endpoint.script(Turn(content="late", gate="never"), Turn(content="spare here"))
        context = model(patient, "openai:spare", timeout=0.4)
        messages = await patient.run(talk.says("go"), thread=thread(), context=context)
        assert messages[-1].content == "spare here"
        assert await asked(talk) == ["main", "spare"]

    async def test_the_turns_seconds_bound_the_whole(self, patient: Agent) -> None:
        talk = await patient.endpoint.script(Turn(content="late", gate="never"), Turn(content="never"))
        context = model(patient, "openai:spare").model_copy(update={"limits": Limits(seconds=0.5)})
        with pytest.raises(ModelUnavailable, match="'openai:main' took too long"):
            await patient.run(talk.says("go"), thread=thread(), context=context)
        assert await asked(talk) == ["main"]
