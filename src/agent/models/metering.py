"""Metering: every request to a model endpoint is announced before it is sent and accounted for afterwards.

It happens in the client itself (`agent.models.dialect`), so that retries, fallbacks, a summariser's calls and
those of any library above are seen too. Who counts is a `Meter` that the harness sets for the calls below
it; without one (`signalbox probe`) nothing is counted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol

import httpx2
from langchain_core.messages.ai import UsageMetadata
from openai import APIStatusError

from agent.errors import AgentError
from agent.models.failure import code

logger = logging.getLogger(__name__)

ANSWER: Final = 1_000
"""Tokens of an answer that are reserved where neither the assistant nor the call bounds it."""


_UNREACHED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Of the library that the openai client sends with: nothing of the request has left."""


class CandidateRefused(AgentError):
    """This model must not be asked; another one of the assistant's may be."""

    code = "candidate_refused"


@dataclass(frozen=True, slots=True)
class Asking:
    """A request about to be sent: the model (`openai:gpt-5-mini`), and tokens that it may take."""

    model: str
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class Asked:
    """How a request ended.

    Attributes:
        usage: Tokens; `None` when none were used (the endpoint refused) or nobody knows (`certain` is false).
        estimated: Whether `usage` was counted here and not by the endpoint.
        certain: Whether the endpoint is known to have stopped; an answer that broke off may be paid for.
        outcome: `ok`, or a code.
        latency: Seconds.
    """

    usage: UsageMetadata | None
    estimated: bool
    certain: bool
    outcome: str
    latency: float


class Meter(Protocol):
    """Counts the requests of one turn."""

    async def begin(self, asking: Callable[[], Asking]) -> Receipt:
        """Count a request before it is sent; `asking` is worked out only by a meter that needs it.

        Raises:
            AgentError: It must not be sent.
        """
        ...

    def last(self) -> Meter:
        """The meter of the turn's last answer, for which nothing has to be kept back."""
        ...

    def aside(self, node: str) -> Meter:
        """The meter of requests that are made beside the turn's own, such as for a summary."""
        ...


class Receipt(Protocol):
    """What stands for one request until its cost is known."""

    async def close(self, asked: Asked) -> None:
        """Replace what was counted by what was used."""
        ...


@dataclass(slots=True)
class Reading:
    """Where a client puts what an answer used."""

    usage: UsageMetadata | None = None
    estimated: bool = False


@dataclass(slots=True)
class Progress:
    """What became of the requests of one answer so far."""

    answered: int = 0
    failed: int = 0


_METER: ContextVar[Meter | None] = ContextVar("signalbox_meter", default=None)
_PROGRESS: ContextVar[Progress | None] = ContextVar("signalbox_progress", default=None)


@contextmanager
def counting(by: Meter | None, *, progress: Progress | None = None) -> Generator[None]:
    """Calls inside are counted by `by`; they are one answer with all its attempts.

    Args:
        by: The meter.
        progress: Of an answer that goes on; by default a new one begins.
    """
    token, started = _METER.set(by), _PROGRESS.set(progress or Progress())
    try:
        yield
    finally:
        _PROGRESS.reset(started)
        _METER.reset(token)


def outage() -> bool:
    """Whether every request of this answer has failed so far, so that a refusal now hides the real fault."""
    progress = _PROGRESS.get()
    return progress is not None and progress.failed > 0 and progress.answered == 0


def closing() -> AbstractContextManager[None]:
    """Calls inside are the last of their turn."""
    by = _METER.get()
    return counting(by.last() if by else None, progress=_PROGRESS.get())


def aside(node: str) -> AbstractContextManager[None]:
    """Calls inside are made beside their turn's own."""
    by = _METER.get()
    return counting(by.aside(node) if by else None)


@asynccontextmanager
async def metered(asking: Callable[[], Asking]) -> AsyncGenerator[Reading]:
    """One request: counted before, accounted for afterwards, however it ends.

    Raises:
        AgentError: The meter refuses the request.
    """
    by = _METER.get()
    reading = Reading()
    if by is None:
        yield reading
        return
    receipt = await by.begin(asking)
    began = time.monotonic()
    ending: BaseException | None = None
    try:
        yield reading
    except BaseException as error:
        ending = error
        raise
    finally:
        _note(failed=ending is not None)
        # A run that is cancelled is still charged: the endpoint may have answered by now.
        asked = _asked(reading, ending, time.monotonic() - began)
        await asyncio.shield(_close(receipt, asked))


def _note(*, failed: bool) -> None:
    progress = _PROGRESS.get()
    if progress is not None:
        progress.failed += failed
        progress.answered += not failed


async def _close(receipt: Receipt, asked: Asked) -> None:
    try:
        await receipt.close(asked)
    except Exception:  # the answer is there; what was reserved stays counted
        logger.exception("a model call is not settled", extra={"outcome": asked.outcome})


def _asked(reading: Reading, ending: BaseException | None, latency: float) -> Asked:
    return Asked(
        usage=reading.usage,
        estimated=reading.estimated,
        certain=reading.usage is not None or (ending is not None and _unpaid(ending)),
        outcome="ok" if ending is None else code(ending),
        latency=latency,
    )


def _unpaid(error: BaseException) -> bool:
    """Whether the endpoint said no or was never reached; an answer that broke off may be charged for."""
    return isinstance(error, APIStatusError) or any(isinstance(cause, _UNREACHED) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error.__cause__
    while cause is not None:
        yield cause
        cause = cause.__cause__
