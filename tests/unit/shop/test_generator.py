"""The made-up world is the same everywhere, consistent in itself, and rich enough to work with."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import asdict, fields
from datetime import date, datetime

import pytest

from agent.shop.errors import UnknownTenant
from agent.shop.generator import SEED, TODAY, Row, Rows, generate
from agent.shop.lifecycle import REFUNDABLE, STATUSES
from agent.shop.profiles import PROFILES
from agent.shop.refunds import refund_id
from agent.shop.tables import METADATA

TENANTS = sorted(PROFILES)
GOLDEN = {
    "acme": "27625f9460df03420b199acf466c66242a4a655661b2a09e859ffd416cc315bb",
    "globex": "c57d6f6f512dacde444ccf4c4929f9d6ad2dfd50b7ddeb55e135ec43661af982",
    "lantern": "0d0b416dea976f4da0dde6ec14072d59defad032bc4879497a76bf3937d5c14c",
}


def checksum(rows: Rows) -> str:
    text = json.dumps(asdict(rows), default=str, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module", params=TENANTS)
def rows(request: pytest.FixtureRequest) -> Rows:
    return generate(request.param)


def number(row: Row, column: str) -> int:
    value = row[column]
    assert isinstance(value, int)
    return value


def day(row: Row, column: str) -> date | None:
    value = row[column]
    assert value is None or isinstance(value, date)
    return value


def tenant_of(rows: Rows) -> str:
    return str(rows.orders[0]["tenant"])


@pytest.mark.parametrize("tenant", TENANTS)
def test_the_rows_are_the_published_ones(tenant: str) -> None:
    assert checksum(generate(tenant)) == GOLDEN[tenant]


def test_the_rows_do_not_depend_on_the_process() -> None:
    script = (
        "import sys; from tests.unit.shop.test_generator import checksum; "
        "from agent.shop.generator import generate; sys.stdout.write(checksum(generate('acme')))"
    )
    made = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "4711")
    ]
    assert made == [GOLDEN["acme"], GOLDEN["acme"]]


def test_another_seed_makes_another_world() -> None:
    assert generate("acme", SEED + 1) != generate("acme")
    assert generate("acme", SEED) == generate("acme")


def test_an_unknown_tenant_is_refused() -> None:
    with pytest.raises(UnknownTenant):
        generate("umbrella")


def test_every_row_fills_every_column_of_its_table(rows: Rows) -> None:
    for table in fields(rows):
        columns = set(METADATA.tables[table.name].columns.keys())
        made: tuple[Row, ...] = getattr(rows, table.name)
        assert made
        assert all(set(row) == columns for row in made)
        assert {row["tenant"] for row in made} == {tenant_of(rows)}


def test_there_are_a_few_thousand_rows(rows: Rows) -> None:
    counts = {table.name: len(getattr(rows, table.name)) for table in fields(rows)}
    assert counts["customers"] == 150
    assert counts["products"] == 60
    assert counts["stock"] == 120
    assert counts["orders"] == 700
    assert 1300 < counts["order_lines"] < 1600
    assert 30 < counts["refunds"] < 80


def test_orders_are_numbered_from_1001_in_the_order_of_their_days(rows: Rows) -> None:
    assert [row["number"] for row in rows.orders] == list(range(1001, 1701))
    days = [str(row["placed_on"]) for row in rows.orders]
    assert days == sorted(days)
    assert days[0] >= "2026-05-01"
    assert days[-1] == "2026-11-01"


def test_customers_are_numbered_and_reachable_at_reserved_domains_only(rows: Rows) -> None:
    assert [row["id"] for row in rows.customers] == [f"C-{index:04}" for index in range(1, 151)]
    emails = [str(row["email"]) for row in rows.customers]
    assert len(set(emails)) == 150
    assert {email.partition("@")[2] for email in emails} == {"example.com", "example.org"}
    assert len({row["name"] for row in rows.customers}) == 150


def test_customers_speak_ten_languages_and_joined_before_they_ordered(rows: Rows) -> None:
    assert len({row["language"] for row in rows.customers}) == 10
    assert max(str(row["joined_on"]) for row in rows.customers) <= str(rows.orders[0]["placed_on"])


def test_only_the_tea_shop_writes_chinese_names_in_characters(rows: Rows) -> None:
    names = [str(row["name"]) for row in rows.customers if row["language"] == "zh"]
    assert names
    assert all(name.isascii() == (tenant_of(rows) != "lantern") for name in names)


def test_most_customers_have_ordered_and_some_more_than_once(rows: Rows) -> None:
    orders = Counter(row["customer"] for row in rows.orders)
    assert set(orders) <= {row["id"] for row in rows.customers}
    assert len(orders) > 140
    assert max(orders.values()) >= 8


def test_every_state_occurs(rows: Rows) -> None:
    states = Counter(row["status"] for row in rows.orders)
    assert set(states) == set(STATUSES)
    assert min(states.values()) >= 5
    assert states["delivered"] > 400


def test_a_total_is_its_lines_and_the_shipping_fee_of_the_shop(rows: Rows) -> None:
    profile = PROFILES[tenant_of(rows)]
    goods: dict[object, int] = defaultdict(int)
    for line in rows.order_lines:
        goods[line["order_number"]] += number(line, "quantity") * number(line, "unit_minor")
    fees = set[int]()
    for order in rows.orders:
        worth = goods[order["number"]]
        fee = 0 if worth >= profile.free_from else profile.shipping_fee
        assert order["shipping_minor"] == fee
        assert order["total_minor"] == worth + fee
        assert order["currency"] == profile.currency
        fees.add(fee)
    assert fees == {0, profile.shipping_fee}


def test_lines_sell_distinct_products_at_their_price(rows: Rows) -> None:
    prices = {row["sku"]: row["price_minor"] for row in rows.products}
    lines: dict[object, list[Row]] = defaultdict(list)
    for line in rows.order_lines:
        assert line["unit_minor"] == prices[line["sku"]]
        lines[line["order_number"]].append(line)
    assert {len(positions) for positions in lines.values()} == {1, 2, 3, 4}
    for positions in lines.values():
        assert [position["line"] for position in positions] == list(range(1, len(positions) + 1))
        assert len({position["sku"] for position in positions}) == len(positions)


def test_parcels_on_their_way_have_a_carrier_of_the_shop_and_its_kind_of_code(rows: Rows) -> None:
    carriers = dict(PROFILES[tenant_of(rows)].carriers)
    shipped = [row for row in rows.orders if row["shipped_on"] is not None]
    assert {row["carrier"] for row in shipped} == set(carriers)
    assert all(str(row["tracking"]).startswith(carriers[str(row["carrier"])]) for row in shipped)
    assert len({row["tracking"] for row in shipped}) == len(shipped)
    waiting = [row for row in rows.orders if row["shipped_on"] is None]
    assert waiting
    assert all(row["carrier"] is None and row["tracking"] is None for row in waiting)


def test_some_parcels_came_late_and_some_are_overdue(rows: Rows) -> None:
    late = [
        row
        for row in rows.orders
        if (delivered := day(row, "delivered_on"))
        and (promised := day(row, "promised_on"))
        and delivered > promised
    ]
    assert len(late) > 100
    overdue = [
        row for row in rows.orders if row["status"] == "shipped" and str(row["promised_on"]) < str(TODAY)
    ]
    assert len(overdue) >= 3


def test_refunds_keep_to_the_rules_of_refunds(rows: Rows) -> None:
    orders = {row["number"]: row for row in rows.orders}
    assert len({row["order_number"] for row in rows.refunds}) == len(rows.refunds)
    for row in rows.refunds:
        order = orders[row["order_number"]]
        assert order["status"] in REFUNDABLE
        assert 0 < number(row, "amount_minor") <= number(order, "total_minor")
        assert row["id"] == refund_id(tenant_of(rows), key=str(row["key"]))
        assert row["requested_by"] == f"{tenant_of(rows)}/seed"
        recorded = row["recorded_at"]
        assert isinstance(recorded, datetime)
        assert recorded.utcoffset() is not None
        delivered = day(order, "delivered_on")
        assert delivered is not None
        assert delivered <= recorded.date() <= TODAY


def test_returned_orders_got_the_price_of_the_goods_back(rows: Rows) -> None:
    refunded = {row["order_number"]: row["amount_minor"] for row in rows.refunds}
    returned = [row for row in rows.orders if row["status"] == "returned"]
    assert len(returned) >= 20
    for order in returned:
        assert refunded[order["number"]] == number(order, "total_minor") - number(order, "shipping_minor")


def test_stock_lies_in_both_warehouses_and_covers_what_is_reserved(rows: Rows) -> None:
    places = set(PROFILES[tenant_of(rows)].warehouses)
    where: dict[object, set[object]] = defaultdict(set)
    for row in rows.stock:
        where[row["sku"]].add(row["warehouse"])
        assert 0 <= number(row, "reserved") <= number(row, "on_hand")
        assert (row["restock_on"] is not None) == (number(row, "on_hand") < 5)
        assert row["restock_on"] is None or str(row["restock_on"]) > str(TODAY)
    assert set(where) == {row["sku"] for row in rows.products}
    assert all(found == places for found in where.values())


def test_some_products_are_sold_out_and_most_are_not(rows: Rows) -> None:
    pieces: dict[object, int] = defaultdict(int)
    for row in rows.stock:
        pieces[row["sku"]] += number(row, "on_hand")
    sold_out = [sku for sku, on_hand in pieces.items() if on_hand == 0]
    assert 1 <= len(sold_out) < 20


def test_the_first_orders_and_1042_can_be_refunded_in_every_shop(rows: Rows) -> None:
    refunded = {row["order_number"] for row in rows.refunds}
    chosen = [row for row in rows.orders if row["number"] in {1001, 1002, 1042}]
    assert len(chosen) == 3
    for order in chosen:
        assert order["status"] == "delivered"
        assert number(order, "total_minor") >= 12_000
        assert order["number"] not in refunded


def test_shops_share_no_product() -> None:
    codes = [{row["sku"] for row in generate(tenant).products} for tenant in TENANTS]
    assert len(set[object]().union(*codes)) == 180
