"""The three shops of the shipped catalog: what makes one differ from another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from agent.shop.errors import UnknownTenant
from agent.shop.goods import HOUSEHOLD, OUTDOOR, TEA, Range


@dataclass(frozen=True, slots=True)
class Profile:
    """A shop. Amounts are in minor units, days are calendar days.

    `carriers` are names with the prefix of their tracking codes; `cultures` are keys of `people.CULTURES`
    with the number of customers of each; `delivery_days` is the promise, shortest and longest.
    """

    tenant: str
    currency: str
    sku_prefix: str
    goods: tuple[Range, ...]
    cents: int
    carriers: tuple[tuple[str, str], ...]
    warehouses: tuple[str, str]
    shipping_fee: int
    free_from: int
    delivery_days: tuple[int, int]
    cities: tuple[str, ...]
    cultures: tuple[tuple[str, int], ...]
    native_names: bool = False


ACME: Final = Profile(
    tenant="acme",
    currency="EUR",
    sku_prefix="ACM",
    goods=HOUSEHOLD,
    cents=90,
    carriers=(("DHL", "JJD"), ("DPD", "DPD"), ("Hermes", "HER")),
    warehouses=("Berlin", "Leipzig"),
    shipping_fee=490,
    free_from=5900,
    delivery_days=(2, 4),
    cities=("Berlin", "Hamburg", "Leipzig", "Köln", "München", "Bremen", "Dresden", "Potsdam", "Kassel"),
    cultures=(
        ("german", 50),
        ("turkish", 20),
        ("polish", 20),
        ("arabic", 15),
        ("english", 12),
        ("french", 12),
        ("spanish", 8),
        ("hindi", 5),
        ("chinese", 5),
        ("japanese", 3),
    ),
)

GLOBEX: Final = Profile(
    tenant="globex",
    currency="USD",
    sku_prefix="GLX",
    goods=OUTDOOR,
    cents=95,
    carriers=(("UPS", "1Z"), ("FedEx", "FX"), ("USPS", "94")),
    warehouses=("Newark", "Reno"),
    shipping_fee=695,
    free_from=7500,
    delivery_days=(3, 6),
    cities=("New York", "Boston", "Denver", "Portland", "Boulder", "Seattle", "Austin", "Burlington", "Reno"),
    cultures=(
        ("english", 50),
        ("spanish", 30),
        ("hindi", 15),
        ("chinese", 15),
        ("german", 8),
        ("polish", 8),
        ("japanese", 8),
        ("arabic", 6),
        ("french", 6),
        ("turkish", 4),
    ),
)

LANTERN: Final = Profile(
    tenant="lantern",
    currency="CNY",
    sku_prefix="LAN",
    goods=TEA,
    cents=0,
    carriers=(("顺丰 SF Express", "SF"), ("中通 ZTO", "ZTO"), ("EMS", "EMS")),
    warehouses=("上海 Shanghai", "杭州 Hangzhou"),
    shipping_fee=1200,
    free_from=19900,
    delivery_days=(2, 5),
    cities=("上海", "杭州", "苏州", "南京", "北京", "广州", "成都", "武汉", "厦门"),
    cultures=(
        ("chinese", 100),
        ("japanese", 15),
        ("english", 12),
        ("german", 6),
        ("french", 6),
        ("hindi", 4),
        ("spanish", 3),
        ("arabic", 2),
        ("polish", 1),
        ("turkish", 1),
    ),
    native_names=True,
)

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {profile.tenant: profile for profile in (ACME, GLOBEX, LANTERN)}
)


def profile_of(tenant: str) -> Profile:
    """The profile of a tenant.

    Raises:
        UnknownTenant: None is written for it.
    """
    profile = PROFILES.get(tenant)
    if profile is None:
        raise UnknownTenant(
            f"No shop is made up for tenant {tenant!r}; expected a tenant of the shipped catalog."
        )
    return profile
