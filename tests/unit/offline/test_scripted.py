"""What a script promises, as ChatOpenAI meets it: turns, faults and dialects."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any, cast

import httpx
import httpx2
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from pydantic import BaseModel

from agent.offline.app import script_app
from agent.offline.script import (
    ChunkGate,
    Expect,
    RateLimit,
    ScriptedCall,
    TokenDetails,
    Turn,
    UsageFigures,
)
from agent.offline.serving import serving
from tests.unit.offline.catalogue import KB_SEARCH, ORDERS_GET
from tests.unit.offline.speech import assistant, user
from tests.unit.offline.stand import API_KEY, Stand, answered, chat_model, streamed

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("stream", [False, True])
TOOLS = [ORDERS_GET, KB_SEARCH]
ONE_CALL = Turn(tool_calls=(ScriptedCall(name="orders_get", args={"number": 1001}),))
TWO_CALLS = Turn(
    tool_calls=(
        ScriptedCall(name="orders_get", args={"number": 1001}),
        ScriptedCall(name="kb_search", args={"query": "returns"}),
    )
)
DONE = Turn(content="done")


def opening(key: str) -> list[BaseMessage]:
    """A conversation that belongs to the script."""
    return [HumanMessage(f"{key}: where is order 1001?")]


@both
async def test_turns_are_used_up_in_order(stand: Stand, *, stream: bool) -> None:
    key = await stand.put(Turn(content="first"), Turn(content="second"))
    model = chat_model(stand.url)

    texts = [(await answered(model, opening(key), stream=stream)).text for _ in range(2)]

    assert texts == ["first", "second"]
    assert (await stand.seen(key)).left == 0


@both
async def test_request_without_a_turn_left_fails_loudly(stand: Stand, *, stream: bool) -> None:
    key = await stand.put(DONE)
    model = chat_model(stand.url)
    await model.ainvoke(opening(key))

    with pytest.raises(
        openai.BadRequestError, match=rf"Script '{key}', turn 1: no turn is left; the script has 1"
    ):
        await answered(model, opening(key), stream=stream)


async def test_request_without_a_script_fails_loudly(stand: Stand) -> None:
    with pytest.raises(openai.BadRequestError, match="No script's key occurs in the first human message"):
        await chat_model(stand.url).ainvoke("nobody knows this")


async def test_script_is_found_by_the_first_human_message_only(stand: Stand) -> None:
    key = await stand.put(DONE)
    messages = [HumanMessage("something else"), AIMessage("yes?"), HumanMessage(key)]

    with pytest.raises(openai.BadRequestError, match="No script's key"):
        await chat_model(stand.url).ainvoke(messages)
    assert (await stand.seen(key)).requests == ()


async def test_longest_key_wins(stand: Stand) -> None:
    short = await stand.put(Turn(content="short"))
    long = await stand.put(Turn(content="long"), key=f"{short}-and-more")

    said = await chat_model(stand.url).ainvoke(opening(long))

    assert said.text == "long"
    assert (await stand.seen(short)).left == 1


@both
async def test_tool_call_is_assembled_with_its_arguments(stand: Stand, *, stream: bool) -> None:
    key = await stand.put(TWO_CALLS)
    model = chat_model(stand.url).bind_tools(TOOLS)

    said = await answered(model, opening(key), stream=stream)

    assert [(call["name"], call["args"]) for call in said.tool_calls] == [
        ("orders_get", {"number": 1001}),
        ("kb_search", {"query": "returns"}),
    ]
    ids = [call["id"] for call in said.tool_calls]
    assert all(ids)
    assert len(set(ids)) == 2
    assert said.response_metadata["finish_reason"] == "tool_calls"
    assert said.response_metadata["model_name"] == "gpt-5-mini"


@both
async def test_call_ids_are_unique_in_a_conversation_or_as_given(stand: Stand, *, stream: bool) -> None:
    given = Turn(tool_calls=(ScriptedCall(name="orders_get", args={"number": 1}, id="mine"),))
    key = await stand.put(ONE_CALL, ONE_CALL, given)
    model = chat_model(stand.url).bind_tools(TOOLS)

    said = [await answered(model, opening(key), stream=stream) for _ in range(3)]

    ids = [message.tool_calls[0]["id"] for message in said]
    assert ids[2] == "mine"
    assert len(set(ids)) == 3


@both
async def test_broken_arguments_arrive_word_for_word(stand: Stand, *, stream: bool) -> None:
    turn = Turn(tool_calls=(ScriptedCall(name="orders_get", raw_arguments="number = 1001"),))
    key = await stand.put(turn)
    model = chat_model(stand.url).bind_tools(TOOLS)

    said = await answered(model, opening(key), stream=stream)

    assert [(call["name"], call["args"]) for call in said.invalid_tool_calls] == [
        ("orders_get", "number = 1001")
    ]
    assert said.tool_calls == []


async def test_truncated_arguments_are_completed_by_the_client_in_a_stream_only(stand: Stand) -> None:
    turn = Turn(tool_calls=(ScriptedCall(name="orders_get", raw_arguments='{"number": 10'),))
    key = await stand.put(turn, turn)
    model = chat_model(stand.url).bind_tools(TOOLS)

    whole = await model.ainvoke(opening(key))
    stream = await streamed(model, opening(key))

    assert [call["args"] for call in whole.invalid_tool_calls] == ['{"number": 10']
    assert [call["args"] for call in stream.tool_calls] == [{"number": 10}]
    assert stream.tool_call_chunks[0]["args"] == '{"number": 10'


async def test_text_comes_in_as_many_chunks_as_wanted(stand: Stand) -> None:
    key = await stand.put(Turn(content="abcdefghij", chunks=4))

    texts = [chunk.text async for chunk in chat_model(stand.url).astream(opening(key))]

    assert [text for text in texts if text] == ["ab", "cde", "fgh", "ij"]


@both
async def test_usage_is_counted_unless_given(stand: Stand, *, stream: bool) -> None:
    figures = UsageFigures(
        prompt_tokens=1200, completion_tokens=34, prompt_tokens_details=TokenDetails(cached_tokens=1000)
    )
    key = await stand.put(DONE, Turn(content="done", usage=figures), Turn(content="done", usage=None))
    model = chat_model(stand.url)

    counted, given, none = [await answered(model, opening(key), stream=stream) for _ in range(3)]

    assert counted.usage_metadata is not None
    assert counted.usage_metadata["output_tokens"] == 1
    assert given.usage_metadata is not None
    assert given.usage_metadata["total_tokens"] == 1234
    assert given.usage_metadata.get("input_token_details") == {"cache_read": 1000}
    assert none.usage_metadata is None


@both
async def test_no_usage_is_a_habit_of_the_whole_conversation(stand: Stand, *, stream: bool) -> None:
    key = await stand.put(DONE, no_usage=True)

    said = await answered(chat_model(stand.url), opening(key), stream=stream)

    assert said.text == "done"
    assert said.usage_metadata is None


@both
@pytest.mark.parametrize("finish", ["length", "content_filter", "stop"])
async def test_finish_reason_is_as_scripted(stand: Stand, finish: Any, *, stream: bool) -> None:
    key = await stand.put(Turn(content="cut", finish_reason=finish))

    said = await answered(chat_model(stand.url), opening(key), stream=stream)

    assert said.response_metadata["finish_reason"] == finish


async def test_missing_finish_reason_is_noticed_by_nobody(stand: Stand) -> None:
    key = await stand.put(Turn(content="cut", finish_reason=None))

    said = await streamed(chat_model(stand.url), opening(key))

    assert said.text == "cut"
    assert said.response_metadata.get("finish_reason") is None


@both
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
async def test_error_status_is_raised_with_its_text(
    stand: Stand, status: int, error: type[openai.APIStatusError], *, stream: bool
) -> None:
    key = await stand.put(Turn(status=status, error="out of paper"), DONE)
    model = chat_model(stand.url)

    with pytest.raises(error, match="out of paper") as raised:
        await answered(model, opening(key), stream=stream)

    assert raised.value.status_code == status
    assert (await answered(model, opening(key), stream=stream)).text == "done"


async def test_client_waits_and_tries_again_as_the_headers_say(stand: Stand) -> None:
    busy = Turn(status=429, headers={"retry-after-ms": "1"})
    key = await stand.put(busy, busy, DONE)

    said = await chat_model(stand.url, max_retries=2).ainvoke(opening(key))

    seen = await stand.seen(key)
    assert said.text == "done"
    assert [request.turn for request in seen.requests] == [0, 1, 2]


async def test_rate_limit_at_a_call_uses_no_turn_up(stand: Stand) -> None:
    key = await stand.put(
        Turn(content="one"), Turn(content="two"), rate_limit_at=RateLimit(call=2, retry_after=0.25)
    )
    model = chat_model(stand.url)

    first = await model.ainvoke(opening(key))
    with pytest.raises(openai.RateLimitError, match="Rate limit reached") as raised:
        await model.ainvoke(opening(key))
    second = await model.ainvoke(opening(key))

    assert (first.text, second.text) == ("one", "two")
    assert raised.value.response.headers["retry-after"] == "0.25"
    assert [request.turn for request in (await stand.seen(key)).requests] == [0, None, 1]


async def test_headers_go_with_a_healthy_response_too(stand: Stand) -> None:
    key = await stand.put(Turn(content="ok", headers={"x-request-id": "r-1"}))

    response = await stand.post({"model": "m", "messages": [user(key)]})

    assert response.headers["x-request-id"] == "r-1"
    assert response.json()["choices"][0]["message"]["content"] == "ok"


async def test_cut_stream_is_a_connection_error_after_its_first_chunks(stand: Stand) -> None:
    key = await stand.put(Turn(content="one two three four", cut_after_chunks=3))
    stream = chat_model(stand.url).astream(opening(key))

    texts = [(await anext(stream)).text for _ in range(3)]
    with pytest.raises((openai.APIConnectionError, httpx2.HTTPError)):
        await anext(stream)

    assert texts == ["", "one", " two"]


async def test_cut_response_is_a_connection_error(stand: Stand) -> None:
    key = await stand.put(Turn(content="one two three four", cut_after_chunks=3))

    with pytest.raises((openai.APIConnectionError, httpx2.HTTPError)):
        await chat_model(stand.url).ainvoke(opening(key))

    assert (await stand.seen(key)).left == 0


@both
async def test_gate_holds_the_first_byte_until_it_is_opened(stand: Stand, *, stream: bool) -> None:
    key = await stand.put(Turn(content="done", gate="go"))
    waiting = asyncio.create_task(answered(chat_model(stand.url), opening(key), stream=stream))

    seen = await stand.seen(key, wait_for=1)
    held = not waiting.done()
    await stand.open(key, "go")

    assert len(seen.requests) == 1
    assert held
    assert (await waiting).text == "done"


async def test_gate_that_was_opened_in_advance_holds_nothing(stand: Stand) -> None:
    key = await stand.put(Turn(content="done", gate="go"))
    await stand.open(key, "go")

    assert (await chat_model(stand.url).ainvoke(opening(key))).text == "done"


async def test_gate_in_the_middle_lets_the_first_chunks_through(stand: Stand) -> None:
    key = await stand.put(Turn(content="one two", chunks=2, gate_after_chunks=ChunkGate(name="rest", n=2)))
    stream = chat_model(stand.url).astream(opening(key))

    first = [await anext(stream), await anext(stream)]
    await stand.open(key, "rest")
    rest = [chunk.text async for chunk in stream]

    assert [chunk.text for chunk in first] == ["", "one "]
    assert "".join(rest) == "two"


async def test_gate_in_the_middle_holds_a_whole_response(stand: Stand) -> None:
    key = await stand.put(Turn(content="done", gate_after_chunks=ChunkGate(name="rest", n=2)))
    waiting = asyncio.create_task(chat_model(stand.url).ainvoke(opening(key)))

    await stand.seen(key, wait_for=1)
    held = not waiting.done()
    await stand.open(key, "rest")

    assert held
    assert (await waiting).text == "done"


async def test_gate_of_a_withdrawn_script_is_an_error(stand: Stand) -> None:
    key = await stand.put(Turn(content="done", gate="go"))
    waiting = asyncio.create_task(chat_model(stand.url).ainvoke(opening(key)))
    await stand.seen(key, wait_for=1)

    assert (await stand.http.delete(f"/script/{key}")).status_code == 200

    with pytest.raises(openai.BadRequestError, match=f"Script '{key}' was withdrawn at gate 'go'"):
        await waiting


async def test_stream_of_a_withdrawn_script_is_cut(stand: Stand) -> None:
    key = await stand.put(Turn(content="one two", chunks=2, gate_after_chunks=ChunkGate(name="rest", n=2)))
    stream = chat_model(stand.url).astream(opening(key))
    await anext(stream)

    await stand.http.delete(f"/script/{key}")

    with pytest.raises((openai.APIConnectionError, httpx2.HTTPError)):
        _ = [chunk async for chunk in stream]


async def test_client_that_leaves_at_a_gate_leaves_nothing_behind(stand: Stand) -> None:
    key = await stand.put(Turn(content="never", gate="go"), Turn(content="next"))

    with pytest.raises(openai.APITimeoutError):
        await chat_model(stand.url, timeout=0.05).ainvoke(opening(key))

    assert (await chat_model(stand.url).ainvoke(opening(key))).text == "next"


async def test_delay_holds_the_first_byte(stand: Stand) -> None:
    key = await stand.put(Turn(content="late", delay=60), Turn(content="soon", delay=0.01))

    with pytest.raises(openai.APITimeoutError):
        await chat_model(stand.url, timeout=0.05).ainvoke(opening(key))

    assert (await chat_model(stand.url).ainvoke(opening(key))).text == "soon"


async def test_server_stops_at_once_while_requests_wait() -> None:
    loop = asyncio.get_running_loop()
    async with httpx.AsyncClient(timeout=10) as http:
        async with serving(script_app()) as url:
            stand = Stand(url, http)
            http.base_url = httpx.URL(url.removesuffix("/v1"))
            key = await stand.put(Turn(content="never", gate="go"))
            waiting = asyncio.create_task(stand.post({"model": "m", "messages": [user(key)]}))
            await stand.seen(key, wait_for=1)
            held = not waiting.done()
            started = loop.time()
        took = loop.time() - started

    assert held
    assert took < 1
    with pytest.raises(httpx.HTTPError):
        (await waiting).raise_for_status()


async def test_reasoning_is_sent_as_third_parties_do(stand: Stand) -> None:
    key = await stand.put(Turn(content="ok", reasoning="hm, well"), Turn(content="ok", reasoning="hm, well"))

    whole = await stand.post({"model": "m", "messages": [user(key)]})
    stream = await stand.post({"model": "m", "messages": [user(key)], "stream": True})

    assert whole.json()["choices"][0]["message"]["reasoning_content"] == "hm, well"
    events = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: {")]
    deltas = [event["choices"][0]["delta"] for event in events]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "hm, well"
    assert "".join(delta.get("content") or "" for delta in deltas) == "ok"


@pytest.mark.parametrize(
    ("expect", "text"),
    [
        (
            Expect(tools=("kb_search",)),
            r"expected the tools \['kb_search'\] to be offered, got \['kb_search', 'orders_get'\]",
        ),
        (Expect(last_role="tool"), "expected the last message's role to be 'tool', got 'user'"),
        (Expect(contains="refund"), "expected a message that contains 'refund', got none"),
    ],
)
async def test_mismatch_is_named_and_uses_no_turn_up(stand: Stand, expect: Expect, text: str) -> None:
    key = await stand.put(Turn(content="done", expect=expect))
    model = chat_model(stand.url).bind_tools(TOOLS)

    with pytest.raises(openai.BadRequestError, match=text):
        await model.ainvoke(opening(key))

    seen = await stand.seen(key)
    assert seen.left == 1
    assert [request.turn for request in seen.requests] == [None]


async def test_request_as_expected_gets_its_turn(stand: Stand) -> None:
    expect = Expect(tools=("kb_search", "orders_get"), last_role="tool", contains='"number": 1001')
    key = await stand.put(ONE_CALL, Turn(content="done", expect=expect))
    model = chat_model(stand.url).bind_tools(TOOLS)

    call = await model.ainvoke(opening(key))
    last = await model.ainvoke(
        [*opening(key), call, ToolMessage("shipped", tool_call_id=str(call.tool_calls[0]["id"]))]
    )

    assert last.text == "done"


# The habits of endpoints


def _with_call(key: str, content: str = "", *, answered: bool = True) -> list[BaseMessage]:
    call = AIMessage(content, tool_calls=[tool_call(name="orders_get", args={"number": 1}, id="a")])
    return [*opening(key), call, *([ToolMessage("shipped", tool_call_id="a")] if answered else [])]


async def test_strict_pairing_refuses_a_dangling_call(stand: Stand) -> None:
    key = await stand.put(DONE)

    with pytest.raises(openai.BadRequestError, match="tool call 'a' has no tool message before the end"):
        await chat_model(stand.url).ainvoke(_with_call(key, answered=False))

    assert (await chat_model(stand.url).ainvoke(_with_call(key))).text == "done"


async def test_lax_endpoint_takes_a_dangling_call(stand: Stand) -> None:
    key = await stand.put(DONE, strict=False)

    assert (await chat_model(stand.url).ainvoke(_with_call(key, answered=False))).text == "done"


async def test_null_content_is_refused_where_it_is_a_habit(stand: Stand) -> None:
    key = await stand.put(DONE, refuse_null_content=True)
    model = chat_model(stand.url)

    with pytest.raises(openai.BadRequestError, match=r"messages\[1\]: assistant content must not be null"):
        await model.ainvoke(_with_call(key))

    assert (await model.ainvoke(_with_call(key, "I look."))).text == "done"


@pytest.mark.parametrize("content", ["", " \n"])
async def test_blank_content_is_refused_where_it_is_a_habit(stand: Stand, content: str) -> None:
    key = await stand.put(DONE, strict=False, refuse_blank_content=True)
    blank = assistant(content)

    refused = await stand.post({"model": "m", "messages": [user(key), blank, user("well?")]})
    taken = await stand.post({"model": "m", "messages": [user(key), assistant("hm"), user("well?")]})

    assert refused.status_code == 400
    assert "messages[1]: assistant content must not be blank" in refused.text
    assert taken.status_code == 200


class Answer(BaseModel):
    """An answer."""

    text: str


async def test_json_schema_is_refused_where_it_is_a_habit(stand: Stand) -> None:
    key = await stand.put(Turn(content='{"text": "ok"}'), refuse_json_schema=True)
    model = chat_model(stand.url)

    with pytest.raises(openai.BadRequestError, match="response_format type is unavailable: json_schema"):
        await model.with_structured_output(Answer, method="json_schema").ainvoke(opening(key))

    lenient = cast("Any", model).with_structured_output(Answer, method="json_mode")
    made = await lenient.ainvoke(opening(key))
    assert made == Answer(text="ok")


async def test_forced_tool_choice_is_refused_where_it_is_a_habit(stand: Stand) -> None:
    key = await stand.put(ONE_CALL, refuse_forced_tool_choice=True)
    model = chat_model(stand.url)

    for choice in ("any", "orders_get"):
        with pytest.raises(openai.BadRequestError, match="does not support this tool_choice"):
            await model.bind_tools(TOOLS, tool_choice=choice).ainvoke(opening(key))

    said = await model.bind_tools(TOOLS, tool_choice="auto").ainvoke(opening(key))
    assert said.tool_calls[0]["name"] == "orders_get"


async def test_parallel_tool_calls_parameter_is_refused_where_it_is_a_habit(stand: Stand) -> None:
    key = await stand.put(ONE_CALL, refuse_parallel_tool_calls=True)
    model = chat_model(stand.url)

    with pytest.raises(openai.BadRequestError, match="Unrecognized request argument: parallel_tool_calls"):
        await model.bind_tools(TOOLS, parallel_tool_calls=False).ainvoke(opening(key))

    assert (await model.bind_tools(TOOLS).ainvoke(opening(key))).tool_calls


async def test_stream_options_are_refused_where_it_is_a_habit(stand: Stand) -> None:
    key = await stand.put(DONE, refuse_stream_options=True)

    with pytest.raises(openai.BadRequestError, match="Unrecognized request argument: stream_options"):
        await streamed(chat_model(stand.url), opening(key))

    said = await streamed(chat_model(stand.url).bind(stream_usage=False), opening(key))
    assert (said.text, said.usage_metadata) == ("done", None)


async def test_only_max_tokens_refuses_the_newer_name(stand: Stand) -> None:
    key = await stand.put(DONE, only_max_tokens=True)

    with pytest.raises(openai.BadRequestError, match="Unrecognized request argument: max_completion_tokens"):
        await chat_model(stand.url, max_completion_tokens=5).ainvoke(opening(key))

    said = await chat_model(stand.url, extra_body={"max_tokens": 5}).ainvoke(opening(key))
    assert said.text == "done"


async def test_reasoning_is_demanded_back_where_it_is_a_habit(stand: Stand) -> None:
    key = await stand.put(DONE, require_reasoning=True)
    call: dict[str, Any] = {
        "id": "a",
        "type": "function",
        "function": {"name": "orders_get", "arguments": "{}"},
    }
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "a", "content": "shipped"}

    with pytest.raises(openai.BadRequestError, match="reasoning_content of a tool call must be passed back"):
        await chat_model(stand.url).ainvoke(_with_call(key))

    echoed = [user(key), {**said, "reasoning_content": "hm"}, answer]
    assert (await stand.post({"model": "m", "messages": echoed})).status_code == 200


async def test_reasoning_is_refused_where_it_is_a_habit(stand: Stand) -> None:
    key = await stand.put(DONE, refuse_reasoning=True)
    echoed = {**assistant("hm"), "reasoning_content": "well"}

    refused = await stand.post({"model": "m", "messages": [user(key), echoed, user("so?")]})
    taken = await stand.post({"model": "m", "messages": [user(key), assistant("hm"), user("so?")]})

    assert "messages[1]: reasoning_content is not allowed in a request" in refused.text
    assert (refused.status_code, taken.status_code) == (400, 200)


@both
async def test_empty_ids_arrive_empty(stand: Stand, *, stream: bool) -> None:
    key = await stand.put(TWO_CALLS, tool_ids="empty")

    said = await answered(chat_model(stand.url).bind_tools(TOOLS), opening(key), stream=stream)

    assert [call["id"] or "" for call in said.tool_calls] == ["", ""]
    assert [call["name"] for call in said.tool_calls] == ["orders_get", "kb_search"]


@both
async def test_repeated_ids_arrive_repeated(stand: Stand, *, stream: bool) -> None:
    key = await stand.put(TWO_CALLS, tool_ids="repeated")

    said = await answered(chat_model(stand.url).bind_tools(TOOLS), opening(key), stream=stream)

    ids = [call["id"] for call in said.tool_calls]
    assert len(ids) == 2
    assert ids[0]
    assert ids[0] == ids[1]


async def test_ids_that_change_with_each_chunk_lose_the_arguments(stand: Stand) -> None:
    key = await stand.put(ONE_CALL, ONE_CALL, tool_ids="per_chunk")
    model = chat_model(stand.url).bind_tools(TOOLS)

    said = await streamed(model, opening(key))
    chunks = [
        piece["id"]
        async for chunk in model.astream(opening(key))
        for piece in getattr(chunk, "tool_call_chunks", [])
    ]

    assert len(chunks) == len(set(chunks)) == 3
    assert said.tool_calls[0]["args"] == {}


async def test_missing_index_takes_the_call_to_pieces(stand: Stand) -> None:
    key = await stand.put(ONE_CALL, tool_index="missing")

    said = await streamed(chat_model(stand.url).bind_tools(TOOLS), opening(key))

    pieces = [*said.tool_calls, *said.invalid_tool_calls]
    assert len(pieces) > 1
    assert {"number": 1001} not in [call["args"] for call in said.tool_calls]


async def test_same_index_runs_two_calls_together(stand: Stand) -> None:
    key = await stand.put(TWO_CALLS, tool_index="same")

    said = await streamed(chat_model(stand.url).bind_tools(TOOLS), opening(key))

    assert said.tool_call_chunks[0]["args"] == '{"number": 1001}{"query": "returns"}'
    assert {"query": "returns"} not in [call["args"] for call in said.tool_calls]


@both
async def test_context_limit_is_known_to_the_client(stand: Stand, *, stream: bool) -> None:
    key = await stand.put(DONE, context_limit=40)
    long = [HumanMessage(f"{key} {'word ' * 60}")]

    with pytest.raises(ContextOverflowError, match="exceed the configured limit of 40 tokens"):
        await answered(chat_model(stand.url), long, stream=stream)

    assert (await answered(chat_model(stand.url), opening(key), stream=stream)).text == "done"


async def test_classic_wording_of_the_context_limit_has_only_the_code_to_be_known_by(stand: Stand) -> None:
    key = await stand.put(DONE, context_limit=40, context_error="classic")

    with pytest.raises(openai.BadRequestError, match="maximum context length is 40 tokens") as raised:
        await chat_model(stand.url).ainvoke([HumanMessage(f"{key} {'word ' * 60}")])

    assert raised.value.code == "context_length_exceeded"
    assert not isinstance(raised.value, ContextOverflowError)


# What is kept of the requests


async def test_requests_are_kept_with_body_and_headers_but_without_the_key(stand: Stand) -> None:
    key = await stand.put(DONE)
    model = chat_model(stand.url, default_headers={"x-tenant": "acme", "x-api-key": "secret"})

    await model.bind_tools(TOOLS).ainvoke(opening(key))

    response = await stand.http.get(f"/script/{key}/requests")
    seen = (await stand.seen(key)).requests[0]
    assert seen.key == key
    assert seen.turn == 0
    assert seen.refused is None
    assert seen.body["messages"] == [{"role": "user", "content": f"{key}: where is order 1001?"}]
    assert [tool["function"]["name"] for tool in seen.body["tools"]] == ["orders_get", "kb_search"]
    assert seen.headers["x-tenant"] == "acme"
    assert seen.authorization.present
    assert seen.authorization.scheme == "Bearer"
    assert seen.authorization.sha256 == hashlib.sha256(API_KEY.encode()).hexdigest()
    assert not seen.headers.keys() & {"authorization", "x-api-key"}
    assert API_KEY not in response.text
    assert "secret" not in response.text


async def test_refused_request_is_kept_with_its_reason(stand: Stand) -> None:
    key = await stand.put(DONE)

    await stand.post({"model": "", "messages": [user(key)]})

    seen = (await stand.seen(key)).requests
    assert [(request.turn, request.refused) for request in seen] == [
        (None, "You must provide a model parameter.")
    ]
    assert not seen[0].authorization.present


async def test_conversations_do_not_mix_while_they_run_at_once(stand: Stand) -> None:
    keys = [await stand.put(*(Turn(content=f"{number}-{turn}") for turn in range(3))) for number in range(5)]
    model = chat_model(stand.url)

    async def talk(key: str) -> list[str]:
        return [(await model.ainvoke(opening(key))).text for _ in range(3)]

    texts = await asyncio.gather(*(talk(key) for key in keys))

    assert texts == [[f"{number}-{turn}" for turn in range(3)] for number in range(5)]
