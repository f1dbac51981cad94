"""The rules over HTTP, with ChatOpenAI and without."""

from __future__ import annotations

import json
import time
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from openai import BadRequestError
from pydantic import BaseModel, Field

from agent.offline.app import rules_app
from agent.offline.reply import Reply
from agent.offline.serving import serving
from agent.offline.tokens import completion_tokens, prompt_tokens
from tests.unit.offline.catalogue import SHOP
from tests.unit.offline.speech import calls, result, user
from tests.unit.offline.stand import Stand, answered, chat_model, client_of, streamed

pytestmark = pytest.mark.anyio


async def test_models_are_listed(rules: Stand) -> None:
    response = await rules.http.get("/v1/models")

    assert response.status_code == 200
    assert [entry["id"] for entry in response.json()["data"]] == ["signalbox-offline"]


@pytest.mark.parametrize("stream", [False, True])
async def test_tool_call_arrives_whole_with_usage_and_an_honest_model(rules: Stand, *, stream: bool) -> None:
    model = chat_model(rules.url).bind_tools(SHOP)

    said = await answered(model, [HumanMessage("Where is order 1001?")], stream=stream)

    assert [(call["name"], call["args"]) for call in said.tool_calls] == [("orders_get", {"number": 1001})]
    assert said.tool_calls[0]["id"]
    assert said.invalid_tool_calls == []
    assert said.usage_metadata is not None
    assert said.usage_metadata["input_tokens"] > 500
    assert said.usage_metadata["output_tokens"] == 7
    assert said.usage_metadata["total_tokens"] == said.usage_metadata["input_tokens"] + 7
    assert said.response_metadata["model_name"] == "signalbox-offline"
    assert said.response_metadata["system_fingerprint"] == "offline-rules"
    assert said.response_metadata["finish_reason"] == "tool_calls"


async def test_parallel_calls_of_a_stream_are_told_apart(rules: Stand) -> None:
    model = chat_model(rules.url).bind_tools(SHOP)

    said = await streamed(
        model, [HumanMessage("Where is order 1001 and what does the handbook say about returns?")]
    )

    assert [(call["name"], call["args"]) for call in said.tool_calls] == [
        ("orders_get", {"number": 1001}),
        ("kb_search", {"query": "returns"}),
    ]


@pytest.mark.parametrize("stream", [False, True])
async def test_react_loop_ends_with_an_answer_that_cites(rules: Stand, *, stream: bool) -> None:
    model = chat_model(rules.url).bind_tools(SHOP)
    messages: list[Any] = [SystemMessage("Be brief."), HumanMessage("手册里关于退货怎么说？")]

    first = await answered(model, messages, stream=stream)
    passage = {"text": "签收后 30 天内可以退货。", "citation": "returns.zh.md#退货期限"}
    messages += [
        first,
        ToolMessage(json.dumps({"passages": [passage]}), tool_call_id=str(first.tool_calls[0]["id"])),
    ]
    last = await answered(model, messages, stream=stream)

    assert first.tool_calls[0]["args"] == {"query": "退货"}
    assert last.text == "- 签收后 30 天内可以退货。 [returns.zh.md#退货期限]"
    assert last.tool_calls == []
    assert last.response_metadata["finish_reason"] == "stop"


async def test_streamed_text_is_the_text_in_several_chunks(rules: Stand) -> None:
    model = chat_model(rules.url)
    texts = [chunk.text async for chunk in model.astream("Hello")]
    whole = await model.ainvoke("Hello")

    assert "".join(texts) == whole.text
    assert len([text for text in texts if text]) > 5


class Ticket(BaseModel):
    """A ticket."""

    order: int
    priority: str = Field(json_schema_extra={"enum": ["low", "normal", "urgent"]})
    steps: list[str] = Field(min_length=2, max_length=3)


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
async def test_structured_output_is_valid_by_both_methods(rules: Stand, method: Any) -> None:
    model = cast("Any", chat_model(rules.url)).with_structured_output(Ticket, method=method)

    made = await model.ainvoke("URGENT: order 1001 arrived broken")

    assert made == Ticket(
        order=1001,
        priority="urgent",
        steps=["URGENT: order 1001 arrived broken", "URGENT: order 1001 arrived broken (2)"],
    )


