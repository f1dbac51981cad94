"""Limits at work: a turn out of budget ends with a visible answer, a repeated call is not executed.

The fuse of super-steps, the budgets of calls, and the repeated action are gates 2 to 4 of the agent (B-02 to
B-04). Reaching one gives the model a last call without tools; which limit it was stands in the answer's text
and in the message's `additional_kwargs["stopped"]`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.context import AgentContext
from agent.limits import REPEATED, Stop, over_tool_calls, repeats_earlier, stop, tally
from agent.middleware.admission import call_context, context_of

_INSTRUCTION = (
    "You can't call tools any more in this turn. Answer now from what is known above, and say plainly what "
    "you could not do or verify."
)


class TurnLimits(AgentMiddleware[Any, AgentContext]):
    """Ends a turn that is out of budget, and answers calls that were made before."""

    async def awrap_model_call(
        self,
        request: ModelRequest[AgentContext],
        handler: Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model; without tools and for the last time when a limit is reached."""
        reached = stop(context_of(request.runtime).limits, tally(request.state["messages"]))
        if reached is None:
            return await handler(request)
        prompt = request.system_message.text if request.system_message else ""
        system = SystemMessage(f"{prompt}\n\n{_INSTRUCTION}".strip())
        response = await handler(request.override(tools=[], system_message=system))
        response.result = [closed(message, reached) for message in response.result]
        return response

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Go on to the tool, unless the call is beyond the budget or was made before."""
        limits = call_context(request).limits
        messages, call_id = request.state["messages"], request.tool_call["id"] or ""
        if over_tool_calls(limits, messages, call_id):
            text = f"This turn may make {limits.tool_calls} tool calls and has; this one was not executed."
            return _answer(request, "tool_calls_used_up", text)
        if repeats_earlier(messages, call_id, volatile=frozenset()):
            text = "This very call was already made in this turn; its result stands above and is unchanged."
            return _answer(request, REPEATED, f"{text} Change your approach.")
        return await handler(request)


def closed(message: BaseMessage, reached: Stop) -> BaseMessage:
    """The last answer of a turn: no calls, the reason in its text and beside it."""
    if not isinstance(message, AIMessage):
        return message
    text = f"{message.text}\n\n{reached.text()}".strip()
    return message.model_copy(
        update={
            "content": text,
            "tool_calls": [],
            "invalid_tool_calls": [],
            "additional_kwargs": {"stopped": asdict(reached)},
        }
    )


def _answer(request: ToolCallRequest, code: str, text: str) -> ToolMessage:
    return ToolMessage(
        content=json.dumps({"error": code, "message": text}, ensure_ascii=False),
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"] or "",
        status="error",
    )
