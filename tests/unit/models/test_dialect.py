"""The habits of endpoints, each against the client that has to live with it, over HTTP."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from openai import BadRequestError
from pydantic import SecretStr

from agent.models.dialect import DialectChat
from agent.models.failure import AnswerCut, AnswerStalled
from agent.models.outgoing import REASONING, UNRECORDED
from agent.models.usage import ESTIMATED
from agent.offline.script import ChunkGate, ScriptedCall, Turn, UsageFigures
from agent.profile import PROFILES
from tests.support.endpoint import Endpoint
from tests.unit.models.desk import WEATHER, Odd, Route, client, completion, piece, profile, said
from tests.unit.server.listener import listening

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
# The client dumps each chunk as its own class says, and warns where the endpoint's differs.
dumped = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")


def calls(*cities: str, **more: Any) -> Turn:
    made = [ScriptedCall(name="weather", args={"city": city}) for city in cities]
    return Turn(content="", tool_calls=tuple(made), **more)


def cities(message: AIMessage) -> list[Any]:
    return [call["args"]["city"] for call in message.tool_calls]


# The table of habits


@both
@pytest.mark.parametrize(
    ("dialect", "method"),
    [("deepseek", "json_object"), ("compatible", "json_object"), ("generic-safe", None)],
)
async def test_json_schema_refused(
    scripted: Endpoint,
    dialect: str,
    method: str | None,
    stream: bool,  # noqa: FBT001
) -> None:
    """Habit 1, case 82: the profile says how an answer in a schema is asked for; nothing is tried out."""
    answer = (
        Turn(content='{"worker": "writer"}')
        if method
        else Turn(tool_calls=(ScriptedCall(name="Route", args={"worker": "writer"}),))
    )
    talk = await scripted.script(answer, refuse_json_schema=True)
    asked = [HumanMessage(talk.says("Who? Answer in json."))]
    parser = client(scripted.url, dialect).with_structured_output(Route)
    if stream:
        assert [one async for one in parser.astream(asked)][-1] == Route(worker="writer")
    else:
        assert await parser.ainvoke(asked) == Route(worker="writer")
    (request,) = await talk.requests()
    assert (request.body.get("response_format") or {}).get("type") == method


async def test_json_schema_is_the_way_where_it_is_known(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content='{"worker": "writer"}'))
    parser = client(scripted.url, "scripted").with_structured_output(Route)
    assert await parser.ainvoke([HumanMessage(talk.says("Who?"))]) == Route(worker="writer")
    (request,) = await talk.requests()
    assert request.body["response_format"]["type"] == "json_schema"


async def test_a_method_that_is_named_is_used(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content='{"worker": "writer"}'))
    parser = client(scripted.url, "scripted").with_structured_output(Route, method="json_mode")
    assert await parser.ainvoke([HumanMessage(talk.says("Who? json"))]) == Route(worker="writer")
    assert (await talk.requests())[0].body["response_format"] == {"type": "json_object"}


@both
@pytest.mark.parametrize("choice", ["any", "required", "weather", True])
async def test_forced_tool_choice_refused(scripted: Endpoint, choice: Any, stream: bool) -> None:  # noqa: FBT001
    """Habit 2, case 83: a forced choice is left out where it is refused, whoever asks for it."""
    talk = await scripted.script(calls("Bonn"), refuse_forced_tool_choice=True)
    model = client(scripted.url, "deepseek").bind_tools([WEATHER], tool_choice=choice)
    assert cities(await said(model, [HumanMessage(talk.says("go"))], stream=stream)) == ["Bonn"]
    (request,) = await talk.requests()
    assert "tool_choice" not in request.body
    assert len(request.body["tools"]) == 1


async def test_a_forced_choice_reaches_an_endpoint_that_knows_it(scripted: Endpoint) -> None:
    talk = await scripted.script(calls("Bonn"))
    model = client(scripted.url, "compatible").bind_tools([WEATHER], tool_choice="any")
    await model.ainvoke([HumanMessage(talk.says("go"))])
    assert (await talk.requests())[0].body["tool_choice"] == "required"


async def test_no_tools_is_no_forced_choice(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content="ok"))
    model = client(scripted.url, "generic-safe").bind_tools([WEATHER], tool_choice="none")
    await model.ainvoke([HumanMessage(talk.says("go"))])
    assert (await talk.requests())[0].body["tool_choice"] == "none"


@both
async def test_parallel_tool_calls_refused(scripted: Endpoint, stream: bool) -> None:  # noqa: FBT001
    """Habit 3."""
    talk = await scripted.script(calls("Bonn"), refuse_parallel_tool_calls=True)
    model = client(scripted.url, "generic-safe").bind_tools([WEATHER], parallel_tool_calls=False)
    assert cities(await said(model, [HumanMessage(talk.says("go"))], stream=stream)) == ["Bonn"]
    (request,) = await talk.requests()
    assert "parallel_tool_calls" not in request.body


@both
async def test_only_max_tokens_known(scripted: Endpoint, stream: bool) -> None:  # noqa: FBT001
    """Habit 4."""
    talk = await scripted.script(Turn(content="ok"), only_max_tokens=True)
    model = client(scripted.url, "compatible", max_completion_tokens=7)
    await said(model, [HumanMessage(talk.says("go"))], stream=stream)
    (request,) = await talk.requests()
    assert (request.body["max_tokens"], "max_completion_tokens" in request.body) == (7, False)


async def test_openai_gets_its_own_parameters(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content="ok"))
    model = client(scripted.url, "openai", max_completion_tokens=7).bind_tools(
        [WEATHER], parallel_tool_calls=False
    )
    await said(model, [HumanMessage(talk.says("go"))], stream=True)
    (request,) = await talk.requests()
    assert (request.body["max_completion_tokens"], "max_tokens" in request.body) == (7, False)
    assert request.body["parallel_tool_calls"] is False
    assert request.body["stream_options"] == {"include_usage": True}


@both
async def test_reasoning_is_kept(scripted: Endpoint, stream: bool) -> None:  # noqa: FBT001
    """Habit 5, case 84."""
    talk = await scripted.script(Turn(content="four", reasoning="two and two"))
    message = await said(client(scripted.url, "deepseek"), [HumanMessage(talk.says("go"))], stream=stream)
    assert (message.content, message.additional_kwargs[REASONING]) == ("four", "two and two")


async def test_reasoning_is_dropped_where_no_field_holds_it(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content="four", reasoning="two and two"))
    message = await client(scripted.url, "openai").ainvoke([HumanMessage(talk.says("go"))])
    assert REASONING not in message.additional_kwargs


async def test_reasoning_under_another_name_is_kept_under_ours() -> None:
    whole = completion({"content": "four", "reasoning": "two and two"})
    parts = [
        piece({"role": "assistant", "reasoning": "two "}),
        piece({"reasoning": "and two"}),
        piece({"content": "four"}, finish_reason="stop"),
        "[DONE]",
    ]
    async with listening(Odd(whole, parts)) as url:
        model = client(f"{url}/v1", "ollama")
        for stream in (False, True):
            message = await said(model, [HumanMessage("go")], stream=stream)
            assert (message.content, message.additional_kwargs[REASONING]) == ("four", "two and two")


@both
async def test_reasoning_demanded_back(scripted: Endpoint, stream: bool) -> None:  # noqa: FBT001
    """Habit 6, case 84: what came is sent back; for a call of another model something stands in its place."""
    talk = await scripted.script(
        calls("Bonn", reasoning="a city"), Turn(content="sunny"), require_reasoning=True
    )
    model = client(scripted.url, "deepseek").bind_tools([WEATHER])
    foreign = [
        HumanMessage(talk.says("go")),
        AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "call_0", "type": "tool_call"}]),
        ToolMessage("?", tool_call_id="call_0"),
    ]
    first = await said(model, foreign, stream=stream)
    result = ToolMessage("sun", tool_call_id=first.tool_calls[0]["id"] or "")
    assert (await said(model, [*foreign, first, result], stream=stream)).content == "sunny"
    sent = (await talk.requests())[1].body["messages"]
    assert [m["reasoning_content"] for m in sent if m["role"] == "assistant"] == [UNRECORDED, "a city"]


@both
async def test_reasoning_refused(scripted: Endpoint, stream: bool) -> None:  # noqa: FBT001
    """Case 84, the other way round: a history with reasoning goes to an endpoint that refuses it."""
    talk = await scripted.script(Turn(content="ok"), refuse_reasoning=True)
    history = [
        HumanMessage(talk.says("go")),
        AIMessage(
            "",
            additional_kwargs={REASONING: "a city"},
            tool_calls=[{"name": "weather", "args": {}, "id": "call_0", "type": "tool_call"}],
        ),
        ToolMessage("sun", tool_call_id="call_0"),
    ]
    assert (await said(client(scripted.url, "compatible"), history, stream=stream)).content == "ok"
    (request,) = await talk.requests()
    assert request.body["messages"][2]["tool_calls"][0]["id"] == "call_0"


@both
async def test_usage_is_reported_where_the_endpoint_gives_it(scripted: Endpoint, stream: bool) -> None:  # noqa: FBT001
    """Habit 7, case 86: also from a custom base URL, also streamed."""
    figures = UsageFigures(prompt_tokens=11, completion_tokens=3)
    talk = await scripted.script(Turn(content="one two", usage=figures))
    message = await said(client(scripted.url, "compatible"), [HumanMessage(talk.says("go"))], stream=stream)
    assert message.usage_metadata == {
        "input_tokens": 11,
        "output_tokens": 3,
        "total_tokens": 14,
        **{name: {} for name in ("input_token_details", "output_token_details")},
    }
    assert ESTIMATED not in message.response_metadata


@both
async def test_usage_is_estimated_and_says_so_where_the_endpoint_gives_none(
    scripted: Endpoint,
    stream: bool,  # noqa: FBT001
) -> None:
    """Case 86: a budget never sees zero."""
    talk = await scripted.script(calls("Bonn"), no_usage=True)
    model = client(scripted.url, "compatible").bind_tools([WEATHER])
    message = await said(model, [HumanMessage(talk.says("你好 " * 50))], stream=stream)
    assert message.response_metadata[ESTIMATED] is True
    assert message.usage_metadata is not None
    spent, written = message.usage_metadata["input_tokens"], message.usage_metadata["output_tokens"]
    assert 220 < spent < 290  # a hundred characters of Chinese, the key, the schema, what frames are
    assert 4 < written < 12
    assert message.usage_metadata["total_tokens"] == spent + written


async def test_stream_options_refused(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content="ok"), refuse_stream_options=True)
    message = await said(client(scripted.url, "generic-safe"), [HumanMessage(talk.says("go"))], stream=True)
    assert message.response_metadata[ESTIMATED] is True
    assert "stream_options" not in (await talk.requests())[0].body


async def test_usage_that_comes_with_every_chunk_is_counted_once() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    parts = [
        piece({"role": "assistant", "content": "o"}, usage=usage),
        piece({"content": "k"}, usage=usage),
        piece({}, finish_reason="stop", usage=usage),
        piece({}, finish_reason="stop", usage=usage),
        "[DONE]",
    ]
    async with listening(Odd(parts)) as url:
        message = await said(client(f"{url}/v1"), [HumanMessage("go")], stream=True)
    assert message.usage_metadata is not None
    assert message.usage_metadata["total_tokens"] == 7
    assert (message.response_metadata["finish_reason"], message.response_metadata["model_name"]) == (
        "stop",
        "m",
    )


@dumped
async def test_arguments_as_an_object() -> None:
    """Habit 8."""
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "weather", "arguments": {"city": "Köln"}},
    }
    parts = [
        piece({"role": "assistant", "tool_calls": [{"index": 0, **call}]}),
        piece({}, finish_reason="tool_calls"),
        "[DONE]",
    ]
    whole = completion({"content": None, "tool_calls": [call]}, finish_reason="tool_calls")
    async with listening(Odd(whole, parts)) as url:
        model = client(f"{url}/v1").bind_tools([WEATHER])
        for stream in (False, True):
            message = await said(model, [HumanMessage("go")], stream=stream)
            assert message.invalid_tool_calls == []
            assert [(one["id"], one["args"]) for one in message.tool_calls] == [("call_1", {"city": "Köln"})]


@both
@pytest.mark.parametrize("tool_ids", ["normal", "empty", "repeated", "per_chunk"])
@pytest.mark.parametrize("tool_index", ["normal", "missing", "same"])
async def test_ids_and_indexes_of_calls(
    scripted: Endpoint,
    tool_ids: str,
    tool_index: str,
    stream: bool,  # noqa: FBT001
) -> None:
    """Habits 9 and 10: calls come apart, whole, each with an id of its own."""
    talk = await scripted.script(calls("Bonn", "Köln"), tool_ids=tool_ids, tool_index=tool_index)
    model = client(scripted.url).bind_tools([WEATHER])
    message = await said(model, [HumanMessage(talk.says("go"))], stream=stream)
    assert cities(message) == ["Bonn", "Köln"]
    assert message.invalid_tool_calls == []
    ids = [call["id"] for call in message.tool_calls]
    assert all(ids)
    assert len(set(ids)) == 2
    if tool_ids in ("normal", "per_chunk"):
        assert all(str(one).startswith("call_") and len(str(one)) < 20 for one in ids)


@both
async def test_an_id_that_the_history_has_is_not_used_again(scripted: Endpoint, stream: bool) -> None:  # noqa: FBT001
    """An endpoint that counts from the beginning in every turn would repeat an idempotency key."""
    again = ScriptedCall(name="weather", args={"city": "Bonn"}, id="call_0")
    talk = await scripted.script(Turn(content="", tool_calls=(again,)))
    history = [
        HumanMessage(talk.says("go")),
        AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "call_0", "type": "tool_call"}]),
        ToolMessage("sun", tool_call_id="call_0"),
    ]
    message = await said(client(scripted.url).bind_tools([WEATHER]), history, stream=stream)
    assert cities(message) == ["Bonn"]
    assert message.tool_calls[0]["id"] not in ("", "call_0", None)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>',
        '```json\n{"name": "weather", "arguments": {"city": "Bonn"}}\n```',
        '{"name": "weather", "parameters": {"city": "Bonn"}}',
    ],
)
@both
async def test_a_call_that_comes_as_text(scripted: Endpoint, text: str, stream: bool) -> None:  # noqa: FBT001
    """Habit 12."""
    talk = await scripted.script(Turn(content=text))
    model = client(scripted.url, "ollama").bind_tools([WEATHER])
    message = await said(model, [HumanMessage(talk.says("go"))], stream=stream)
    assert (cities(message), message.content) == (["Bonn"], "")
    assert message.tool_calls[0]["id"]
    assert (await talk.requests())[0].body.get("stream") in (None, False)


async def test_text_is_text_where_calls_do_not_come_as_text(scripted: Endpoint) -> None:
    text = '{"name": "weather", "parameters": {"city": "Bonn"}}'
    talk = await scripted.script(Turn(content=text))
    model = client(scripted.url, "openai").bind_tools([WEATHER])
    message = await model.ainvoke([HumanMessage(talk.says("go"))])
    assert (message.content, message.tool_calls) == (text, [])


@pytest.mark.parametrize("name", ["gpt-5.2-pro", "gpt-5-codex", "gpt-6-mini"])
async def test_a_model_s_name_does_not_change_the_route(name: str) -> None:
    """Habit 13: some names make ChatOpenAI ask /v1/responses, which compatible endpoints lack."""
    odd = Odd(completion({"content": "ok"}))
    async with listening(odd) as url:
        model = client(f"{url}/v1", model=name).bind_tools([WEATHER])
        assert (await model.ainvoke([HumanMessage("go")])).content == "ok"
    assert [body["path"] for body in odd.bodies] == ["/v1/chat/completions"]


def test_counting_tokens_downloads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Habit 14."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    model = client("http://127.0.0.1:9/v1", model="gpt-4o")
    plain = model.get_num_tokens_from_messages([HumanMessage("你好" * 10)])
    assert plain == 3 + 4 + 20
    assert model.get_num_tokens_from_messages([HumanMessage("你好" * 10)], tools=[WEATHER]) > plain + 20


@pytest.mark.parametrize(
    ("dialect", "switch", "content"),
    [
        ("openai", "refuse_blank_content", None),
        ("deepseek", "refuse_null_content", ""),
        ("generic-safe", "refuse_null_content", "Calling weather."),
        ("generic-safe", "refuse_blank_content", "Calling weather."),
    ],
)
@pytest.mark.parametrize("written", ["", " \n"])
async def test_content_of_a_message_that_only_calls(
    scripted: Endpoint, dialect: str, switch: str, content: str | None, written: str
) -> None:
    """Habit 15: null and blank are each refused by somebody."""
    talk = await scripted.script(Turn(content="ok"), **{switch: True})
    history = [
        HumanMessage(talk.says("go")),
        AIMessage(written, tool_calls=[{"name": "weather", "args": {}, "id": "c", "type": "tool_call"}]),
        ToolMessage("sun", tool_call_id="c"),
    ]
    assert (await client(scripted.url, dialect).ainvoke(history)).content == "ok"
    assert (await talk.requests())[0].body["messages"][2]["content"] == content


@both
async def test_the_safe_profile_is_refused_by_nobody(scripted: Endpoint, stream: bool) -> None:  # noqa: FBT001
    """`generic-safe` asks for nothing that one of the habits refuses; all of them at once."""
    talk = await scripted.script(
        calls("Bonn"),
        Turn(content="sunny"),
        refuse_null_content=True,
        refuse_blank_content=True,
        refuse_json_schema=True,
        refuse_forced_tool_choice=True,
        refuse_parallel_tool_calls=True,
        refuse_stream_options=True,
        only_max_tokens=True,
        refuse_reasoning=True,
        no_usage=True,
        tool_ids="empty",
        tool_index="missing",
    )
    model = client(scripted.url, "generic-safe", max_completion_tokens=50).bind_tools(
        [WEATHER], tool_choice="any", parallel_tool_calls=False
    )
    asked = [HumanMessage(talk.says("go"))]
    first = await said(model, asked, stream=stream)
    result = ToolMessage("sun", tool_call_id=first.tool_calls[0]["id"] or "")
    assert (await said(model, [*asked, first, result], stream=stream)).content == "sunny"


async def test_the_same_request_in_openai_s_words_is_refused_there(scripted: Endpoint) -> None:
    """So the test above has something to hold off."""
    talk = await scripted.script(calls("Bonn"), refuse_parallel_tool_calls=True)
    model = client(scripted.url, "openai").bind_tools([WEATHER], parallel_tool_calls=False)
    with pytest.raises(BadRequestError, match="parallel_tool_calls"):
        await model.ainvoke([HumanMessage(talk.says("go"))])


# Answers that are none


@both
async def test_an_answer_without_a_finish_reason_is_cut(scripted: Endpoint, stream: bool) -> None:  # noqa: FBT001
    talk = await scripted.script(Turn(content="half an", finish_reason=None))
    with pytest.raises(AnswerCut, match="finish reason"):
        await said(client(scripted.url), [HumanMessage(talk.says("go"))], stream=stream)


async def test_a_stream_that_just_ends_is_cut() -> None:
    parts = [piece({"role": "assistant", "content": "half"}), piece({"content": " an"})]
    async with listening(Odd(parts, [*parts, "[DONE]"])) as url:
        for _ in range(2):
            with pytest.raises(AnswerCut):
                await said(client(f"{url}/v1"), [HumanMessage("go")], stream=True)


@pytest.mark.parametrize("reason", ["length", "content_filter", "stop"])
async def test_every_finish_reason_is_an_end(scripted: Endpoint, reason: Any) -> None:
    talk = await scripted.script(Turn(content="so far", finish_reason=reason))
    message = await said(client(scripted.url), [HumanMessage(talk.says("go"))], stream=True)
    assert (message.content, message.response_metadata["finish_reason"]) == ("so far", reason)


@pytest.mark.parametrize(
    "answer",
    [
        "<html>sorry</html>",
        {"error": {"message": "overloaded sk-123", "code": 502}},
        {"object": "chat.completion"},
        {"object": "chat.completion", "choices": None},
        {"object": "chat.completion", "choices": []},
    ],
)
async def test_an_answer_that_is_no_completion_is_cut(answer: Any) -> None:
    async with listening(Odd(answer)) as url:
        with pytest.raises(AnswerCut, match="The endpoint's answer is") as caught:
            await client(f"{url}/v1").ainvoke([HumanMessage("go")])
    assert "sk-123" not in str(caught.value)


async def test_a_piece_that_is_not_json_is_a_cut_answer() -> None:
    parts = [piece({"role": "assistant", "content": "half"}), '{"id": "c", "choi']
    async with listening(Odd(parts)) as url:
        with pytest.raises(AnswerCut, match="not JSON"):
            await said(client(f"{url}/v1"), [HumanMessage("go")], stream=True)


async def test_json_that_is_none_is_a_cut_answer() -> None:
    class Broken(Odd):
        def _answer(self, answer: Any) -> Any:
            made = super()._answer(answer)
            made.headers["content-type"] = "application/json"
            return made

    async with listening(Broken('{"id": "c", "choi')) as url:
        with pytest.raises(AnswerCut, match="not JSON"):
            await client(f"{url}/v1").ainvoke([HumanMessage("go")])


async def test_a_stream_that_stalls_is_given_up(scripted: Endpoint) -> None:
    gate = ChunkGate(name="stall", n=2)
    talk = await scripted.script(Turn(content="one two three", gate_after_chunks=gate))
    model = client(scripted.url, stream_chunk_timeout=0.2)
    with pytest.raises(AnswerStalled):
        await said(model, [HumanMessage(talk.says("go"))], stream=True)
    await talk.open("stall")


async def test_a_parsed_answer_survives_the_reading_of_it(scripted: Endpoint) -> None:
    """`.parsed` is on the client's own object; a copy of it would have lost it."""
    talk = await scripted.script(Turn(content='{"worker": "writer"}', reasoning="hm"))
    model = client(scripted.url).bind(response_format=Route)
    message = await model.ainvoke([HumanMessage(talk.says("go"))])
    assert message.additional_kwargs["parsed"] == Route(worker="writer")
    assert message.additional_kwargs[REASONING] == "hm"


