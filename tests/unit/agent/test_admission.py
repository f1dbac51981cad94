from __future__ import annotations

import gc
import uuid
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableLambda

from agent.context import AgentContext, Approval, Stamp
from agent.errors import RunRefused
from agent.ledger import Turn
from agent.middleware.admission import Admission, Admitted, admitted, call_context, context_of, turn_of
from agent.stamp import RunKey, sign
from tests.unit.agent.contexts import RELEASE, context
from tests.unit.ledger.samples import NOON

pytestmark = pytest.mark.anyio

SECRET = b"the secret of the test's server"


@pytest.fixture(autouse=True)
def _server_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNALBOX_SERVER_SECRET", SECRET.decode())


def key(**changes: str) -> RunKey:
    return RunKey(**{"run": str(uuid.uuid4()), "thread": "t1", "assistant": "a1", **changes})


def stamped(for_run: RunKey, *, unattended: bool = False, **values: Any) -> AgentContext:
    bare = context(**values)
    stamp = sign(bare, for_run, principal="acme/ann", roles=["user"], unattended=unattended, secret=SECRET)
    return bare.model_copy(update={"stamp": stamp})


async def let_in(given: AgentContext, run: RunKey) -> Admitted:
    """`admitted` in a run of that key."""
    ids = {"run_id": run.run, "thread_id": run.thread, "assistant_id": run.assistant}
    return await RunnableLambda(_admitted).ainvoke(given, {"configurable": ids})


async def _admitted(given: AgentContext) -> Admitted:
    return admitted(given)


async def refused(given: AgentContext, run: RunKey) -> None:
    with pytest.raises(RunRefused, match="made for another run, assistant or context"):
        await let_in(given, run)


# Who is let in


async def test_a_stamped_run_is_let_in_as_the_one_who_asked() -> None:
    run = key()
    given = stamped(run)
    assert await let_in(given, run) == Admitted(given, run, "acme/ann", waits=True)


async def test_nobody_waits_for_a_schedule_s_run_nor_for_one_without_a_thread() -> None:
    run = key()
    assert not (await let_in(stamped(run, unattended=True), run)).waits
    stateless = stamped(key(run=run.run, thread=""))
    assert not (await let_in(stateless, run)).waits
    assert not (await let_in(stateless, key(run=run.run, thread=""))).waits


async def test_a_run_without_a_stamp_is_not_let_in() -> None:
    with pytest.raises(RunRefused, match="carries no stamp"):
        await let_in(context(), key())


async def test_a_stamp_counts_for_its_run_thread_assistant_context_and_secret_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = key()
    given = stamped(run)
    await refused(given, key())
    await refused(given, key(run=run.run, thread="t2"))
    await refused(given, key(run=run.run, assistant="a2"))
    await refused(given.model_copy(update={"tools": ("orders.refund",)}), run)
    monkeypatch.setenv("SIGNALBOX_SERVER_SECRET", "another")
    await refused(given, run)


# What is remembered


async def test_a_run_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run = key()
    given = stamped(run)
    first = await let_in(given, run)
    monkeypatch.delenv("SIGNALBOX_SERVER_SECRET")
    monkeypatch.delenv("SIGNALBOX_JWT_SECRET", raising=False)
    assert await let_in(given, run) is first
    with pytest.raises(RunRefused, match="has no secret"):
        await let_in(given.model_copy(), run)


async def test_a_verified_context_is_of_no_use_to_another_run() -> None:
    """The very same object too, which a process could hand to two runs."""
    run, other = key(), key()
    given = stamped(run)
    await let_in(given, run)
    for stranger in (other, key(run=run.run, thread="t2"), key(run=run.run, assistant="a2")):
        await refused(given, stranger)
    assert (await let_in(given, run)).key == run


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": ("orders.refund",)},
        {"tenant": "globex"},
        {"approvals": {}},
        {"stamp": Stamp(principal="acme/boss", roles=("approver",), unattended=False, mac="0" * 64)},
        {"stamp": None},
    ],
)
async def test_a_changed_copy_of_a_verified_context_is_verified_for_itself(changes: dict[str, Any]) -> None:
    run = key()
    given = stamped(run, approvals={"orders.refund": Approval(when="always", decisions=("approve",))})
    await let_in(given, run)
    with pytest.raises(RunRefused):
        await let_in(given.model_copy(update=changes), run)


