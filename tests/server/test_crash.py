"""Killed between the effect and the checkpoint: one effect, one result, and the conversation goes on (B-23).

The development server keeps runs and checkpoints in memory and writes them down every ten seconds. Three
conversations are brought to a point where the disk holds the tool call and not its result: two whose tool
runs while the files are written (the shop is kept busy until they are), and one that is approved afterwards,
whose run the disk does not know at all. When the refunds are in the shop, the server is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from agent.ledger import Approval, AuditFilter, Ledger, ledger_url
from agent.offline.history import problems
from agent.offline.script import ScriptedCall, Turn
from tests.server.conftest import CATALOG, PRICES
from tests.support.dialogue import Json, ask, message, new_thread
from tests.support.endpoint import Conversation, Endpoint
from tests.support.process import alive, family
from tests.support.server import Server, assistant, server

pytestmark = [pytest.mark.anyio, pytest.mark.server, pytest.mark.e2e]

DESK: Final = assistant("globex/desk")
APPROVE: Final[Json] = {"decisions": [{"type": "approve"}]}
_EVERY: Final = 10.0  # seconds between two writes of the server's files
_LEAD: Final = 3.0  # seconds before a write at which the tools are set off; the shop may be busy for five
_ATTEMPTS: Final = 4
_MINOR: Final = 100


@dataclass(frozen=True, slots=True)
class Disk:
    """What the server would start again from: its runs and threads, and the checkpoints in three parts."""

    home: Path

    @property
    def files(self) -> list[Path]:
        folder = self.home / ".langgraph_api"
        parts = [folder / f".langgraph_checkpoint.{number}.pckl" for number in (1, 2, 3)]
        return [folder / ".langgraph_ops.pckl", *parts]

    def holds(self, text: str) -> bool:
        """Whether the text occurs in any of the files."""
        return any(text.encode() in file.read_bytes() for file in self.files if file.exists())

    async def nearly_written(self) -> None:
        """Wait until the next writing is `_LEAD` seconds away."""
        left = self._times()[0] + _EVERY - _LEAD - time.time()
        if left < 0:
            await self.written()
            left = self._times()[0] + _EVERY - _LEAD - time.time()
        await asyncio.sleep(left)

    async def written(self) -> bool:
        """Wait until the files are written anew; false when the checkpoints are left out.

        langgraph-runtime-inmem 0.36.7 stops writing a part for good that is empty at its first turn, as all
        are when nobody spoke within ten seconds of the first start of a home.
        """
        before = self._times()
        async with asyncio.timeout(3 * _EVERY):
            while self._times()[0] <= before[0]:  # noqa: ASYNC110 - files tell nobody
                await asyncio.sleep(0.02)
        deadline = time.monotonic() + _EVERY / 10
        while time.monotonic() < deadline:
            if all(now > old for now, old in zip(self._times(), before, strict=True)):
                return True
            await asyncio.sleep(0.02)
        return False

    def _times(self) -> list[float]:
        return [file.stat().st_mtime if file.exists() else 0.0 for file in self.files]


@dataclass(slots=True)
class Talk:
    """One conversation with one refund: `call` is the id of its tool call, `run` of its run at the crash."""

    name: str
    amount: int
    order: int
    call: str
    script: Conversation
    thread: str = ""
    run: str = ""

    @property
    def reason(self) -> str:
        """By which its rows are found in the shop."""
        return f"crash {self.call}"

    @property
    def opening(self) -> Json:
        """The input of its first run."""
        return message(self.script.says("A refund, please."))


@dataclass(frozen=True, slots=True)
class Crash:
    """A server that was killed, what the disk held then, and the server that was started after it."""

    running: Server
    talks: dict[str, Talk]
    refunds: dict[str, list[str]]
    """By conversation, the refunds in the shop when the server was dead."""
    calls_kept: dict[str, bool]
    """By conversation, whether the disk held the call then."""
    results_kept: dict[str, bool]
    """By conversation, whether the disk held the refund's result then."""
    runs_kept: dict[str, bool]
    """By conversation, whether the disk held the run that made the refund."""

    def ledger(self) -> Ledger:
        """A window into the ledger of the server."""
        return Ledger(ledger_url({"SIGNALBOX_HOME": str(self.running.home)}))


def refunds(home: Path, talk: Talk) -> list[tuple[str, int]]:
    """The rows of the outside world that a conversation made: id and amount in minor units."""
    query = "SELECT id, amount_minor FROM refunds WHERE tenant = 'globex' AND reason = ?"
    with closing(sqlite3.connect(home / "shop.db")) as connection:
        return connection.execute(query, (talk.reason,)).fetchall()


