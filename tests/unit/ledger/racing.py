"""Races between real processes: each opens the ledger, all wait for each other, then all do their job."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable
from multiprocessing.context import ForkServerContext
from threading import Barrier
from typing import Any

import sqlalchemy as sa

from agent.ledger import Ledger
from agent.ledger.database import LedgerDatabase

Job = Callable[[Ledger, int], Awaitable[Any]]

_PATIENCE = 60.0


async def race(job: Job, url: str, *, processes: int) -> list[Any]:
    """What `job(ledger, number)` gave in each process, by number; an error in one is an error here."""
    return await asyncio.to_thread(_race, job, url, processes)


def _race(job: Job, url: str, processes: int) -> list[Any]:
    context: ForkServerContext = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    barrier, answers = context.Barrier(processes), context.Queue()
    runners = [
        context.Process(target=_run, args=(job, url, number, barrier, answers)) for number in range(processes)
    ]
    for runner in runners:
        runner.start()
    try:
        found = dict(answers.get(timeout=_PATIENCE) for _ in runners)
    finally:
        for runner in runners:
            runner.join(timeout=_PATIENCE)
        answers.close()
        answers.join_thread()
    failed = [answer for answer in found.values() if isinstance(answer, Failure)]
    assert failed == []
    assert sorted(found) == list(range(processes))
    return [found[number] for number in range(processes)]


class Failure(str):
    """What went wrong in a process, in words that travel."""

    __slots__ = ()


def _run(job: Job, url: str, number: int, barrier: Barrier, answers: Any) -> None:
    try:
        answers.put((number, asyncio.run(_work(job, url, number, barrier))))
    except BaseException as error:  # noqa: BLE001 - told to the test, which fails with it
        answers.put((number, Failure(repr(error))))


async def _work(job: Job, url: str, number: int, barrier: Barrier) -> Any:
    ledger = Ledger(url)
    try:
        await ledger.audit.head("nobody")  # so that migration and connection are not part of the race
        await asyncio.to_thread(barrier.wait, _PATIENCE)
        return await job(ledger, number)
    finally:
        await ledger.dispose()


async def execute(url: str, *statements: str | sa.Executable) -> None:
    """Change the database behind the ledger's back, as somebody with its password could."""
    database = LedgerDatabase(url)
    try:
        async with database.writing() as connection:
            for statement in statements:
                if isinstance(statement, str):
                    await connection.exec_driver_sql(statement)
                else:
                    await connection.execute(statement)
    finally:
        await database.dispose()


async def untied(url: str) -> None:
    """Take the triggers away that keep the audit append-only, as an intruder would."""
    if sa.make_url(url).get_backend_name() == "postgresql":
        await execute(url, "DROP TRIGGER ledger_audit_append_only ON ledger_audit")
    else:
        await execute(url, *(f"DROP TRIGGER ledger_audit_no_{verb}" for verb in ("update", "delete")))
