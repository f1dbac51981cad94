"""Limits at work: a turn out of budget ends with a visible answer.

The fuse of super-steps and the budgets (B-02, B-03). Reaching one gives the model a last call without tools;
which limit it was stands in the answer's text and in the message's `additional_kwargs["stopped"]`. Where the
budget does not hold even that call, the answer is the reason alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from agent.context import AgentContext
from agent.limits import Stop, stop, tally
from agent.meter import CLOSING, BudgetExhausted
from agent.middleware.admission import context_of
from agent.models.metering import closing, outage

_INSTRUCTION = (
    "You can't call tools any more in this turn. Answer now from what is known above, and say plainly what "
    "you could not do or verify."
)
_BY_LENGTH: Final = ("tokens", "usd_per_run", "usd_per_day", "tenant_usd_per_day")

Handler = Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]]


class TurnLimits(AgentMiddleware[Any, AgentContext]):
    """Ends a turn that is out of budget."""

    async def awrap_model_call(
        self, request: ModelRequest[AgentContext], handler: Handler
    ) -> ModelResponse[Any]:
        """Call the model; without tools and for the last time when a limit is reached."""
        reached = stop(context_of(request.runtime).limits, tally(request.state["messages"]))
        if reached is None:
            try:
                return await handler(request)
            except BudgetExhausted as gone:
                if outage():
                    raise  # what went wrong is the endpoint's failure, not the calls that it took
                reached = Stop.of(gone.exhausted)
        _announce(request, reached)
        response = await _last(request, reached, handler)
        response.result = [closed(message, reached) for message in response.result]
        return response


def _announce(request: ModelRequest[AgentContext], reached: Stop) -> None:
    """Tell a client on the custom stream why the answer that comes now is the last of its turn.

    Its tokens stream before the reason is put behind them, under the same message id.
    """
    request.runtime.stream_writer({"type": "stopped", "limit": reached.limit, "text": reached.text()})


async def _last(request: ModelRequest[AgentContext], reached: Stop, handler: Handler) -> ModelResponse[Any]:
    prompt = request.system_message.text if request.system_message else ""
    settings = dict(request.model_settings)
    if reached.limit in _BY_LENGTH:
        settings["max_completion_tokens"] = CLOSING
    system = SystemMessage(f"{prompt}\n\n{_INSTRUCTION}".strip())
    asked = request.override(tools=[], system_message=system)
    for most in (settings, {**settings, "max_completion_tokens": CLOSING}):
        try:
            with closing():
                return await handler(asked.override(model_settings=most))
        except BudgetExhausted:
            if outage():
                raise
    return ModelResponse(result=[AIMessage("")])


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
