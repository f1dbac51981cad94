"""The statements of budgets, built once: what a turn and a day have used, and who holds what of it.

Building a statement costs SQLAlchemy more than SQLite takes to run it, and a round of an agent runs some
twenty of them (docs/benchmarks). Rows are locked where a database locks rows; SQLite has one writer anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final, Literal

import sqlalchemy as sa

from agent.ledger.budget import Standing
from agent.ledger.database import insert_new
from agent.ledger.spend import NAMES, NOTHING, Spend
from agent.ledger.tables import DAYS, RESERVATIONS, TURNS
from agent.ledger.turn import Turn

State = Literal["settled", "released"]


def _of(table: sa.Table, *names: str) -> list[sa.ColumnElement[bool]]:
    return [table.c[name] == sa.bindparam(f"of_{name}") for name in names]


_TURN: Final = ("tenant", "thread", "turn")
_DAY: Final = ("tenant", "assistant", "day")

_READ_TURN: Final = sa.select(TURNS).where(*_of(TURNS, *_TURN))
_LOCK_TURN: Final = _READ_TURN.with_for_update()
_READ_DAY: Final = sa.select(DAYS.c.micros).where(*_of(DAYS, *_DAY))
_LOCK_DAY: Final = _READ_DAY.with_for_update()
_LOCK_RESERVATION: Final = sa.select(RESERVATIONS).where(*_of(RESERVATIONS, *_TURN, "key")).with_for_update()
_HOLD: Final = sa.insert(RESERVATIONS)
_HOLD_AGAIN: Final = (
    sa.update(RESERVATIONS)
    .where(*_of(RESERVATIONS, *_TURN, "key"))
    .values(
        {name: sa.bindparam(f"new_{name}") for name in ("assistant", "day", "state", "expires_at", *NAMES)}
    )
)
_CLOSE: Final = (
    sa.update(RESERVATIONS).where(*_of(RESERVATIONS, *_TURN, "key")).values(state=sa.bindparam("new_state"))
)
_COUNT: Final = (
    sa.update(TURNS)
    .where(*_of(TURNS, *_TURN))
    .values({name: TURNS.c[name] + sa.bindparam(f"more_{name}", type_=sa.BigInteger) for name in NAMES})
)
_COUNT_DAY: Final = (
    sa.update(DAYS)
    .where(
        *_of(DAYS, "tenant", "day"),
        sa.or_(DAYS.c.assistant == "", DAYS.c.assistant == sa.bindparam("of_assistant")),
    )
    .values(micros=DAYS.c.micros + sa.bindparam("more_micros", type_=sa.BigInteger))
)
_HELD: Final = sa.select(
    *(sa.func.coalesce(sa.func.sum(RESERVATIONS.c[name]), 0).label(name) for name in NAMES)
).where(
    *_of(RESERVATIONS, *_TURN),
    RESERVATIONS.c.state == "held",
    RESERVATIONS.c.expires_at > sa.bindparam("now"),
)
_EVER: Final = sa.select(RESERVATIONS.c.key).where(*_of(RESERVATIONS, "tenant", "thread")).limit(1)
_EVER_UNDER: Final = (
    sa.select(RESERVATIONS.c.key).where(*_of(RESERVATIONS, "tenant", "thread", "key")).limit(1)
)


def lock(connection: sa.Connection, turn: Turn, *, now: datetime, money: bool) -> Standing:
    """What the turn has used, and of its day if `money` is at stake; those rows are locked.

    In this order everywhere, so that no two transactions wait for each other: the tenant's day, the
    assistant's day, the turn, and after them the reservation.
    """
    tenant_day = _lock_day(connection, turn, assistant="") if money else 0
    assistant_day = _lock_day(connection, turn, assistant=turn.assistant) if money else 0
    found = connection.execute(_LOCK_TURN, _at(turn)).mappings().one_or_none()
    if found is None:
        row = {**_key(turn), "release": turn.release, "started_at": now, **NOTHING.amounts()}
        insert_new(connection, TURNS, row)
        found = connection.execute(_LOCK_TURN, _at(turn)).mappings().one()
    return Standing(
        turn=spend_of(found),
        tenant_day=tenant_day,
        assistant_day=assistant_day,
        started_at=found["started_at"],
    )


def reservation(connection: sa.Connection, turn: Turn, *, key: str) -> sa.RowMapping | None:
    """The turn's reservation under `key`, locked."""
    return connection.execute(_LOCK_RESERVATION, {**_at(turn), "of_key": key}).mappings().one_or_none()


