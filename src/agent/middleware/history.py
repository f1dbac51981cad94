"""History integrity around the model and the tools (invariant 3).

Before each model call the thread is repaired for the request, and the same repair is written into the state
with the answer, in the same super-step: a thread can always take another message, after any cancel, crash
or error. List it before every middleware that changes messages or answers.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain_core.messages import AnyMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.context import AgentContext
from agent.history.answer import settled
from agent.history.calls import UNREADABLE, Outcome, known, stopped, unknown
from agent.history.patch import writes
from agent.history.problems import problems
from agent.history.repair import draft
from agent.history.results import RecordedResults, Results
from agent.history.text import sound_message
from agent.tools.registry import Registry

logger = logging.getLogger(__name__)


class History(AgentMiddleware[Any, AgentContext]):
    """Keeps what the model is sent, and what the thread holds, a valid history."""

    def __init__(self, registry: Registry, *, results: Results | None = None) -> None:
        super().__init__()
        self._registry = registry
        self._results = results or RecordedResults()

    async def awrap_model_call(
        self,
        request: ModelRequest[AgentContext],
        handler: Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Call the model with a valid history; write what had to be repaired into the thread."""
        before = request.messages
        after = await self._repaired(before)
        response = await handler(request.override(messages=cast("list[AnyMessage]", [*after])))
        response.result = settled(response.result, after)
        patch = writes([*before, *response.result], [*after, *response.result])
        if not patch:
            return response
        logger.info("history repaired", extra={"faults": problems(before)})
        return ExtendedModelResponse(
            model_response=response, command=Command(update=[("messages", part) for part in patch])
        )

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Run the tool; its text enters the thread sound."""
        result = await handler(request)
        if not isinstance(result, ToolMessage):
            return result
        whole = sound_message(result)
        return whole if isinstance(whole, ToolMessage) else result

    async def _repaired(self, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
        drafted = draft(messages)
        outcomes = {call["id"] or "": await self._outcome(call) for call in drafted.unanswered}
        return drafted.finished(outcomes)

    async def _outcome(self, call: ToolCall) -> Outcome:
        thread = str(get_config().get("configurable", {}).get("thread_id", ""))
        text = await self._results.get(thread, call["id"] or "")
        if text is not None:
            return known(text)
        tool = self._registry.by_wire(call["name"])
        reads = tool is not None and tool.risk == "read" and UNREADABLE not in call["args"]
        return stopped(call) if reads else unknown(call)
