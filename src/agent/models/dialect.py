"""`ChatOpenAI` for an endpoint with a dialect of its own.

LangChain's class speaks to OpenAI's own API only (it says so). What others do differently is described by a
`Profile` and applied here, in the few places where requests are built and answers are read. Those are private
hooks of langchain-openai, which is why its version is pinned exactly and each habit has a contract test.

Only the asynchronous side is adapted: the product has no other.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from math import ceil
from typing import Any, Literal, cast

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_openai import ChatOpenAI, StreamChunkTimeoutError
from openai import BaseModel as Completion

from agent.history.calls import BROKEN
from agent.models.assembly import Assembly
from agent.models.failure import AnswerCut, AnswerStalled
from agent.models.incoming import as_text, call_ids, identified, objects_in, offered, spoken
from agent.models.metering import ANSWER, Asking, metered
from agent.models.outgoing import REASONING, adapted
from agent.models.usage import ESTIMATED, estimate
from agent.offline.shape import record, records
from agent.profile import Profile
from agent.tokens import ratio

Method = Literal["function_calling", "json_mode", "json_schema"]


class DialectChat(ChatOpenAI):
    """A chat client that applies `dialect` to what it sends and to what comes back.

    An answer without a finish reason was cut off: `AnswerCut` is raised, also when tokens have been streamed.
    `usage_metadata` is always there; where the endpoint reports none it is an estimate, marked in
    `response_metadata` (`agent.models.usage.ESTIMATED`). Reasoning is kept in `additional_kwargs`
    (`agent.models.outgoing.REASONING`) whatever the endpoint calls it.
    """

    dialect: Profile

    def _get_request_payload(
        self,
        input_: LanguageModelInput,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,  # noqa: ANN401 - as the overridden method has it
    ) -> dict[str, Any]:
        messages = self._convert_input(input_).to_messages()
        payload = cast("dict[str, Any]", super()._get_request_payload(messages, stop=stop, **kwargs))
        return adapted(payload, messages=messages, profile=self.dialect)

    def _create_chat_result(
        self,
        response: dict[str, Any] | Completion | str,
        generation_info: dict[str, Any] | None = None,
    ) -> ChatResult:
        if isinstance(response, str):  # what the client gives for an answer that is not JSON
            raise AnswerCut("The endpoint's answer is not JSON.")
        raw = _raw(response)
        wires = [record(choice.get("message")) for choice in records(raw.get("choices"))]
        if any(objects_in(wire.get("tool_calls")) for wire in wires):
            for wire in wires:
                as_text(wire.get("tool_calls"))
            response = raw
        try:
            result = super()._create_chat_result(response, generation_info)
        except (ValueError, KeyError, TypeError) as error:  # what it raises for anything but a completion
            raise AnswerCut("The endpoint's answer is no chat completion.") from error
        if not result.generations:
            raise AnswerCut("The endpoint's answer is empty.")
        for generation, wire in zip(result.generations, wires, strict=True):
            self._keep_reasoning(generation.message, wire)
        return result

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        choices = records(chunk.get("choices")) or records(record(chunk.get("chunk")).get("choices"))
        deltas = [record(choice.get("delta")) for choice in choices]
        for delta in deltas:
            as_text(delta.get("tool_calls"))
        made = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        if made is not None and deltas:
            self._keep_reasoning(made.message, deltas[0])
        return made

    def _get_generation_chunk_from_completion(self, completion: Completion) -> ChatGenerationChunk:
        made = super()._get_generation_chunk_from_completion(completion)
        made.message.additional_kwargs.pop(REASONING, None)  # its pieces were sent already
        return made

    def _keep_reasoning(self, message: BaseMessage, wire: Mapping[str, Any]) -> None:
        name = self.dialect.reasoning_field
        if name is not None and (reasoning := wire.get(name)):
            message.additional_kwargs[REASONING] = reasoning

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,  # noqa: ANN401 - as the overridden method has it
        **kwargs: Any,  # noqa: ANN401
    ) -> ChatResult:
        async with metered(lambda: self._asking(messages, kwargs)) as reading:
            result = await self._answered(messages, stop, run_manager, kwargs)
            message = cast("AIMessage", result.generations[0].message)
            reading.usage = message.usage_metadata
            reading.estimated = bool(message.response_metadata.get(ESTIMATED))
        return result

    def _asking(self, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]) -> Asking:
        """What the request may take: tokens in as estimated here, tokens out as far as they are bounded."""
        asked = estimate(messages, tools=kwargs.get("tools") or ())["input_tokens"]
        most = kwargs.get("max_completion_tokens") or kwargs.get("max_tokens") or self.max_tokens or ANSWER
        return Asking(f"openai:{self.model_name}", ceil(asked * ratio(messages)), int(most))

    async def _answered(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: Any,  # noqa: ANN401 - as the overridden method has it
        kwargs: dict[str, Any],
    ) -> ChatResult:
        try:
            result = await super()._agenerate(messages, stop, run_manager, **kwargs)
        except json.JSONDecodeError as error:
            raise AnswerCut("The endpoint's answer is not JSON.") from error
        taken = call_ids(messages)
        for generation in result.generations:
            if not (generation.generation_info or {}).get("finish_reason"):
                raise AnswerCut("The answer has no finish reason.")
            message = cast("AIMessage", generation.message)
            if self.dialect.text_tool_calls:
                message = spoken(message, names=offered(kwargs.get("tools") or ()))
            message = identified(message, taken=taken)
            if message.usage_metadata is None:
                tools = kwargs.get("tools") or ()
                message.usage_metadata = estimate(messages, tools=tools, answer=_written(message))
                message.response_metadata[ESTIMATED] = True
            generation.message = message
        return result

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:  # noqa: ANN401
        messages: list[BaseMessage] = args[0] if args else kwargs["messages"]
        async with metered(lambda: self._asking(messages, kwargs)) as reading:
            async for chunk in self._streamed(messages, args, kwargs):
                message = cast("AIMessageChunk", chunk.message)
                reading.usage = message.usage_metadata or reading.usage  # the last piece has it
                reading.estimated = bool(message.response_metadata.get(ESTIMATED))
                yield chunk

    async def _streamed(
        self, messages: list[BaseMessage], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> AsyncIterator[ChatGenerationChunk]:
        assembly = Assembly(call_ids(messages))
        try:
            async for chunk in super()._astream(*args, **kwargs):
                yield assembly.take(chunk)
        except json.JSONDecodeError as error:
            raise AnswerCut("A piece of the streamed answer is not JSON.") from error
        except StreamChunkTimeoutError as error:
            raise AnswerStalled("The streamed answer stopped coming.") from error
        if assembly.finish_reason is None:
            raise AnswerCut("The streamed answer ended without a finish reason.")
        usage, estimated = assembly.usage, {}
        if usage is None:
            tools = kwargs.get("tools") or ()
            usage = estimate(messages, tools=tools, answer=assembly.written())
            estimated = {ESTIMATED: True}
        broken = assembly.broken()
        last = AIMessageChunk(
            content="",
            usage_metadata=usage,
            response_metadata=estimated,
            additional_kwargs={BROKEN: broken} if broken else {},
        )
        yield ChatGenerationChunk(message=last)

    def get_num_tokens_from_messages(
        self,
        messages: Sequence[BaseMessage],
        tools: Any = None,  # noqa: ANN401 - as the overridden method has it
        **_: Any,  # noqa: ANN401
    ) -> int:
        """Tokens of a request, by approximation: `ChatOpenAI` would download a tokenizer."""
        return estimate(messages, tools=tools or ())["input_tokens"]

    def with_structured_output(
        self,
        schema: Any = None,  # noqa: ANN401 - as the overridden method has it
        *,
        method: Method | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Runnable[LanguageModelInput, Any]:
        """As `ChatOpenAI`'s, in the endpoint's own way unless `method` names one (field case 82).

        `agent.models.structured.ask` also tells the schema, checks the answer and lets it be repaired once.
        """
        way = method or self.dialect.structured
        return cast("Any", super().with_structured_output(schema, method=way, **kwargs))


def _raw(response: dict[str, Any] | Completion) -> dict[str, Any]:
    if isinstance(response, dict):
        return response
    # `parsed` may hold any model; the completion itself keeps it.
    return response.model_dump(exclude={"choices": {"__all__": {"message": {"parsed"}}}}, warnings=False)


def _written(message: AIMessage) -> str:
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    called = [f"{call['name']}{json.dumps(call['args'], ensure_ascii=False)}" for call in calls]
    return "".join([str(message.text), str(message.additional_kwargs.get(REASONING) or ""), *called])
