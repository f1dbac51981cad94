"""History integrity around the model and the tools (invariant 3).

Before each model call the thread is repaired for the request, and the same repair is written into the state
with the answer, in the same super-step: a thread can always take another message, after any cancel, crash
or error. List it before every middleware that changes messages or answers.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain_core.messages import AnyMessage, BaseMessage, ToolCall
from langgraph.config import get_config
from langgraph.types import Command

from agent.context import AgentContext
from agent.history.answer import settled
from agent.history.calls import UNREADABLE, Outcome, stopped, unbegun, unknown
from agent.history.patch import writes
from agent.history.problems import problems
from agent.history.repair import draft
from agent.history.results import Results
from agent.middleware.admission import context_of
from agent.tools.page import READER, capped
from agent.tools.registry import Registry

logger = logging.getLogger(__name__)


class History(AgentMiddleware[Any, AgentContext]):
    """Keeps what the model is sent, and what the thread holds, a valid history."""

    def __init__(self, registry: Registry, results: Results) -> None:
        super().__init__()
        self._registry = registry
        self._results = results

    async def awrap_model_call(
        self,
        request: ModelRequest[AgentContext],
        handler: Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Call the model with a valid history; write what had to be repaired into the thread."""
        before = request.messages
        after = await self._repaired(before, context_of(request.runtime))
        response = await handler(request.override(messages=cast("list[AnyMessage]", [*after])))
        response.result = settled(response.result, after)
        patch = writes([*before, *response.result], [*after, *response.result])
        if not patch:
            return response
        logger.info("history repaired", extra={"faults": problems(before)})
        return ExtendedModelResponse(
            model_response=response, command=Command(update=[("messages", part) for part in patch])
        )

    async def _repaired(
        self, messages: Sequence[BaseMessage], context: AgentContext
    ) -> Sequence[BaseMessage]:
        drafted = draft(messages)
        outcomes = {call["id"] or "": await self._outcome(call, context) for call in drafted.unanswered}
        return drafted.finished(outcomes)

    async def _outcome(self, call: ToolCall, context: AgentContext) -> Outcome:
        tenant = context.tenant
        thread = str(get_config().get("configurable", {}).get("thread_id", ""))
        tool = self._registry.by_wire(call["name"])
        recorded = await self._results.get(tenant, thread=thread, call=call)
        if recorded is not None and tool is not None and len(recorded.text) > tool.output_cap:
            text = capped(
                recorded.text, cap=tool.output_cap, call_id=call["id"] or "", readable=READER in context.tools
            )
            return replace(recorded, text=text)
        if recorded is not None or UNREADABLE in call["args"]:
            return recorded or unknown(call)
        if tool is not None and tool.risk == "read":
            return stopped(call)
        began = await self._results.began(tenant, thread=thread, call=call)
        return unknown(call) if began else unbegun(call)
