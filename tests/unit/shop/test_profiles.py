"""The three shops differ in what they sell and how."""

from __future__ import annotations

import pytest

from agent.shop.errors import UnknownTenant
from agent.shop.profiles import ACME, GLOBEX, LANTERN, PROFILES, profile_of


def test_the_shipped_tenants_have_a_shop_each_in_their_currency() -> None:
    assert {tenant: profile.currency for tenant, profile in PROFILES.items()} == {
        "acme": "EUR",
        "globex": "USD",
        "lantern": "CNY",
    }


@pytest.mark.parametrize("tenant", sorted(PROFILES))
def test_a_shop_sells_sixty_products_with_distinct_codes(tenant: str) -> None:
    goods = PROFILES[tenant].goods
    assert sum(len(entry.variants) for entry in goods) == 60
    assert len({entry.code for entry in goods}) == len(goods) == 20
    assert all(len(entry.code) == 3 and entry.code.isupper() for entry in goods)
    assert all(entry.price > 0 for entry in goods)
    assert all(surcharge >= 0 for entry in goods for _label, surcharge in entry.variants)


def test_shops_share_neither_codes_nor_carriers_nor_warehouses() -> None:
    shops = (ACME, GLOBEX, LANTERN)
    assert len({shop.sku_prefix for shop in shops}) == 3
    assert len({carrier for shop in shops for carrier, _prefix in shop.carriers}) == 9
    assert len({place for shop in shops for place in shop.warehouses}) == 6


def test_a_profile_is_found_by_its_tenant() -> None:
    assert profile_of("lantern") is LANTERN


def test_an_unknown_tenant_is_named_and_no_other_is() -> None:
    with pytest.raises(UnknownTenant) as unknown:
        profile_of("umbrella")
    assert "'umbrella'" in unknown.value.detail
    assert not any(tenant in unknown.value.detail for tenant in PROFILES)
