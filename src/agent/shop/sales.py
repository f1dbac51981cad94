"""Made-up sales: orders with their lines, and the refunds that some of them brought."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Final

from agent.shop.lifecycle import Course, course_of
from agent.shop.profiles import Profile
from agent.shop.refunds import refund_id

Row = dict[str, object]

FIRST_NUMBER: Final = 1001
DAYS: Final = 184
"""How many days of orders there are, up to the last one."""

_SPANS: Final = (DAYS,) * 9 + (3,)  # a tenth of the orders is fresh, so that every state occurs
_LINES: Final = (1, 1, 1, 1, 2, 2, 2, 3, 3, 4)
_QUANTITIES: Final = (1, 1, 1, 1, 2, 2, 3)
_GOODWILL: Final = 0.03
_REASONS: Final = ("arrived damaged", "delivered late", "part missing", "price difference")


@dataclass(frozen=True, slots=True)
class Offer:
    """A product as it can be bought; `unit_minor` in minor units."""

    sku: str
    unit_minor: int


@dataclass(frozen=True, slots=True)
class Sale:
    """One order as rows of `orders`, `order_lines` and `refunds`."""

    order: Row
    lines: tuple[Row, ...]
    refunds: tuple[Row, ...]


def sales(
    profile: Profile,
    *,
    customers: tuple[str, ...],
    offers: tuple[Offer, ...],
    number: int,
    today: date,
    random: Random,
) -> Iterator[Sale]:
    """Make up `number` orders of the last `DAYS` days, oldest first, numbered from `FIRST_NUMBER`."""
    spans = (random.choice(_SPANS) for _ in range(number))
    ages = sorted((random.randrange(days) for days in spans), reverse=True)
    for order_number, age in enumerate(ages, start=FIRST_NUMBER):
        course = course_of(
            today - timedelta(days=age), today=today, promise=profile.delivery_days, random=random
        )
        basket = tuple(
            (offer, random.choice(_QUANTITIES)) for offer in random.sample(offers, random.choice(_LINES))
        )
        goods = sum(offer.unit_minor * quantity for offer, quantity in basket)
        yield Sale(
            order=_order(
                profile,
                order_number,
                customer=random.choice(customers),
                goods=goods,
                course=course,
                random=random,
            ),
            lines=tuple(_lines(profile, order_number, basket)),
            refunds=tuple(
                _refunds(profile, order_number, goods=goods, course=course, today=today, random=random)
            ),
        )


def _order(
    profile: Profile, number: int, *, customer: str, goods: int, course: Course, random: Random
) -> Row:
    shipping = 0 if goods >= profile.free_from else profile.shipping_fee
    carrier, prefix = random.choice(profile.carriers)
    tracking = f"{prefix}{random.randrange(10**9, 10**10)}"
    shipped = course.shipped_on is not None
    return {
        "tenant": profile.tenant,
        "number": number,
        "customer": customer,
        "status": course.status,
        "currency": profile.currency,
        "shipping_minor": shipping,
        "total_minor": goods + shipping,
        "carrier": carrier if shipped else None,
        "tracking": tracking if shipped else None,
        "placed_on": course.placed_on,
        "promised_on": course.promised_on,
        "shipped_on": course.shipped_on,
        "delivered_on": course.delivered_on,
    }


def _lines(profile: Profile, number: int, basket: tuple[tuple[Offer, int], ...]) -> Iterator[Row]:
    for line, (offer, quantity) in enumerate(basket, start=1):
        yield {
            "tenant": profile.tenant,
            "order_number": number,
            "line": line,
            "sku": offer.sku,
            "quantity": quantity,
            "unit_minor": offer.unit_minor,
        }


def _refunds(
    profile: Profile, number: int, *, goods: int, course: Course, today: date, random: Random
) -> Iterator[Row]:
    goodwill, days, reason = random.random() < _GOODWILL, random.randint(1, 7), random.choice(_REASONS)
    if course.delivered_on is None:
        return
    if course.status == "returned":
        amount, reason = goods, "returned within the period"
    elif goodwill:
        amount = max(100, goods // 1000 * 100)  # a tenth of the goods, in whole major units
    else:
        return
    recorded = min(course.delivered_on + timedelta(days=days), today)
    key = f"{profile.tenant}:seed:{number}"
    yield {
        "tenant": profile.tenant,
        "id": refund_id(profile.tenant, key=key),
        "key": key,
        "order_number": number,
        "amount_minor": amount,
        "reason": reason,
        "requested_by": f"{profile.tenant}/seed",
        "recorded_at": datetime.combine(recorded, time(9, 30), tzinfo=UTC),
    }
