"""The life of an order: its states, and a made-up course through them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Final, Literal, get_args

Status = Literal["placed", "paid", "packed", "shipped", "delivered", "cancelled", "returned"]

STATUSES: Final[tuple[Status, ...]] = get_args(Status)

REFUNDABLE: Final[frozenset[Status]] = frozenset({"paid", "packed", "shipped", "delivered", "returned"})
"""States in which money was taken: a placed order is not paid yet, a cancelled one was never charged."""

_DELAYS: Final = (-1, 0, 0, 0, 0, 0, 0, 1, 2, 5)  # days against the promise
_CANCELLED: Final = 0.04
_RETURNED: Final = 0.06
_LOST: Final = 0.015


@dataclass(frozen=True, slots=True)
class Course:
    """What happened to an order, and when; a date that has not come yet is `None`."""

    status: Status
    placed_on: date
    promised_on: date
    shipped_on: date | None = None
    delivered_on: date | None = None


def course_of(placed_on: date, *, today: date, promise: tuple[int, int], random: Random) -> Course:
    """Make up the course of an order as it stands `today`.

    Args:
        placed_on: The day of the order, not after `today`.
        today: Nothing later has happened.
        promise: Days from the order to the promised delivery, shortest and longest.
        random: Drawn from the same number of times for every order.
    """
    promised_on = placed_on + timedelta(days=random.randint(*promise))
    shipped_on = placed_on + timedelta(days=random.choice((1, 1, 2)))
    arrival = promised_on + timedelta(days=random.choice(_DELAYS))
    delivered_on = max(shipped_on + timedelta(days=1), arrival)
    cancelled, lost, sent_back = random.random(), random.random(), random.random()
    paid = random.random() < 0.5
    if cancelled < _CANCELLED:
        return Course("cancelled", placed_on, promised_on)
    if shipped_on > today:
        waiting: Status = "packed" if placed_on < today else "paid" if paid else "placed"
        return Course(waiting, placed_on, promised_on)
    if delivered_on > today or lost < _LOST:
        return Course("shipped", placed_on, promised_on, shipped_on)
    returned = sent_back < _RETURNED and delivered_on + timedelta(days=8) <= today
    return Course("returned" if returned else "delivered", placed_on, promised_on, shipped_on, delivered_on)