def orders(home: Path) -> list[int]:
    query = (
        "SELECT number FROM orders WHERE tenant = 'globex' AND status = 'delivered' AND total_minor >= 20000 "
        "AND number NOT IN (SELECT order_number FROM refunds WHERE tenant = 'globex') ORDER BY number"
    )
    with closing(sqlite3.connect(home / "shop.db")) as connection:
        return [number for (number,) in connection.execute(query)]


async def refunded(home: Path, talk: Talk) -> None:
    """Wait until the refund is in the shop."""
    async with asyncio.timeout(20):
        while not refunds(home, talk):  # noqa: ASYNC110 - another process's database tells nobody
            await asyncio.sleep(0.002)


@contextmanager
def busy(database: Path) -> Generator[None]:
    """Keep the only place at which a SQLite database takes writes."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


async def kill(running: Server) -> list[int]:
    """SIGKILL to the groups of all that the launcher started; the members that are alive afterwards."""
    members = family(running.process.pid)
    groups = {os.getpgid(pid) for pid in members} - {os.getpgrp()}
    assert groups, "the server is not in a group of its own"
    for group in groups:
        os.killpg(group, signal.SIGKILL)
    await running.process.wait()
    return [pid for pid in members if alive(pid)]


async def conversation(model: Endpoint, *, name: str, amount: int, order: int) -> Talk:
    """A conversation whose model refunds `amount` of an order once and then says that it is done.

    The answer after the refund may be asked for before the crash, after it, or both; it is always the same.
    """
    call = f"call-{name}-{order}"
    arguments = {"order": order, "amount": amount, "reason": f"crash {call}"}
    made = ScriptedCall(name="orders_refund", args=arguments, id=call)
    done = Turn(content="Done.", gate="rest")
    first = Turn(content="", tool_calls=(made,), gate="refund")
    return Talk(name, amount, order, call, await model.script(first, done, done, done))


async def begun(running: Server, talk: Talk) -> None:
    """Start the run, up to the model's first answer, which waits at its gate."""
    ann = running.client("globex", "ann")
    talk.thread = await new_thread(ann)
    run: Json = await ann.runs.create(talk.thread, DESK, input=talk.opening)
    talk.run = run["run_id"]
    await talk.script.requests(wait_for=1)


async def asked(running: Server, talk: Talk) -> None:
    """Run up to the question for the refund."""
    await begun(running, talk)
    await talk.script.open("refund")
    await running.client("globex", "ann").runs.join(talk.thread, talk.run)
    assert refunds(running.home, talk) == []


async def approved(running: Server, talk: Talk) -> None:
    """Approve the refund; the run that goes on is started and not waited for."""
    body: Json = {"assistant_id": DESK, "command": {"resume": APPROVE}}
    async with running.http("globex", "boss", "approver") as boss:
        answer = await boss.post(f"/threads/{talk.thread}/runs", json=body)
    assert answer.status_code == 200, answer.text
    talk.run = answer.json()["run_id"]


async def attempt(running: Server, model: Endpoint) -> list[Talk] | None:
    """The three refunds are in the shop and their results are not on disk; `None` where that was missed."""
    disk, shop = Disk(running.home), running.home / "shop.db"
    first, second, third, *_ = orders(running.home)
    plain = await conversation(model, name="plain", amount=12, order=first)
    early = await conversation(model, name="early", amount=150, order=second)
    late = await conversation(model, name="late", amount=140, order=third)
    await asked(running, early)
    await asked(running, late)
    await begun(running, plain)
    await disk.nearly_written()
    with busy(shop):
        await approved(running, early)
        await plain.script.open("refund")
        in_time = await disk.written() and disk.holds(plain.call) and disk.holds(early.run)
    if not in_time:
        for talk in (plain, early, late):
            await talk.script.open("rest")
        return None
    await refunded(running.home, plain)
    await refunded(running.home, early)
    await approved(running, late)
    await refunded(running.home, late)
    return [plain, early, late]


async def crashed(model: Endpoint, home: Path, **settings: str) -> list[Talk]:
    """Kill a server when the refunds are in the shop; the conversations."""
    for _ in range(_ATTEMPTS):
        async with server(home, **settings) as running:
            talks = await attempt(running, model)
            if talks is not None:
                assert await kill(running) == []
                return talks
    raise AssertionError(f"window not hit: in {_ATTEMPTS} starts the disk did not hold the calls")


