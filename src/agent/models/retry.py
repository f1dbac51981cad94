"""The one retry layer: how often a failed model call is repeated, and how long it waits in between.

OpenAI's own client is built with `max_retries=0`; nothing else in the product repeats a model call (B-150).
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from langchain_core.exceptions import ModelError
from openai import OpenAIError

from agent.clock import utc_now
from agent.errors import AgentError
from agent.models.failure import repeatable, retry_after

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Notice:
    """That a model is about to be asked again: `attempt` is the coming one, `pause` in seconds."""

    model: str
    attempt: int
    pause: float


@dataclass(frozen=True, slots=True)
class Retry:
    """At most `attempts` calls, with pauses that double from `base` seconds up to `cap`.

    A pause is drawn between half of that and the whole, so that callers which failed together do not come
    back together; when the endpoint names a time (`Retry-After`), it waits for that long instead. `sleep`,
    `clock` (monotonic seconds), `now` (with a time zone) and `draw` (0 to 1) are replaced by tests.
    """

    attempts: int = 3
    base: float = 0.5
    cap: float = 8.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = utc_now
    draw: Callable[[], float] = random.random

    async def run(
        self,
        attempt: Callable[[], Awaitable[T]],
        *,
        model: str,
        budget: float,
        notice: Callable[[Notice], None] | None = None,
    ) -> T:
        """What `attempt` gives; a failure that may pass is tried again.

        No attempt begins later than `budget` seconds after the first: a longer `Retry-After` fails at once,
        so that a fallback can answer instead.

        Args:
            attempt: One call.
            model: Its model, for the log and the notice.
            budget: Seconds.
            notice: Told before each wait.

        Raises:
            ModelError, OpenAIError: The last attempt's failure, or the first that is not worth repeating;
                also where a later attempt was not allowed, because that is not what went wrong.
            AgentError: The first attempt was not allowed.
        """
        began = self.clock()
        failure: Exception | None = None
        for number in range(1, self.attempts):
            try:
                return await attempt()
            except AgentError:
                if failure is not None:
                    raise failure from None
                raise
            except (ModelError, OpenAIError) as error:
                failure = error
                pause = self.pause(error, number=number)
                if not repeatable(error) or self.clock() - began + pause > budget:
                    raise
                logger.info("model call repeated", extra={"model": model, "pause": pause}, exc_info=error)
            if notice is not None:
                notice(Notice(model, number + 1, pause))
            await self.sleep(pause)
        try:
            return await attempt()
        except AgentError:
            if failure is not None:
                raise failure from None
            raise

    def pause(self, error: Exception, *, number: int) -> float:
        """Seconds to wait after attempt `number` (from 1) failed with `error`."""
        asked = retry_after(error, now=self.now())
        if asked is not None:
            return asked
        full = min(self.cap, self.base * 2 ** (number - 1))
        return full * (0.5 + self.draw() / 2)
