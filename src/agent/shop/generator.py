"""The made-up rows of a shop: a pure function of tenant and seed, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Final

from agent.shop.people import CULTURES, Person
from agent.shop.profiles import Profile, profile_of
from agent.shop.sales import DAYS, Offer, Row, sales
from agent.shop.spelling import fold

SEED: Final = 20261120
TODAY: Final = date(2026, 11, 1)
"""The day on which the made-up world ends: no date of a past event is later."""

ORDERS: Final = 700
_SOLD_OUT: Final = 0.1


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one tenant, table by table, keyed by column (`tables`)."""

    customers: tuple[Row, ...]
    products: tuple[Row, ...]
    stock: tuple[Row, ...]
    orders: tuple[Row, ...]
    order_lines: tuple[Row, ...]
    refunds: tuple[Row, ...]


def generate(tenant: str, seed: int = SEED) -> Rows:
    """Make up a shop's customers, products, stock, orders and refunds.

    Raises:
        UnknownTenant: No profile is written for the tenant.
    """
    profile = profile_of(tenant)
    random = Random(f"{seed}:{tenant}")  # noqa: S311 - repeatable on purpose, nothing is secret
    offers = tuple(_offers(profile))
    people = _people(profile, random)
    identities = tuple(f"C-{index:04}" for index in range(1, len(people) + 1))
    customers = tuple(
        _customer(profile, identity, person, random)
        for identity, person in zip(identities, people, strict=True)
    )
    stock = tuple(row for offer in offers for row in _stock(profile, offer, random))
    sold = tuple(
        sales(profile, customers=identities, offers=offers, number=ORDERS, today=TODAY, random=random)
    )
    return Rows(
        customers=customers,
        products=tuple(_products(profile)),
        stock=stock,
        orders=tuple(sale.order for sale in sold),
        order_lines=tuple(line for sale in sold for line in sale.lines),
        refunds=tuple(refund for sale in sold for refund in sale.refunds),
    )


def _people(profile: Profile, random: Random) -> list[Person]:
    people: list[Person] = []
    for culture, share in profile.cultures:
        people += random.sample(CULTURES[culture].people(native=profile.native_names), share)
    random.shuffle(people)
    return people


def _customer(profile: Profile, identity: str, person: Person, random: Random) -> Row:
    address = ".".join(fold(person.latin).replace("-", "").split())
    spellings = " ".join(dict.fromkeys((person.name, person.latin)))
    email = f"{address}@example.{random.choice(('com', 'org'))}"
    return {
        "tenant": profile.tenant,
        "id": identity,
        "name": person.name,
        "email": email,
        "city": random.choice(profile.cities),
        "language": person.language,
        "joined_on": TODAY - timedelta(days=random.randrange(DAYS, 6 * DAYS)),
        "search": fold(f"{identity} {email} {spellings}"),
    }


def _variants(profile: Profile) -> Iterator[tuple[Offer, str, str]]:
    for goods in profile.goods:
        for index, (variant, surcharge) in enumerate(goods.variants, start=1):
            sku = f"{profile.sku_prefix}-{goods.code}-{index:02}"
            price = 100 * (goods.price + surcharge) + profile.cents
            yield Offer(sku, price), f"{goods.name}, {variant}", goods.category


def _offers(profile: Profile) -> Iterator[Offer]:
    return (offer for offer, _name, _category in _variants(profile))


def _products(profile: Profile) -> Iterator[Row]:
    for offer, name, category in _variants(profile):
        yield {
            "tenant": profile.tenant,
            "sku": offer.sku,
            "name": name,
            "category": category,
            "price_minor": offer.unit_minor,
            "currency": profile.currency,
            "search": fold(f"{offer.sku} {name} {category}"),
        }


def _stock(profile: Profile, offer: Offer, random: Random) -> Iterator[Row]:
    sold_out = random.random() < _SOLD_OUT
    for warehouse in profile.warehouses:
        on_hand = 0 if sold_out else random.randrange(0, 80)
        restock_on = TODAY + timedelta(days=random.randrange(5, 40))
        yield {
            "tenant": profile.tenant,
            "sku": offer.sku,
            "warehouse": warehouse,
            "on_hand": on_hand,
            "reserved": random.randrange(0, on_hand // 4 + 1),
            "restock_on": restock_on if on_hand < 5 else None,
        }