@dumped
async def test_a_parsed_stream_tells_its_reasoning_once(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content='{"worker": "writer"}', reasoning="hm"))
    model = client(scripted.url).bind(response_format=Route)
    message = await said(model, [HumanMessage(talk.says("go"))], stream=True)
    assert message.additional_kwargs[REASONING] == "hm"
    assert message.content == '{"worker": "writer"}'


async def test_two_streams_at_once_do_not_mix(scripted: Endpoint) -> None:
    first = await scripted.script(calls("Bonn", "Köln"), tool_index="missing", tool_ids="empty")
    second = await scripted.script(calls("Ulm"), tool_index="missing", tool_ids="empty")
    model = client(scripted.url).bind_tools([WEATHER])
    one, two = await asyncio.gather(
        *(said(model, [HumanMessage(talk.says("go"))], stream=True) for talk in (first, second))
    )
    assert (cities(one), cities(two)) == (["Bonn", "Köln"], ["Ulm"])


def test_a_client_has_the_endpoint_s_profile() -> None:
    assert client("http://x/v1", "deepseek").dialect == PROFILES["deepseek"]
    assert profile("openai", max_tokens="max_tokens") != PROFILES["openai"]


class Opened(DialectChat):
    """The client with the hook that langchain-openai calls."""

    def read(self, response: dict[str, Any]) -> AIMessage:
        return cast("AIMessage", self._create_chat_result(response).generations[0].message)


def test_an_answer_that_comes_as_a_plain_map_is_read_the_same() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": {"city": "Ulm"}}}
    settings = client("http://127.0.0.1:9/v1", "deepseek")
    model = Opened(model="m", api_key=SecretStr("sk-test"), dialect=settings.dialect)
    message = model.read(completion({"tool_calls": [call], "reasoning_content": "hm"}))
    assert (cities(message), message.additional_kwargs[REASONING]) == (["Ulm"], "hm")
