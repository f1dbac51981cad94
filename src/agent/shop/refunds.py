"""Refunds: the rules, and the one write of the shop, made at most once for each decision."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.shop.errors import KeyReused, RefundRefused
from agent.shop.lifecycle import REFUNDABLE, Status
from agent.shop.money import Money
from agent.shop.tables import ORDERS, REFUNDS

Outcome = Literal["created", "already_recorded"]


@dataclass(frozen=True, slots=True)
class Refund:
    """A recorded refund; `requested_by` is `tenant/user`, `recorded_at` in UTC."""

    id: str
    order: int
    amount: Money
    reason: str
    requested_by: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Account:
    """What a refund is checked against: the order's state, its total and what was refunded of it."""

    order: int
    status: Status
    total: Money
    refunded: Money

    @property
    def rest(self) -> Money:
        """What can still be refunded."""
        return Money(self.total.minor - self.refunded.minor, self.total.currency)


def refund_id(tenant: str, *, key: str) -> str:
    """`R-` and twelve hexadecimal digits: without a counter, an id tells nothing about other refunds."""
    digest = hashlib.sha256(f"{tenant}\n{key}".encode()).hexdigest()
    return f"R-{digest[:12]}"


def check(account: Account, *, amount_minor: int) -> None:
    """The rules of a refund.

    Raises:
        RefundRefused: The amount is not positive or more than the rest, or no money was taken for the order.
    """
    if amount_minor <= 0:
        raise RefundRefused(
            f"Refund of {Money(amount_minor, account.total.currency)} is not possible; expected more than 0."
        )
    if account.status not in REFUNDABLE:
        raise RefundRefused(
            f"Order {account.order} is {account.status!r}: no money was taken for it, so nothing can be "
            f"refunded; refundable states are {', '.join(sorted(REFUNDABLE))}."
        )
    if amount_minor > account.rest.minor:
        raise RefundRefused(
            f"Refund of {Money(amount_minor, account.total.currency)} is more than order {account.order} has "
            f"left: {account.rest} of {account.total} ({account.refunded} already refunded)."
        )


async def refund(
    connection: AsyncConnection,
    *,
    tenant: str,
    order: int,
    amount_minor: int,
    reason: str,
    key: str,
    requested_by: str,
    now: datetime,
) -> tuple[Refund, Outcome]:
    """Record a refund, or return the one that the same decision has recorded before.

    Refunds of one order wait for each other, so together they never exceed its total.

    Args:
        connection: A writing transaction (`agent.database.writing`).
        tenant: Whose shop.
        order: The order's number.
        amount_minor: The amount in minor units of the order's currency.
        reason: Why, in a person's words.
        key: The idempotency key of the decision.
        requested_by: `tenant/user`.
        now: The moment, aware.

    Raises:
        RefundRefused: The tenant has no such order, or the rules refuse (`check`).
        KeyReused: The key stands for a refund of another order, amount or reason.
    """
    account = await _locked_account(connection, tenant=tenant, order=order)
    earlier = await _recorded(connection, tenant=tenant, key=key)
    if earlier is not None:
        if (earlier.order, earlier.amount.minor, earlier.reason) != (order, amount_minor, reason):
            raise _reused(key)
        return earlier, "already_recorded"
    if account is None:
        raise RefundRefused(f"Order {order} is unknown; check the number.")
    check(account, amount_minor=amount_minor)
    entry = Refund(
        id=refund_id(tenant, key=key),
        order=order,
        amount=Money(amount_minor, account.total.currency),
        reason=reason,
        requested_by=requested_by,
        recorded_at=now,
    )
    await _insert(connection, entry, tenant=tenant, key=key)
    return entry, "created"


async def _locked_account(connection: AsyncConnection, *, tenant: str, order: int) -> Account | None:
    table = ORDERS.c
    row = (
        await connection.execute(
            sa.select(table.status, table.total_minor, table.currency)
            .where(table.tenant == tenant, table.number == order)
            .with_for_update()
        )
    ).one_or_none()
    if row is None:
        return None
    refunded = await connection.scalar(
        sa.select(sa.func.coalesce(sa.func.sum(REFUNDS.c.amount_minor), 0)).where(
            REFUNDS.c.tenant == tenant, REFUNDS.c.order_number == order
        )
    )
    status, total, currency = row
    return Account(order, status, Money(total, currency), Money(int(refunded or 0), currency))


async def _recorded(connection: AsyncConnection, *, tenant: str, key: str) -> Refund | None:
    table = REFUNDS.c
    same_order = sa.and_(ORDERS.c.tenant == table.tenant, ORDERS.c.number == table.order_number)
    row = (
        await connection.execute(
            sa.select(
                table.id,
                table.order_number,
                table.amount_minor,
                ORDERS.c.currency,
                table.reason,
                table.requested_by,
                table.recorded_at,
            )
            .join_from(REFUNDS, ORDERS, same_order)
            .where(table.tenant == tenant, table.key == key)
        )
    ).one_or_none()
    if row is None:
        return None
    identity, order, amount, currency, reason, requested_by, recorded_at = row
    return Refund(identity, order, Money(amount, currency), reason, requested_by, recorded_at)


async def _insert(connection: AsyncConnection, entry: Refund, *, tenant: str, key: str) -> None:
    try:
        await connection.execute(
            sa.insert(REFUNDS).values(
                tenant=tenant,
                id=entry.id,
                key=key,
                order_number=entry.order,
                amount_minor=entry.amount.minor,
                reason=entry.reason,
                requested_by=entry.requested_by,
                recorded_at=entry.recorded_at,
            )
        )
    except IntegrityError:
        # Only another order can have won: refunds of this one wait for the lock on its row.
        raise _reused(key) from None


def _reused(key: str) -> KeyReused:
    return KeyReused(
        f"The refund with key {key!r} was recorded for another order, amount or reason; "
        "a new refund needs a new key."
    )
