"""Budgets in the database: reserve before a call, settle after it.

The counters of a turn and of its day hold what is spent and what is reserved, so a reservation that nobody
settles (its process died) stays counted at its reserved amount. Rows are locked in one order (the tenant's
day, the assistant's day, the turn, the reservation), so two workers that race on the last cent wait for
each other and one of them is refused.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final, Literal

import sqlalchemy as sa

from agent.context import Limits
from agent.ledger import accounts
from agent.ledger.budget import Bounds, Exhausted, refusal
from agent.ledger.database import LedgerDatabase
from agent.ledger.spend import NOTHING, LedgerRefused, Spend, correction
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

        def body(connection: sa.Connection) -> Reservation | Exhausted:
            standing = accounts.lock(connection, turn, now=now, money=bool(spend.micros or keep.micros))
            earlier = accounts.reservation(connection, turn, key=key) if key is not None else None
            if earlier is not None and earlier["state"] != "released":
                return _read(turn, earlier)
            if bounds.seconds is not None:
                standing = replace(standing, waited=waited(connection, turn, until=now))
            exhausted = refusal(bounds, standing, spend=spend, keep=keep, now=now)
            if exhausted is not None:
                return exhausted
            accounts.hold(
                connection,
                turn,
                key=entry.key,
                spend=spend,
                expires_at=entry.expires_at,
                anew=earlier is None,
            )
            accounts.count(connection, turn, spend.amounts())
            return entry

        return await self._database.write(body)

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

    async def reserved(self, tenant: str, *, thread: str, key: str) -> bool | None:
        """Whether a turn of the thread reserved under that key; `None` when the thread is not known here."""
        return await self._database.read(lambda c: accounts.ever(c, tenant, thread, key=key))

    async def account(self, turn: Turn, *, now: datetime) -> Account | None:
        """What the turn has used; `None` before its first reservation."""

        def body(connection: sa.Connection) -> Account | None:
            row = accounts.used(connection, turn)
            if row is None:
                return None
            held = accounts.held(connection, turn, now=now)
            return Account(used=accounts.spend_of(row), held=held, started_at=row["started_at"])

        return await self._database.read(body)

    async def spent(self, tenant: str, day: date, *, assistant: str = "") -> int:
        """Micro-dollars of a UTC day, reservations included: of an assistant, or of the whole tenant."""
        return await self._database.read(lambda c: accounts.spent(c, tenant, assistant, day))

    async def _close(
        self, reservation: Reservation, *, actual: Spend, state: Literal["settled", "released"], now: datetime
    ) -> Settlement:
        return await self._database.write(
            lambda connection: close(connection, reservation, actual=actual, state=state, now=now)
        )


def close(
    connection: sa.Connection,
    reservation: Reservation,
    *,
    actual: Spend,
    state: Literal["settled", "released"],
    now: datetime,
) -> Settlement:
    """Settle or release within a writing transaction; see `Budgets.settle`.

    Raises:
        LedgerRefused: There is no such reservation.
    """
    key, turn = reservation.key, reservation.turn
    accounts.lock(connection, turn, now=now, money=bool(reservation.spend.micros or actual.micros))
    row = accounts.reservation(connection, turn, key=key)
    if row is None:
        raise LedgerRefused(f"Reservation {key!r} is unknown in this turn; reserve first.")
    if row["state"] != "held":
        return "already"
    late = now >= row["expires_at"]
    accounts.finish(connection, turn, key=key, state=state)
    reserved_for = _read(turn, row).turn
    accounts.count(connection, reserved_for, correction(accounts.spend_of(row), actual, late=late))
    return "late" if late else state


def _read(turn: Turn, row: sa.RowMapping) -> Reservation:
    """The reservation of a row; its money counts on the day and the assistant that it was reserved for."""
    reserved_for = replace(turn, assistant=row["assistant"], day=row["day"])
    return Reservation(reserved_for, row["key"], accounts.spend_of(row), row["expires_at"])
