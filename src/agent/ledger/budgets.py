"""Budgets in the database: reserve before a call, settle after it.

The counters of a turn and of its day hold what is spent and what is reserved, so a reservation that nobody
settles (its process died) stays counted at its reserved amount. Rows are locked in one order (the tenant's
day, the assistant's day, the turn, the reservation), so two workers that race on the last cent wait for
each other and one of them is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Final, Literal

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.context import Limits
from agent.ledger.budget import Bounds, Exhausted, Standing, refusal
from agent.ledger.database import LedgerDatabase, insert_new
from agent.ledger.spend import NAMES, NOTHING, LedgerRefused, Spend, correction
from agent.ledger.tables import DAYS, RESERVATIONS, TURNS
from agent.ledger.turn import Turn
from agent.ledger.waiting import waited

Settlement = Literal["settled", "released", "already", "late"]

LIFETIME: Final = timedelta(minutes=15)
"""How long a reservation can be given back, unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """An amount that is counted already. Until `expires_at` its rest can be given back."""

    turn: Turn
    key: str
    spend: Spend
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Account:
    """What a turn has used: `used` in all, of which `held` belongs to open reservations."""

    used: Spend
    held: Spend
    started_at: datetime


class Budgets:
    """The budgets of all turns and days."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database

    async def reserve(
        self,
        turn: Turn,
        *,
        spend: Spend,
        limits: Limits,
        now: datetime,
        tenant_usd_per_day: float | None = None,
        keep: Spend = NOTHING,
        key: str | None = None,
        lifetime: timedelta = LIFETIME,
    ) -> Reservation | Exhausted:
        """Count `spend` now, or say which limit forbids it; nothing is counted then.

        Args:
            turn: On whose account.
            spend: The most that the call can take.
            limits: The assistant's limits; `steps` to `usd_per_day` and `seconds` are checked, `repeats` is
                not a budget. Time in which the turn waited for a person does not count as `seconds`.
            now: The moment, aware.
            tenant_usd_per_day: The tenant's ceiling over all its assistants.
            keep: What must be left afterwards, such as the closing answer's call.
            key: Names the decision, such as a tool call id: the same key in the same turn gives the
                reservation that exists, unless it was released, and counts nothing twice. Without it every
                call is another one, as each model call is.
            lifetime: After this the reservation counts as spent (see `settle`).
        """
        bounds = Bounds.of(limits, tenant_usd_per_day=tenant_usd_per_day)
        entry = Reservation(turn, key or uuid.uuid4().hex, spend, now + lifetime)
        async with self._database.writing() as connection:
            standing = await _lock(connection, turn, now=now, money=bool(spend.micros or keep.micros))
            earlier = await _reservation(connection, turn, key=key) if key is not None else None
            if earlier is not None and earlier["state"] != "released":
                return _read(turn, earlier)
            if bounds.seconds is not None:
                standing = replace(standing, waited=await waited(connection, turn, until=now))
            exhausted = refusal(bounds, standing, spend=spend, keep=keep, now=now)
            if exhausted is not None:
                return exhausted
            await _hold(connection, entry, anew=earlier is None)
            await _count(connection, turn, spend.amounts())
            return entry

    async def settle(self, reservation: Reservation, *, actual: Spend, now: datetime) -> Settlement:
        """Replace the reserved amount by the actual one, which may be higher; the first settlement counts.

        Returns:
            `settled`; `already` when it was settled or released before; `late` when it had expired: it then
            counts as spent at its reserved amount, and an actual amount beyond it is added.

        Raises:
            LedgerRefused: There is no such reservation.
        """
        return await self._close(reservation, actual=actual, state="settled", now=now)

    async def release(self, reservation: Reservation, *, now: datetime) -> Settlement:
        """Give the reserved amount back, because the call was never made; see `settle`.

        Raises:
            LedgerRefused: There is no such reservation.
        """
        return await self._close(reservation, actual=NOTHING, state="released", now=now)

    async def account(self, turn: Turn, *, now: datetime) -> Account | None:
        """What the turn has used; `None` before its first reservation."""
        held = RESERVATIONS.c
        sums = [sa.func.coalesce(sa.func.sum(held[name]), 0).label(name) for name in NAMES]
        open_ones = sa.select(*sums).where(
            *_of(RESERVATIONS, turn), held.state == "held", held.expires_at > now
        )
        async with self._database.reading() as connection:
            row = (await connection.execute(sa.select(TURNS).where(*_of(TURNS, turn)))).mappings().first()
            if row is None:
                return None
            amounts = (await connection.execute(open_ones)).mappings().one()
            return Account(used=_spend(row), held=_spend(amounts), started_at=row["started_at"])

    async def spent(self, tenant: str, day: date, *, assistant: str = "") -> int:
        """Micro-dollars of a UTC day, reservations included: of an assistant, or of the whole tenant."""
        async with self._database.reading() as connection:
            return await connection.scalar(_day(tenant, assistant, day)) or 0

    async def _close(
        self, reservation: Reservation, *, actual: Spend, state: Settlement, now: datetime
    ) -> Settlement:
        key, turn = reservation.key, reservation.turn
        async with self._database.writing() as connection:
            first = await _reservation(connection, turn, key=key, lock=False)
            if first is None:
                raise LedgerRefused(f"Reservation {key!r} is unknown in this turn; reserve first.")
            turn = _read(turn, first).turn
            await _lock(connection, turn, now=now, money=bool(first["micros"] or actual.micros))
            row = await _reservation(connection, turn, key=key)
            if row is None or row["state"] != "held":
                return "already"
            late = now >= row["expires_at"]
            await connection.execute(
                sa.update(RESERVATIONS)
                .where(*_of(RESERVATIONS, turn), RESERVATIONS.c.key == key)
                .values(state=state)
            )
            await _count(connection, turn, correction(_spend(row), actual, late=late))
            return "late" if late else state


def _of(table: sa.Table, turn: Turn) -> tuple[sa.ColumnElement[bool], ...]:
    return (table.c.tenant == turn.tenant, table.c.thread == turn.thread, table.c.turn == turn.id)


def _spend(row: Mapping[Any, Any]) -> Spend:
    return Spend(**{name: int(row[name]) for name in NAMES})


def _day(tenant: str, assistant: str, day: date) -> sa.Select[int]:
    table = DAYS.c
    return sa.select(table.micros).where(
        table.tenant == tenant, table.assistant == assistant, table.day == day
    )


async def _lock(connection: AsyncConnection, turn: Turn, *, now: datetime, money: bool) -> Standing:
    """What the turn has used, and of its day if `money` is at stake; those rows are locked."""
    tenant_day = await _lock_day(connection, turn, assistant="") if money else 0
    assistant_day = await _lock_day(connection, turn, assistant=turn.assistant) if money else 0
    row = {**_key(turn), "release": turn.release, "started_at": now, **NOTHING.amounts()}
    await insert_new(connection, TURNS, row)
    query = sa.select(TURNS).where(*_of(TURNS, turn)).with_for_update()
    found = (await connection.execute(query)).mappings().one()
    return Standing(
        turn=_spend(found),
        tenant_day=tenant_day,
        assistant_day=assistant_day,
        started_at=found["started_at"],
    )


async def _lock_day(connection: AsyncConnection, turn: Turn, *, assistant: str) -> int:
    row = {"tenant": turn.tenant, "assistant": assistant, "day": turn.day, "micros": 0}
    await insert_new(connection, DAYS, row)
    query = _day(turn.tenant, assistant, turn.day).with_for_update()
    return (await connection.execute(query)).scalar_one()


async def _reservation(
    connection: AsyncConnection, turn: Turn, *, key: str, lock: bool = True
) -> sa.RowMapping | None:
    query = sa.select(RESERVATIONS).where(*_of(RESERVATIONS, turn), RESERVATIONS.c.key == key)
    return (await connection.execute(query.with_for_update() if lock else query)).mappings().one_or_none()


def _read(turn: Turn, row: sa.RowMapping) -> Reservation:
    """The reservation of a row; its money counts on the day and the assistant that it was reserved for."""
    reserved_for = replace(turn, assistant=row["assistant"], day=row["day"])
    return Reservation(reserved_for, row["key"], _spend(row), row["expires_at"])


def _key(turn: Turn) -> dict[str, str]:
    return {"tenant": turn.tenant, "thread": turn.thread, "turn": turn.id, "assistant": turn.assistant}


async def _hold(connection: AsyncConnection, entry: Reservation, *, anew: bool) -> None:
    turn = entry.turn
    values = {
        "assistant": turn.assistant,
        "day": turn.day,
        "state": "held",
        "expires_at": entry.expires_at,
        **entry.spend.amounts(),
    }
    if anew:
        await connection.execute(sa.insert(RESERVATIONS).values(**{**_key(turn), **values, "key": entry.key}))
        return
    await connection.execute(
        sa.update(RESERVATIONS)
        .where(*_of(RESERVATIONS, turn), RESERVATIONS.c.key == entry.key)
        .values(**values)
    )


async def _count(connection: AsyncConnection, turn: Turn, changes: Mapping[str, int]) -> None:
    await connection.execute(
        sa.update(TURNS)
        .where(*_of(TURNS, turn))
        .values({TURNS.c[name]: TURNS.c[name] + change for name, change in changes.items()})
    )
    if changes["micros"]:
        table = DAYS.c
        await connection.execute(
            sa.update(DAYS)
            .where(
                table.tenant == turn.tenant, table.assistant.in_(["", turn.assistant]), table.day == turn.day
            )
            .values(micros=table.micros + changes["micros"])
        )