def hold(
    connection: sa.Connection, turn: Turn, *, key: str, spend: Spend, expires_at: datetime, anew: bool
) -> None:
    """Write a reservation: a new one, or one that was released before."""
    values = {
        "assistant": turn.assistant,
        "day": turn.day,
        "state": "held",
        "expires_at": expires_at,
        **spend.amounts(),
    }
    if anew:
        connection.execute(_HOLD, {**_key(turn), **values, "key": key})
    else:
        changed = {f"new_{name}": value for name, value in values.items()}
        connection.execute(_HOLD_AGAIN, {**_at(turn), "of_key": key, **changed})


def finish(connection: sa.Connection, turn: Turn, *, key: str, state: State) -> None:
    """Write that a reservation is settled or released."""
    connection.execute(_CLOSE, {**_at(turn), "of_key": key, "new_state": state})


def count(connection: sa.Connection, turn: Turn, changes: Mapping[str, int]) -> None:
    """Add to what the turn has used and, where money is among it, to its day."""
    more = {f"more_{name}": change for name, change in changes.items()}
    connection.execute(_COUNT, {**_at(turn), **more})
    if changes["micros"]:
        place = {"of_tenant": turn.tenant, "of_day": turn.day, "of_assistant": turn.assistant}
        connection.execute(_COUNT_DAY, {**place, "more_micros": changes["micros"]})


def used(connection: sa.Connection, turn: Turn) -> sa.RowMapping | None:
    """The turn's row, or `None` before its first reservation."""
    return connection.execute(_READ_TURN, _at(turn)).mappings().one_or_none()


def held(connection: sa.Connection, turn: Turn, *, now: datetime) -> Spend:
    """What open reservations of the turn hold."""
    return spend_of(connection.execute(_HELD, {**_at(turn), "now": now}).mappings().one())


def spent(connection: sa.Connection, tenant: str, assistant: str, day: date) -> int:
    """Micro-dollars of a day."""
    place = {"of_tenant": tenant, "of_assistant": assistant, "of_day": day}
    return connection.execute(_READ_DAY, place).scalar_one_or_none() or 0


def ever(connection: sa.Connection, tenant: str, thread: str, *, key: str) -> bool | None:
    """Whether anything was reserved under the key on that thread; `None` when nothing ever was on it."""
    place = {"of_tenant": tenant, "of_thread": thread}
    if connection.execute(_EVER_UNDER, {**place, "of_key": key}).first() is not None:
        return True
    return None if connection.execute(_EVER, place).first() is None else False


def spend_of(row: Mapping[Any, Any]) -> Spend:
    """The amounts of a row."""
    return Spend(**{name: int(row[name]) for name in NAMES})


def _lock_day(connection: sa.Connection, turn: Turn, *, assistant: str) -> int:
    place = {"of_tenant": turn.tenant, "of_assistant": assistant, "of_day": turn.day}
    found = connection.execute(_LOCK_DAY, place).scalar_one_or_none()
    if found is not None:
        return found
    row = {"tenant": turn.tenant, "assistant": assistant, "day": turn.day, "micros": 0}
    insert_new(connection, DAYS, row)
    return connection.execute(_LOCK_DAY, place).scalar_one()


def _at(turn: Turn) -> dict[str, str]:
    return {"of_tenant": turn.tenant, "of_thread": turn.thread, "of_turn": turn.id}


def _key(turn: Turn) -> dict[str, str]:
    return {"tenant": turn.tenant, "thread": turn.thread, "turn": turn.id, "assistant": turn.assistant}
