"""The model of the run: which one answers, with which prompt, and what happens when none does.

The graph is built once for all tenants, so model and prompt come with the run's context. An endpoint that
fails is an error with a readable message, never an answer; a failure that another model may not have (busy,
down, slow, cut off) moves on to the assistant's fallbacks (`agent.models.clients`). The state gets one
answer, a whole one: what was streamed of a failed attempt is void, which the custom stream says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatResult

from agent.clock import utc_now
from agent.context import AgentContext
from agent.errors import RunRefused
from agent.history.calls import readable
from agent.ledger import Ledger
from agent.meter import TurnMeter
from agent.middleware.admission import admitted, context_of, turn_of
from agent.models import Models, Notice
from agent.models.failure import unavailable
from agent.models.metering import counting

__all__ = ["AssistantModel", "Unbound", "unavailable"]

Handler = Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]]


class AssistantModel(AgentMiddleware[Any, AgentContext]):
    """Calls the model that the assistant's release names."""

    def __init__(self, models: Models, ledger: Ledger) -> None:
        super().__init__()
        self._models = models
        self._ledger = ledger

    async def awrap_model_call(
        self, request: ModelRequest[AgentContext], handler: Handler
    ) -> ModelResponse[Any]:
        """Call the model with the assistant's prompt; make unreadable tool calls answerable.

        Raises:
            RunRefused: The assistant has no model.
            ModelUnavailable: Neither the model nor a fallback answered.
            PriceUnknown: Money is limited, and nobody knows what the model costs.
        """
        context = context_of(request.runtime)
        if context.model is None:
            raise RunRefused(f"Assistant {context.assistant!r} has no model; set 'model' in its file.")
        system = SystemMessage(context.prompt) if context.prompt else None
        asked = request.override(system_message=system)
        with counting(self._meter(request)):
            response = await self._models.answer(
                context.model,
                lambda client: handler(asked.override(model=client)),
                seconds=context.limits.seconds,
                notice=lambda coming: _announce(request, coming),
            )
        response.result = [readable(m) if isinstance(m, AIMessage) else m for m in response.result]
        return response

    def _meter(self, request: ModelRequest[AgentContext]) -> TurnMeter:
        run, messages = admitted(context_of(request.runtime)), request.state["messages"]
        rounds = 1 if messages and isinstance(messages[-1], ToolMessage) else 0
        return TurnMeter(
            ledger=self._ledger,
            turn=turn_of(run, messages, now=utc_now()),
            limits=run.context.limits,
            run=run.key.run,
            now=utc_now,
            steps=1 + rounds,
        )


def _announce(request: ModelRequest[AgentContext], coming: Notice) -> None:
    """Tell a client on the custom stream that what it saw of this answer is void."""
    request.runtime.stream_writer(
        {"type": "model_retry", "attempt": coming.attempt, "pause": round(coming.pause, 3)}
    )


class Unbound(BaseChatModel):
    """The model that a graph is built with: it answers nobody, so a run without its own fails closed."""

    @property
    def _llm_type(self) -> str:
        return "unbound"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> ChatResult:
        raise RunRefused("No model is bound to this run; run one of the assistants of the catalog.")

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Binding changes nothing: the call will be refused anyway."""
        return self