async def test_what_was_refused_is_refused_again() -> None:
    run = key()
    forged = stamped(key())
    for _ in range(3):
        await refused(forged, run)
    given = stamped(run)
    assert (await let_in(given, run)).context is given
    await refused(forged, run)


async def test_no_context_takes_the_place_of_one_that_is_gone() -> None:
    """Objects are found by their address, which Python gives away again when one is freed."""
    run = key()
    addresses: set[int] = set()
    met_again = 0
    for _ in range(700):
        given = stamped(run)
        assert (await let_in(given, run)).context is given
        addresses.add(id(given))
        del given
        forged = context(stamp=Stamp(principal="acme/boss", unattended=False, mac="0" * 64))
        met_again += id(forged) in addresses
        await refused(forged, run)
    gc.collect()
    assert met_again > 0


async def test_more_runs_at_once_than_are_remembered_are_all_let_in() -> None:
    runs = [key() for _ in range(300)]
    given = [stamped(run) for run in runs]
    for _ in range(2):
        found = [await let_in(one, run) for one, run in zip(given, runs, strict=True)]
        assert [one.key for one in found] == runs
        assert all(one.context is mine for one, mine in zip(found, given, strict=True))


# Contexts and turns


@pytest.mark.parametrize("brought", [None, {}, {"tenant": "acme"}, "acme", AgentContext()])
def test_a_run_without_an_assistant_is_refused(brought: object) -> None:
    runtime: Any = SimpleNamespace(context=brought)
    with pytest.raises(RunRefused, match="no assistant behind it"):
        context_of(runtime)
    request: Any = SimpleNamespace(runtime=runtime)
    with pytest.raises(RunRefused, match="no assistant behind it"):
        call_context(request)


def test_the_context_is_the_one_that_the_run_brought() -> None:
    given = context()
    runtime: Any = SimpleNamespace(context=given)
    request: Any = SimpleNamespace(runtime=runtime)
    assert context_of(runtime) is given
    assert call_context(request) is given


async def test_neither_a_model_nor_a_tool_is_reached_without_a_stamp() -> None:
    reached = list[str]()

    async def handler(_request: Any) -> Any:
        reached.append("reached")

    async def attempt(given: AgentContext) -> None:
        request: Any = SimpleNamespace(runtime=SimpleNamespace(context=given))
        for hook in (Admission().awrap_model_call, Admission().awrap_tool_call):
            with pytest.raises(RunRefused):
                await hook(request, handler)

    await RunnableLambda(attempt).ainvoke(context())
    assert reached == []


def turn(identity: str, *, thread: str = "t1") -> Turn:
    return Turn("acme", thread, identity, "support", RELEASE, date(2026, 3, 1))


TALK: list[AnyMessage] = [
    HumanMessage("old", id="m1"),
    AIMessage("answer", id="m2"),
    HumanMessage("new", id="m3"),
    AIMessage("", id="m4"),
]


async def test_a_turn_is_named_by_the_newest_message_of_a_person() -> None:
    run = key()
    found = await let_in(stamped(run), run)
    assert turn_of(found, TALK, now=NOON) == turn("m3")
    assert turn_of(found, TALK[:2], now=NOON) == turn("m1")


async def test_a_turn_without_a_person_is_named_by_its_run() -> None:
    run = key()
    attended = await let_in(stamped(run), run)
    assert turn_of(attended, [], now=NOON) == turn(run.run)
    assert turn_of(attended, [HumanMessage("no id")], now=NOON) == turn(run.run)
    alone = await let_in(stamped(run, unattended=True), run)
    assert turn_of(alone, TALK, now=NOON) == turn(run.run)
    stateless = await let_in(stamped(key(run=run.run, thread="")), run)
    assert turn_of(stateless, TALK, now=NOON) == turn(run.run)
