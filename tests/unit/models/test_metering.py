from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.messages.ai import UsageMetadata
from openai import APIConnectionError

from agent.errors import AgentError
from agent.models.failure import AnswerCut
from agent.models.metering import (
    ANSWER,
    Asked,
    Asking,
    Meter,
    Reading,
    Receipt,
    aside,
    closing,
    counting,
    metered,
)
from agent.models.usage import estimate
from agent.offline.script import Turn, UsageFigures
from tests.support.endpoint import Endpoint
from tests.unit.models.desk import WEATHER, client, said

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])

REQUEST = Asking("openai:gpt-5-mini", 10, 20)
USED = UsageMetadata(input_tokens=7, output_tokens=3, total_tokens=10)


class Refused(AgentError):
    """Nothing is left."""

    code = "refused"


@dataclass
class Account:
    """What meters were told, in order."""

    begun: list[tuple[str, Asking]] = field(default_factory=list[tuple[str, Asking]])
    closed: list[Asked] = field(default_factory=list[Asked])
    refuses: bool = False
    fails: bool = False
    gate: asyncio.Event | None = None
    at_gate: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Counter:
    """A meter that keeps what it is told in `account`; `name` says which one it is."""

    account: Account
    name: str = "turn"

    async def begin(self, asking: Callable[[], Asking]) -> Receipt:
        if self.account.refuses:
            raise Refused("Nothing is left.")
        self.account.begun.append((self.name, asking()))
        return Slip(self.account)

    def last(self) -> Meter:
        return replace(self, name=f"{self.name}/last")

    def aside(self, node: str) -> Meter:
        return replace(self, name=f"{self.name}/{node}")


@dataclass(frozen=True)
class Slip:
    """The receipt of a `Counter`."""

    account: Account

    async def close(self, asked: Asked) -> None:
        if self.account.gate is not None:
            self.account.at_gate.set()
            await self.account.gate.wait()
        if self.account.fails:
            raise OSError("the ledger is gone")
        self.account.closed.append(asked)
        self.account.settled.set()


@pytest.fixture
def account() -> Account:
    return Account()


async def one(reading: Callable[[Reading], None] | None = None, *, error: BaseException | None = None) -> str:
    """A request that ends as told."""
    async with metered(lambda: REQUEST) as found:
        if reading is not None:
            reading(found)
        if error is not None:
            raise error
    return "answer"


def used(found: Reading) -> None:
    found.usage = USED


def ended(found: Asked) -> tuple[UsageMetadata | None, bool, bool, str]:
    assert 0 <= found.latency < 60
    return found.usage, found.estimated, found.certain, found.outcome


# Without a meter


async def test_without_a_meter_nothing_is_counted_or_worked_out() -> None:
    def never() -> Asking:
        raise AssertionError("worked out for nobody")

    async with metered(never) as reading:
        assert reading == Reading()
    with pytest.raises(ValueError, match="no"):
        async with metered(never):
            raise ValueError("no")
    with closing(), aside("summary"), counting(None):
        assert await one() == "answer"


# With one


async def test_a_request_is_announced_before_and_accounted_for_afterwards(account: Account) -> None:
    with counting(Counter(account)):
        async with metered(lambda: REQUEST) as reading:
            assert (account.begun, account.closed) == ([("turn", REQUEST)], [])
            reading.usage, reading.estimated = USED, True
    (found,) = account.closed
    assert ended(found) == (USED, True, True, "ok")


async def test_a_request_that_is_refused_is_not_made(account: Account) -> None:
    account.refuses = True
    made = list[str]()
    with counting(Counter(account)), pytest.raises(Refused):
        async with metered(lambda: REQUEST):
            made.append("made")
    assert (made, account.begun, account.closed) == ([], [], [])


async def test_an_answer_without_usage_may_have_cost_anything(account: Account) -> None:
    with counting(Counter(account)):
        await one()
    assert ended(account.closed[0]) == (None, False, False, "ok")


async def test_a_failure_after_the_usage_was_told_costs_that(account: Account) -> None:
    with counting(Counter(account)), pytest.raises(AnswerCut):
        await one(used, error=AnswerCut("cut"))
    assert ended(account.closed[0]) == (USED, False, True, "answer_cut")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (AnswerCut("cut"), "answer_cut"),
        (TimeoutError(), "timeout"),
        (ValueError("odd"), "failed"),
        (asyncio.CancelledError(), "cancelled"),
    ],
)
async def test_a_failure_in_the_middle_may_have_cost_anything(
    account: Account, error: BaseException, outcome: str
) -> None:
    with counting(Counter(account)), pytest.raises(type(error)) as raised:
        await one(error=error)
    assert raised.value is error
    assert ended(account.closed[0]) == (None, False, False, outcome)


# Who counts


async def test_calls_are_counted_by_the_nearest_meter_and_afterwards_by_the_one_before(
    account: Account,
) -> None:
    with counting(Counter(account)):
        await one()
        with closing():
            await one()
            with aside("summary"):
                await one()
            await one()
        with pytest.raises(ValueError, match="no"), aside("probe"):
            raise ValueError("no")
        await one()
    await one()
    assert [name for name, _ in account.begun] == [
        "turn",
        "turn/last",
        "turn/last/summary",
        "turn/last",
        "turn",
    ]


async def test_runs_at_once_are_counted_by_their_own_meters_and_so_are_their_tasks() -> None:
    accounts = [Account() for _ in range(4)]

    async def run(number: int) -> None:
        with counting(Counter(accounts[number], f"run{number}")):
            await asyncio.gather(*(one() for _ in range(number)))

    await asyncio.gather(*(run(number) for number in range(4)))
    for number, account in enumerate(accounts):
        assert [name for name, _ in account.begun] == [f"run{number}"] * number
        assert len(account.closed) == number