@asynccontextmanager
async def after_crash(model: Endpoint, home: Path) -> AsyncGenerator[Crash]:
    settings = {
        "SIGNALBOX_CATALOG": str(CATALOG),
        "SIGNALBOX_PRICES": str(PRICES),
        "OPENAI_BASE_URL": model.url,
    }
    talks = await crashed(model, home, **settings)
    disk = Disk(home)
    found = {talk.name: [identity for identity, _ in refunds(home, talk)] for talk in talks}
    calls = {talk.name: disk.holds(talk.call) for talk in talks}
    results = {name: any(disk.holds(one) for one in rows) for name, rows in found.items()}
    runs = {talk.name: disk.holds(talk.run) for talk in talks}
    for talk in talks:
        await talk.script.open("rest")
    async with server(home, **settings) as running:
        by_name = {talk.name: talk for talk in talks}
        yield Crash(running, by_name, found, calls_kept=calls, results_kept=results, runs_kept=runs)


@pytest.fixture(scope="module")
async def crash(model: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Crash]:
    async with after_crash(model, tmp_path_factory.mktemp("crash")) as found:
        yield found


async def settled(crash: Crash, talk: Talk) -> Json:
    """The thread's values once the run that was cut off has come to its end."""
    ann = crash.running.client("globex", "ann")
    if crash.runs_kept[talk.name]:
        await ann.runs.join(talk.thread, talk.run)
    elif (await ann.threads.get(talk.thread))["status"] == "interrupted":
        await ann.runs.wait(talk.thread, DESK, input=None)
    thread: Json = await ann.threads.get(talk.thread)
    assert thread["status"] == "idle", thread
    return thread["values"]


def results(values: Json, talk: Talk) -> list[Json]:
    """What the tool said of the call, as often as the thread holds it."""
    answers = [one for one in values["messages"] if one["type"] == "tool"]
    return [json.loads(one["content"]) for one in answers if one["tool_call_id"] == talk.call]


async def test_the_window_is_hit(crash: Crash) -> None:
    """The effects were there, the disk held each call and no result, and a start after a kill says so."""
    assert {name: len(rows) for name, rows in crash.refunds.items()} == {"plain": 1, "early": 1, "late": 1}
    assert crash.calls_kept == {"plain": True, "early": True, "late": True}
    assert crash.results_kept == {"plain": False, "early": False, "late": False}
    assert crash.runs_kept == {"plain": True, "early": True, "late": False}
    assert "Retrying runs left running by a previous process" in crash.running.log.read_text()


@pytest.mark.parametrize("name", ["plain", "early", "late"])
async def test_the_tool_runs_again_and_the_refund_is_made_once(crash: Crash, name: str) -> None:
    """B-23, B-26: the same key comes twice, the outside world holds one row."""
    talk = crash.talks[name]
    values = await settled(crash, talk)
    (told,) = results(values, talk)
    assert told["outcome"] == "already_recorded", f"window not hit: {told}"
    assert [told["refund"]] == crash.refunds[name]
    assert refunds(crash.running.home, talk) == [(told["refund"], talk.amount * _MINOR)]
    assert [one["type"] for one in values["messages"]] == ["human", "ai", "tool", "ai"]
    assert values["messages"][-1]["content"] == "Done."


@pytest.mark.parametrize("name", ["plain", "early", "late"])
async def test_the_next_message_works_and_every_history_was_valid(crash: Crash, name: str) -> None:
    """Invariant 3: a thread can always take another message."""
    talk = crash.talks[name]
    await settled(crash, talk)
    messages = await ask(crash.running.client("globex", "ann"), talk.thread, "Is it on its way?", to=DESK)
    assert [one["type"] for one in messages] == ["human", "ai", "tool", "ai", "human", "ai"]
    assert messages[-1]["content"] == "Done."
    seen = await talk.script.requests()
    assert len(seen) >= 3
    assert [problems(one.body["messages"]) for one in seen] == [[]] * len(seen)
    assert len(refunds(crash.running.home, talk)) == 1


@pytest.mark.parametrize("name", ["early", "late"])
async def test_an_approval_is_used_up_once(crash: Crash, name: str) -> None:
    """The decision outlives the run that it was taken for, and stands for one key."""
    talk, ledger = crash.talks[name], crash.ledger()
    await settled(crash, talk)
    record = await ledger.approvals.of_call("globex", thread=talk.thread, call_id=talk.call)
    entries = await ledger.audit.read("globex", AuditFilter(thread=talk.thread))
    await ledger.dispose()
    assert isinstance(record, Approval)
    assert (record.state, record.decided_by) == ("approved", "globex/boss")
    assert record.consumed_key == f"globex:{talk.thread}:{talk.call}"
    told = [one.action for one in entries if json.loads(one.facts).get("approval") == record.id]
    assert told == ["approval.requested", "approval.approved", "approval.consumed"]