async def test_max_tokens_cut_the_answer(rules: Stand) -> None:
    said = await chat_model(rules.url, max_completion_tokens=6).ainvoke("Hello")

    assert said.response_metadata["finish_reason"] == "length"
    assert said.text
    assert said.usage_metadata is not None
    assert said.usage_metadata["output_tokens"] <= 6


async def test_broken_history_is_refused_by_name(rules: Stand) -> None:
    messages = [
        HumanMessage("Where is order 1001?"),
        AIMessage("", tool_calls=[{"name": "orders_get", "args": {"number": 1001}, "id": "a"}]),
        HumanMessage("Well?"),
    ]

    with pytest.raises(
        BadRequestError, match=r"messages\[1\]: tool call 'a' has no tool message before messages\[2\]"
    ):
        await chat_model(rules.url).ainvoke(messages)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"messages": [user("Hi")]}, "You must provide a model parameter."),
        ({"model": "m", "messages": []}, "'messages' must be a list"),
        ([], "The request body must be a JSON object."),
        ({"model": "m", "messages": [result("a", "x")]}, "a call that was never made"),
    ],
)
async def test_refusal_has_the_shape_of_openai(rules: Stand, body: object, text: str) -> None:
    response = await rules.post(body)

    assert response.status_code == 400
    error = response.json()["error"]
    assert text in error["message"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"


async def test_body_that_is_no_json_is_refused(rules: Stand) -> None:
    response = await rules.http.post("/v1/chat/completions", content=b"{")

    assert response.status_code == 400
    assert response.json()["error"]["message"] == "The request body must be a JSON object."


async def test_stream_without_include_usage_has_no_usage_and_ends_with_done(rules: Stand) -> None:
    response = await rules.post({"model": "m", "stream": True, "messages": [user("thanks")]})
    lines = [line for line in response.text.split("\n") if line]

    assert response.headers["content-type"].startswith("text/event-stream")
    assert lines[-1] == "data: [DONE]"
    events = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert len(events) > 3
    assert all("usage" not in event for event in events)
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(event["choices"][0]["delta"].get("content", "") for event in events) == "You're welcome."
    assert [event["choices"][0]["finish_reason"] for event in events[-2:]] == [None, "stop"]


async def test_usage_is_counted_as_documented(rules: Stand) -> None:
    messages = [
        user("订单1001在哪里？"),
        calls(a=("orders_get", {"number": 1001})),
        result("a", "Order 1001 is unknown."),
    ]
    response = await rules.post({"model": "m", "messages": messages})

    usage = response.json()["usage"]
    said = Reply(response.json()["choices"][0]["message"]["content"])
    assert usage["prompt_tokens"] == prompt_tokens(messages)
    assert usage["completion_tokens"] == completion_tokens(said)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def test_lone_surrogates_survive_the_way(rules: Stand) -> None:
    messages = [
        user("Where is order 1001?"),
        calls(a=("orders_get", {"number": 1001})),
        result("a", "odd \ud800 text"),
    ]
    body = json.dumps({"model": "m", "messages": messages}).encode()

    response = await rules.http.post("/v1/chat/completions", content=body)

    assert json.loads(response.content)["choices"][0]["message"]["content"] == "odd \ud800 text"


async def test_pace_slows_the_stream_down() -> None:
    async with serving(rules_app(pace=50)) as url, client_of(url) as http:
        started = time.monotonic()
        response = await Stand(url, http).post({"model": "m", "stream": True, "messages": [user("thanks")]})
        took = time.monotonic() - started

    events = response.text.count("data: ")
    assert events >= 5
    assert took >= (events - 1) / 50
    assert response.text.endswith("data: [DONE]\n\n")
