"""The model of the run: which one answers, with which prompt, and what happens when none does.

The graph is built once for all tenants, so model and prompt come with the run's context. An endpoint that
fails is an error with a readable message, never an answer; a failure that another model may not have (busy,
down, slow) moves on to the assistant's fallbacks.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.exceptions import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall
from langchain_core.outputs import ChatResult
from openai import OpenAIError

from agent.context import AgentContext, ModelChoice
from agent.errors import ModelUnavailable, RunRefused
from agent.middleware.admission import context_of
from agent.models import Models, candidates

logger = logging.getLogger(__name__)

UNREADABLE = "unreadable_arguments"
_PREVIEW = 200

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (ModelConnectionError, "could not be reached"),
    (ModelTimeoutError, "took too long"),
    (ModelRateLimitError, "is over its rate limit"),
    (ModelAuthenticationError, "refused the key; check the endpoint's key on the server"),
    (ModelPermissionDeniedError, "refused the key; check the endpoint's key on the server"),
)

Handler = Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]]


class AssistantModel(AgentMiddleware[Any, AgentContext]):
    """Calls the model that the assistant's release names."""

    def __init__(self, models: Models) -> None:
        super().__init__()
        self._models = models

    async def awrap_model_call(
        self, request: ModelRequest[AgentContext], handler: Handler
    ) -> ModelResponse[Any]:
        """Call the model with the assistant's prompt; make unreadable tool calls answerable.

        Raises:
            RunRefused: The assistant has no model.
            ModelUnavailable: Neither the model nor a fallback answered.
        """
        context = context_of(request.runtime)
        if context.model is None:
            raise RunRefused(f"Assistant {context.assistant!r} has no model; set 'model' in its file.")
        system = SystemMessage(context.prompt) if context.prompt else None
        response = await self._first_answer(request.override(system_message=system), handler, context.model)
        response.result = [readable(message) for message in response.result]
        return response

    async def _first_answer(
        self, request: ModelRequest[AgentContext], handler: Handler, choice: ModelChoice
    ) -> ModelResponse[Any]:
        failure: ModelUnavailable | None = None
        for candidate in candidates(choice):
            client = await self._models.get(candidate)
            try:
                return await handler(request.override(model=client))
            except (ModelError, OpenAIError) as error:
                logger.warning("model call failed", extra={"model": candidate.name}, exc_info=error)
                failure = unavailable(candidate.name, error)
                if not isinstance(error, ModelError) or not error.is_retryable:
                    break
        raise failure or ModelUnavailable(f"Model {choice.name!r} has no candidates.")


def unavailable(name: str, error: Exception) -> ModelUnavailable:
    """The failure in words for the person who waits; the provider's own text stays in the log."""
    reason = next((text for kind, text in _REASONS if isinstance(error, kind)), "failed")
    return ModelUnavailable(
        f"The endpoint of model {name!r} {reason}. Nothing is lost: send your message again later."
    )


def readable(message: BaseMessage) -> BaseMessage:
    """The message with each unparsable tool call turned into a call that the guard can answer.

    Without this the loop sees no call, ends, and the user gets an empty answer (field case 6).
    """
    if not isinstance(message, AIMessage) or not message.invalid_tool_calls:
        return message
    repaired = [
        ToolCall(
            name=call.get("name") or "unnamed",
            args={UNREADABLE: (call.get("args") or "")[:_PREVIEW]},
            id=call.get("id") or f"call_{uuid.uuid4().hex}",
            type="tool_call",
        )
        for call in message.invalid_tool_calls
    ]
    return message.model_copy(
        update={"tool_calls": [*message.tool_calls, *repaired], "invalid_tool_calls": []}
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
