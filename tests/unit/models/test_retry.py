from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.exceptions import ModelAuthenticationError, ModelConnectionError, ModelTimeoutError

from agent.models import Notice, Retry
from tests.unit.models.test_failure import status

pytestmark = pytest.mark.anyio


@dataclass
class Clock:
    """Time that passes only when somebody waits, or when an attempt takes some."""

    time: float = 100.0
    waits: list[float] = field(default_factory=list[float])

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    def retry(self, **changes: Any) -> Retry:
        now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        given: dict[str, Any] = {
            "sleep": self.sleep,
            "clock": lambda: self.time,
            "now": lambda: now,
            "draw": lambda: 1.0,
            **changes,
        }
        return Retry(**given)

    def attempts(self, *outcomes: Any, takes: float = 0.0) -> Callable[[], Awaitable[Any]]:
        left = list(outcomes)

        async def attempt() -> Any:
            self.time += takes
            outcome = left.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return attempt


async def test_an_answer_needs_no_second_attempt() -> None:
    clock = Clock()
    assert await clock.retry().run(clock.attempts("yes", "no"), model="m", budget=60) == "yes"
    assert clock.waits == []


async def test_a_failure_that_may_pass_is_tried_again_with_growing_pauses() -> None:
    clock = Clock()
    failures = [ModelConnectionError("x")] * 5
    attempt = clock.attempts(*failures, "yes")
    assert await clock.retry(attempts=6, cap=3.0).run(attempt, model="m", budget=60) == "yes"
    assert clock.waits == [0.5, 1.0, 2.0, 3.0, 3.0]


async def test_pauses_are_drawn_so_that_callers_do_not_come_back_together() -> None:
    retry = Retry(draw=lambda: 0.0)
    error = ModelConnectionError("x")
    assert [retry.pause(error, number=number) for number in (1, 2, 3)] == [0.25, 0.5, 1.0]
    drawn = {Retry().pause(error, number=3) for _ in range(20)}
    assert len(drawn) > 10
    assert all(1.0 <= one <= 2.0 for one in drawn)


async def test_attempts_are_counted_exactly() -> None:
    clock = Clock()
    last = ModelConnectionError("third")
    attempt = clock.attempts(ModelConnectionError("first"), ModelConnectionError("second"), last, "never")
    with pytest.raises(ModelConnectionError) as caught:
        await clock.retry().run(attempt, model="m", budget=60)
    assert caught.value is last
    assert len(clock.waits) == 2
    assert await attempt() == "never"


async def test_one_attempt_is_one_attempt() -> None:
    clock = Clock()
    with pytest.raises(ModelConnectionError):
        await clock.retry(attempts=1).run(clock.attempts(ModelConnectionError("x")), model="m", budget=60)
    assert clock.waits == []


@pytest.mark.parametrize("error", [ModelAuthenticationError("x"), status(401), status(400), status(403)])
async def test_what_will_not_pass_is_not_repeated(error: Exception) -> None:
    clock = Clock()
    with pytest.raises(type(error)) as caught:
        await clock.retry().run(clock.attempts(error, "never"), model="m", budget=60)
    assert caught.value is error
    assert clock.waits == []


async def test_a_fault_of_ours_is_not_repeated() -> None:
    clock = Clock()
    with pytest.raises(ZeroDivisionError):
        await clock.retry().run(clock.attempts(ZeroDivisionError()), model="m", budget=60)
    assert clock.waits == []


@pytest.mark.parametrize(("header", "wait"), [("3", 3.0), ("Mon, 30 Nov 2026 12:00:07 GMT", 7.0), ("0", 0.0)])
async def test_the_endpoint_s_own_time_is_waited_for(header: str, wait: float) -> None:
    clock = Clock()
    attempt = clock.attempts(status(429, retry_after=header), "yes")
    assert await clock.retry().run(attempt, model="m", budget=60) == "yes"
    assert clock.waits == [wait]


@pytest.mark.parametrize("header", ["61", "inf", "Tue, 01 Dec 2026 12:00:00 GMT"])
async def test_a_wait_beyond_the_budget_fails_at_once(header: str) -> None:
    """Case 87: nobody waits for minutes while a fallback could answer."""
    clock = Clock()
    attempt = clock.attempts(status(429, retry_after=header), "never")
    with pytest.raises(type(status(429))):
        await clock.retry().run(attempt, model="m", budget=60)
    assert clock.waits == []


async def test_time_that_attempts_take_counts() -> None:
    clock = Clock()
    attempt = clock.attempts(ModelTimeoutError("1"), ModelTimeoutError("2"), "never", takes=40.0)
    with pytest.raises(ModelTimeoutError, match="2"):
        await clock.retry().run(attempt, model="m", budget=60)
    assert clock.waits == [0.5]


async def test_each_repetition_is_announced_before_its_wait() -> None:
    clock = Clock()
    told: list[Notice] = []
    attempt = clock.attempts(status(503), status(429, retry_after="2"), "yes")
    await clock.retry().run(attempt, model="openai:m", budget=60, notice=told.append)
    assert told == [Notice("openai:m", 2, 0.5), Notice("openai:m", 3, 2.0)]
