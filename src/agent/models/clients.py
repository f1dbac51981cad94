"""The clients of a process, and the way to an answer: a choice, asked again where it helps, then fallbacks.

What a streaming client sees of a failure: tokens that came before it belong to a message id of their own,
which never gets into the state; the next attempt streams under a new id from its beginning. So a client that
groups tokens by message id drops the half answer when the next one begins; a `Notice` tells it when.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import os
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from langchain_core.exceptions import ModelError
from langchain_core.language_models import BaseChatModel, ModelProfile
from openai import OpenAIError
from pydantic import SecretStr

from agent.context import ModelChoice
from agent.errors import AgentError, ModelUnavailable
from agent.models.dialect import DialectChat
from agent.models.endpoint import Endpoint, endpoint, model_name
from agent.models.failure import transient, unavailable
from agent.models.metering import CandidateRefused
from agent.models.retry import Notice, Retry
from agent.profile import Profile, chosen

logger = logging.getLogger(__name__)

_DEFAULT_TIMEOUT = 60.0  # seconds

T = TypeVar("T")


class Models:
    """The chat clients of a process, one for each choice and endpoint.

    Args:
        retry: How failed calls are repeated.
    """

    def __init__(self, *, retry: Retry | None = None) -> None:
        self._clients: dict[str, BaseChatModel] = {}
        self._building = threading.Lock()
        self._retry = retry or Retry()

    async def get(self, choice: ModelChoice) -> BaseChatModel:
        """The client for `choice`; built in a thread, because it reads certificates from disk.

        Its calls are not repeated when they fail; `answer` does that.

        Raises:
            ModelUnavailable: See `endpoint`, `model_name` and `profile.chosen`.
        """
        place = endpoint(choice, os.environ)
        profile = _profile(choice, place)
        secret = hashlib.sha256(place.key.encode()).hexdigest()
        identity = repr((choice, place.base_url, profile.name, secret))
        if identity not in self._clients:
            await asyncio.to_thread(self._keep, identity, choice, place, profile)
        return self._clients[identity]

    def _keep(self, identity: str, choice: ModelChoice, place: Endpoint, profile: Profile) -> None:
        with self._building:  # of several first uses at once, one builds
            if identity not in self._clients:
                self._clients[identity] = _build(choice, place, profile)

    async def answer(
        self,
        choice: ModelChoice,
        ask: Callable[[BaseChatModel], Awaitable[T]],
        *,
        seconds: float | None = None,
        notice: Callable[[Notice], None] | None = None,
    ) -> T:
        """What `ask` gets from the choice's model, or from the first of its fallbacks that answers.

        A model is asked again while its choice's timeout (60 s by default) lasts. A fallback is asked after a
        failure that it may not have (busy, down, slow, cut off), never after a refused key or request.

        Args:
            choice: The model, its settings and its fallbacks.
            ask: One call of a client; everything it does is repeated when it fails.
            seconds: Wall time for all of it; `None` sets no bound beside each attempt's timeout.
            notice: Told before a model is asked again.

        Raises:
            ModelUnavailable: Nobody answered; says of the last model why, the cause is the client's error.
            AgentError: Nobody was asked, because a meter did not allow it.
        """
        asked: list[str] = []
        bound = asyncio.timeout(seconds)
        try:
            async with bound:
                return await self._first(choice, ask, seconds=seconds, notice=notice, asked=asked)
        except TimeoutError as error:
            if not bound.expired():
                raise
            raise unavailable(asked[-1] if asked else choice.name, error) from error

    async def _first(
        self,
        choice: ModelChoice,
        ask: Callable[[BaseChatModel], Awaitable[T]],
        *,
        seconds: float | None,
        notice: Callable[[Notice], None] | None,
        asked: list[str],
    ) -> T:
        budget = min(choice.timeout or _DEFAULT_TIMEOUT, seconds or math.inf)
        failure: AgentError | None = None
        for candidate in candidates(choice):
            client = await self.get(candidate)
            asked.append(candidate.name)
            try:
                return await self._retry.run(
                    lambda client=client: ask(client), model=candidate.name, budget=budget, notice=notice
                )
            except CandidateRefused as refused:
                failure = failure or refused
            except AgentError:
                if failure is not None:
                    raise failure from None  # the outage is what went wrong, not that no more may be asked
                raise
            except (ModelError, OpenAIError) as error:
                logger.warning("model call failed", extra={"model": candidate.name}, exc_info=error)
                failure = unavailable(candidate.name, error)
                failure.__cause__ = error
                if not transient(error):
                    break
        raise failure or ModelUnavailable(f"Model {choice.name!r} has no candidates.")


def candidates(choice: ModelChoice) -> list[ModelChoice]:
    """The choice and then its fallbacks, in order; a fallback keeps every setting but the name."""
    names = (choice.name, *choice.fallbacks)
    return [replace_name(choice, name) for name in dict.fromkeys(names)]


def replace_name(choice: ModelChoice, name: str) -> ModelChoice:
    """The same choice of settings for another model, without fallbacks."""
    return choice.model_copy(update={"name": name, "fallbacks": ()})


def _profile(choice: ModelChoice, place: Endpoint) -> Profile:
    return chosen(
        choice.profile,
        base_url=place.base_url,
        model=model_name(choice.name),
        shared=choice.base_url is None,
        environment=os.environ,
    )


def _build(choice: ModelChoice, place: Endpoint, profile: Profile) -> BaseChatModel:
    timeout = choice.timeout or _DEFAULT_TIMEOUT
    return DialectChat(
        model=model_name(choice.name),
        base_url=place.base_url,
        api_key=SecretStr(place.key),
        temperature=choice.temperature,
        max_completion_tokens=choice.max_tokens,
        timeout=timeout,
        stream_chunk_timeout=timeout,  # an endpoint's keep-alive comments reset the other one
        max_retries=0,
        # Chat Completions everywhere: some model names switch ChatOpenAI to /v1/responses, which most
        # compatible endpoints lack.
        use_responses_api=False,
        stream_usage=profile.stream_options,
        # A call in the text is known as one only when the text is complete.
        disable_streaming="tool_calling" if profile.text_tool_calls else False,
        dialect=profile,
        profile=_window(profile),
    )


def _window(profile: Profile) -> ModelProfile | None:
    """What LangChain may know of the model; its own data by name (`None`) is of OpenAI's endpoint only."""
    if profile.context_window is not None:
        return ModelProfile(max_input_tokens=profile.context_window)
    return None if profile.name == "openai" else ModelProfile()