# Whatever happens


async def test_a_request_that_is_cancelled_is_accounted_for_to_the_end(account: Account) -> None:
    """Also when the run is cancelled again while that is written down."""
    account.gate = asyncio.Event()
    under_way = asyncio.Event()

    async def run() -> None:
        with counting(Counter(account)):
            async with metered(lambda: REQUEST):
                under_way.set()
                await asyncio.Event().wait()

    running = asyncio.create_task(run())
    await under_way.wait()
    running.cancel()
    await account.at_gate.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert account.closed == []
    account.gate.set()
    await account.settled.wait()
    assert ended(account.closed[0]) == (None, False, False, "cancelled")


async def test_an_answer_that_cannot_be_accounted_for_is_given_all_the_same(
    account: Account, caplog: pytest.LogCaptureFixture
) -> None:
    account.fails = True
    with counting(Counter(account)), caplog.at_level(logging.ERROR, logger="agent.models.metering"):
        assert await one(used) == "answer"
        with pytest.raises(AnswerCut):
            await one(error=AnswerCut("cut"))
    assert [(record.message, record.__dict__["outcome"]) for record in caplog.records] == [
        ("a model call is not settled", "ok"),
        ("a model call is not settled", "answer_cut"),
    ]


# The client


@both
async def test_the_client_tells_what_it_asks_and_what_was_used(
    scripted: Endpoint,
    account: Account,
    stream: bool,  # noqa: FBT001
) -> None:
    usage = UsageFigures(prompt_tokens=123, completion_tokens=45)
    talk = await scripted.script(Turn(content="Here.", usage=usage))
    asked = [HumanMessage(talk.says("hi"))]
    with counting(Counter(account)):
        await said(client(scripted.url), asked, stream=stream)
    ((_, request),) = account.begun
    assert (request.model, request.tokens_out) == ("openai:gpt-5-mini", ANSWER)
    assert request.tokens_in == estimate(asked)["input_tokens"]
    (found,) = account.closed
    assert found.usage is not None
    assert (found.usage["input_tokens"], found.usage["output_tokens"]) == (123, 45)
    assert (found.estimated, found.certain, found.outcome) == (False, True, "ok")
    assert found.latency > 0


@both
async def test_tools_count_and_the_longest_answer_is_the_request_s_or_else_the_client_s(
    scripted: Endpoint,
    account: Account,
    stream: bool,  # noqa: FBT001
) -> None:
    talk = await scripted.script(Turn(content="one"), Turn(content="two"))
    asked = [HumanMessage(talk.says("hi"))]
    bounded = client(scripted.url, max_completion_tokens=300).bind_tools([WEATHER])
    with counting(Counter(account)):
        await said(bounded, asked, stream=stream)
        await said(bounded.bind(max_completion_tokens=50), asked, stream=stream)
    first, second = (request for _, request in account.begun)
    assert (first.tokens_out, second.tokens_out) == (300, 50)
    assert first.tokens_in == second.tokens_in > estimate(asked)["input_tokens"]


@both
async def test_usage_that_the_endpoint_does_not_report_is_marked(
    scripted: Endpoint,
    account: Account,
    stream: bool,  # noqa: FBT001
) -> None:
    talk = await scripted.script(Turn(content="Here I am."), no_usage=True)
    asked = [HumanMessage(talk.says("hi"))]
    with counting(Counter(account)):
        await said(client(scripted.url), asked, stream=stream)
    (found,) = account.closed
    assert found.usage == estimate(asked, answer="Here I am.")
    assert (found.estimated, found.certain, found.outcome) == (True, True, "ok")


@both
@pytest.mark.parametrize(
    ("status", "outcome"),
    [(401, "key_refused"), (429, "rate_limited"), (503, "failed"), (400, "request_refused")],
)
async def test_what_the_endpoint_refuses_costs_nothing(
    scripted: Endpoint,
    account: Account,
    stream: bool,  # noqa: FBT001
    status: int,
    outcome: str,
) -> None:
    talk = await scripted.script(Turn(status=status, error="no"))
    with counting(Counter(account)), pytest.raises(Exception, match="no"):
        await said(client(scripted.url), [HumanMessage(talk.says("hi"))], stream=stream)
    (found,) = account.closed
    assert ended(found) == (None, False, True, outcome)


async def test_half_a_streamed_answer_may_have_cost_anything(scripted: Endpoint, account: Account) -> None:
    talk = await scripted.script(Turn(content="half an answer", cut_after_chunks=2))
    with counting(Counter(account)), pytest.raises(APIConnectionError):
        await said(client(scripted.url), [HumanMessage(talk.says("hi"))], stream=True)
    assert ended(account.closed[0]) == (None, False, False, "unreachable")


async def test_a_stream_that_nobody_reads_on_is_accounted_for(scripted: Endpoint, account: Account) -> None:
    talk = await scripted.script(Turn(content="a long answer", chunks=6))
    with counting(Counter(account)):
        stream: Any = client(scripted.url).astream([HumanMessage(talk.says("hi"))])
        assert await anext(stream) is not None
        await stream.aclose()
    assert ended(account.closed[0]) == (None, False, False, "cancelled")


@both
async def test_a_refused_request_is_not_sent(
    scripted: Endpoint,
    account: Account,
    stream: bool,  # noqa: FBT001
) -> None:
    account.refuses = True
    talk = await scripted.script(Turn(content="never"))
    with counting(Counter(account)), pytest.raises(Refused):
        await said(client(scripted.url), [HumanMessage(talk.says("hi"))], stream=stream)
    assert await talk.requests() == []
    assert account.closed == []
