"""Chat models in this process, without latency: what is measured is everything around them.

Their requests are metered as the product's own client meters its: where a harness counts, the ledger is paid
for in the measurement; under a bare agent nobody counts.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult

from agent.models.metering import Asking, metered

_USAGE = UsageMetadata(input_tokens=100, output_tokens=10, total_tokens=110)

Answer = Callable[[Sequence[BaseMessage], Sequence[Any]], str]
"""The text of an answer to a request's messages and tools."""


class Caller(BaseChatModel):
    """Calls the tool `bench_echo` a number of times in a turn, then answers."""

    rounds: int

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The script does not depend on the tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ANN401
        newest = max(i for i, message in enumerate(messages) if message.type == "human")
        done = sum(1 for message in messages[newest:] if message.type == "ai")
        calls: list[ToolCall] = []
        if done < self.rounds:
            calls = [tool_call(name="bench_echo", args={"text": str(done)}, id=uuid.uuid4().hex)]
        return _result(AIMessage("" if calls else "done", tool_calls=calls))

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ANN401
        async with metered(_asking) as reading:
            reading.usage = _USAGE
            return self._generate(messages)


class Talker(BaseChatModel):
    """Answers with text and calls nothing; `answer` sees everything that a provider would be sent."""

    answer: Answer

    @property
    def _llm_type(self) -> str:
        return "talker"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The model with these tools in its requests."""
        return self.bind(tools=list(tools))

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ANN401
        return _result(AIMessage(self.answer(messages, kwargs.get("tools", ()))))

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ANN401
        async with metered(_asking) as reading:
            reading.usage = _USAGE
            return self._generate(messages, **kwargs)


def _asking() -> Asking:
    return Asking(model="openai:scripted", tokens_in=100, tokens_out=10)


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])
