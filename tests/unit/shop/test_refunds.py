"""A refund keeps to the order's rules, happens once for each decision, and never exceeds the order."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.shop import Shop
from agent.shop.errors import KeyReused, RefundRefused
from agent.shop.lifecycle import REFUNDABLE, STATUSES, Status
from agent.shop.money import Money
from agent.shop.orders import find_order
from agent.shop.refunds import Account, Outcome, Refund, check, refund, refund_id
from agent.shop.tables import REFUNDS

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
ORDER = 1042
TOTAL = 39060


async def pay_back(
    shop: Shop,
    minor: int,
    *,
    key: str = "acme:t1:c1",
    order: int = ORDER,
    reason: str = "arrived late",
    tenant: str = "acme",
    now: datetime = NOW,
) -> tuple[Refund, Outcome]:
    async with shop.writing() as connection:
        return await refund(
            connection,
            tenant=tenant,
            order=order,
            amount_minor=minor,
            reason=reason,
            key=key,
            requested_by=f"{tenant}/u1",
            now=now,
        )


async def recorded(shop: Shop, *, tenant: str = "acme", order: int = ORDER) -> list[int]:
    query = sa.select(REFUNDS.c.amount_minor).where(
        REFUNDS.c.tenant == tenant, REFUNDS.c.order_number == order
    )
    async with shop.reading() as connection:
        return list((await connection.scalars(query.order_by(REFUNDS.c.amount_minor))).all())


def account(status: Status, *, total: int = 1000, refunded: int = 0) -> Account:
    return Account(7, status, Money(total, "EUR"), Money(refunded, "EUR"))


class TestRules:
    @pytest.mark.parametrize("status", sorted(REFUNDABLE))
    def test_money_that_was_taken_can_go_back(self, status: Status) -> None:
        check(account(status), amount_minor=1)
        check(account(status), amount_minor=1000)

    @pytest.mark.parametrize("status", sorted(set(STATUSES) - REFUNDABLE))
    def test_nothing_goes_back_when_nothing_was_taken(self, status: Status) -> None:
        with pytest.raises(RefundRefused) as refused:
            check(account(status), amount_minor=1)
        assert f"Order 7 is {status!r}" in refused.value.detail
        assert "delivered, packed, paid, returned, shipped" in refused.value.detail

    @pytest.mark.parametrize("amount", [0, -1, -1000])
    def test_the_amount_is_more_than_nothing(self, amount: int) -> None:
        with pytest.raises(RefundRefused, match="expected more than 0"):
            check(account("delivered"), amount_minor=amount)

    def test_a_refusal_says_what_is_left(self) -> None:
        with pytest.raises(RefundRefused) as refused:
            check(account("delivered", refunded=400), amount_minor=601)
        assert "6.01 EUR" in refused.value.detail
        assert "6.00 EUR of 10.00 EUR (4.00 EUR already refunded)" in refused.value.detail

    @given(total=st.integers(0, 10_000), refunded=st.integers(0, 10_000), amount=st.integers(-100, 20_000))
    def test_what_passes_never_exceeds_the_total(self, total: int, refunded: int, amount: int) -> None:
        entry = account("delivered", total=total, refunded=refunded)
        try:
            check(entry, amount_minor=amount)
        except RefundRefused:
            assert amount <= 0 or amount + refunded > total
        else:
            assert amount > 0
            assert amount + refunded <= total

    def test_the_rest_is_what_was_not_refunded(self) -> None:
        assert account("paid", total=1000, refunded=250).rest == Money(750, "EUR")


class TestIdentity:
    def test_an_id_is_the_same_for_the_same_decision_only(self) -> None:
        assert refund_id("acme", key="k1") == refund_id("acme", key="k1")
        identities = {refund_id("acme", key="k1"), refund_id("acme", key="k2"), refund_id("globex", key="k1")}
        assert len(identities) == 3

    @given(st.text(), st.text())
    def test_an_id_has_a_fixed_form_that_counts_nothing(self, tenant: str, key: str) -> None:
        identity = refund_id(
            tenant.encode("utf-8", "ignore").decode(), key=key.encode("utf-8", "ignore").decode()
        )
        assert identity.startswith("R-")
        assert len(identity) == 14
        assert set(identity[2:]) <= set("0123456789abcdef")


@pytest.mark.anyio
class TestRecording:
    async def test_a_refund_is_recorded_with_all_that_was_decided(self, shop: Shop) -> None:
        entry, outcome = await pay_back(shop, 1050)
        assert outcome == "created"
        assert entry == Refund(
            id=refund_id("acme", key="acme:t1:c1"),
            order=ORDER,
            amount=Money(1050, "EUR"),
            reason="arrived late",
            requested_by="acme/u1",
            recorded_at=NOW,
        )
        assert await recorded(shop) == [1050]

    async def test_the_same_decision_gives_the_earlier_refund(self, shop: Shop) -> None:
        first, _created = await pay_back(shop, 1050)
        again, outcome = await pay_back(shop, 1050, now=datetime(2027, 1, 1, tzinfo=UTC))
        assert outcome == "already_recorded"
        assert again == first
        assert again.recorded_at == NOW
        assert await recorded(shop) == [1050]

    async def test_the_same_decision_is_known_after_the_order_is_used_up(self, shop: Shop) -> None:
        first, _created = await pay_back(shop, TOTAL)
        again, outcome = await pay_back(shop, TOTAL)
        assert (again, outcome) == (first, "already_recorded")
        assert await recorded(shop) == [TOTAL]

    @pytest.mark.parametrize(
        ("minor", "order", "reason"),
        [(1051, ORDER, "arrived late"), (1050, 1001, "arrived late"), (1050, ORDER, "another reason")],
        ids=["amount", "order", "reason"],
    )
    async def test_a_key_stands_for_one_content(
        self, shop: Shop, minor: int, order: int, reason: str
    ) -> None:
        await pay_back(shop, 1050)
        with pytest.raises(KeyReused, match="'acme:t1:c1'"):
            await pay_back(shop, minor, order=order, reason=reason)
        assert await recorded(shop) == [1050]
        assert await recorded(shop, order=1001) == []

    async def test_a_key_of_another_tenant_is_another_key(self, shop: Shop) -> None:
        here, _created = await pay_back(shop, 1050, key="k")
        there, outcome = await pay_back(shop, 2000, key="k", tenant="globex", order=1001)
        assert outcome == "created"
        assert here.id != there.id
        assert await recorded(shop, tenant="globex", order=1001) == [2000]
        assert await recorded(shop, tenant="globex") == []

    async def test_parts_may_add_up_to_the_total_and_no_more(self, shop: Shop) -> None:
        await pay_back(shop, 39000, key="a")
        await pay_back(shop, 60, key="b")
        with pytest.raises(RefundRefused, match=r"0\.00 EUR of 390\.60 EUR"):
            await pay_back(shop, 1, key="c")
        assert await recorded(shop) == [60, 39000]

    @pytest.mark.parametrize("order", [1000, 1701, 99999])
    async def test_an_unknown_order_is_refused(self, shop: Shop, order: int) -> None:
        with pytest.raises(RefundRefused, match=f"Order {order} is unknown"):
            await pay_back(shop, 100, order=order)

    @pytest.mark.parametrize(("order", "status"), [(1682, "placed"), (1031, "cancelled")])
    async def test_an_order_without_payment_is_refused(self, shop: Shop, order: int, status: str) -> None:
        with pytest.raises(RefundRefused, match=repr(status)):
            await pay_back(shop, 100, order=order)
        assert await recorded(shop, order=order) == []

    async def test_a_refund_that_was_seeded_counts(self, shop: Shop) -> None:
        async with shop.reading() as connection:
            order = await find_order(connection, tenant="acme", number=1082)
        assert order is not None
        assert order.status == "returned"
        assert order.refunded.minor > 0
        with pytest.raises(RefundRefused):
            await pay_back(shop, order.total.minor - order.refunded.minor + 1, order=1082)

    async def test_a_transaction_that_fails_later_records_nothing(self, shop: Shop) -> None:
        async def fail() -> None:
            async with shop.writing() as connection:
                await _refund(connection, 1050)
                raise KeyError("killed")

        with pytest.raises(KeyError):
            await fail()
        assert await recorded(shop) == []
        _entry, outcome = await pay_back(shop, 1050)
        assert outcome == "created"

    async def test_a_row_that_slipped_in_between_is_a_reused_key(self, shop: Shop) -> None:
        """What Postgres allows: another order's refund takes the key after it was looked for."""
        entry, _created = await pay_back(shop, 1050)

        async def late(connection: AsyncConnection, *, tenant: str, key: str) -> Refund | None:
            assert (tenant, key) == ("acme", "acme:t1:c1")
            return None

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("agent.shop.refunds._recorded", late)
            with pytest.raises(KeyReused):
                await pay_back(shop, 2000, order=1001)
        assert await recorded(shop) == [entry.amount.minor]
        assert await recorded(shop, order=1001) == []


@pytest.mark.anyio
class TestConcurrency:
    async def test_refunds_of_one_order_never_exceed_it(self, shop: Shop) -> None:
        async def attempt(index: int) -> str:
            try:
                return (await pay_back(shop, 5000, key=f"acme:t1:c{index}"))[1]
            except RefundRefused:
                return "refused"

        outcomes = Counter(await asyncio.gather(*(attempt(index) for index in range(12))))
        assert outcomes == {"created": 7, "refused": 5}
        assert await recorded(shop) == [5000] * 7

    async def test_one_decision_at_once_from_many_sides_is_recorded_once(self, shop: Shop) -> None:
        results = await asyncio.gather(*(pay_back(shop, 1050) for _ in range(10)))
        assert Counter(outcome for _entry, outcome in results) == {"created": 1, "already_recorded": 9}
        assert len({entry.id for entry, _outcome in results}) == 1
        assert await recorded(shop) == [1050]

    async def test_two_processes_never_exceed_an_order(self, shop: Shop, url: str) -> None:
        keys = [[f"acme:p{process}:c{index}" for index in range(6)] for process in range(2)]
        outcomes = await _in_processes(url, 5000, keys)
        assert Counter(outcomes[0] + outcomes[1]) == {"created": 7, "refund_refused": 5}
        assert await recorded(shop) == [5000] * 7

    async def test_two_processes_with_the_same_decisions_record_each_once(self, shop: Shop, url: str) -> None:
        keys = [f"acme:t1:c{index}" for index in range(10)]
        first, second = await _in_processes(url, 100, [keys, keys])
        for one, other in zip(first, second, strict=True):
            assert {one, other} == {"created", "already_recorded"}
        assert await recorded(shop) == [100] * 10

    async def test_the_order_is_locked_first_and_on_postgres_its_row(self, shop: Shop) -> None:
        statements: list[sa.Executable] = []

        def note(_connection: object, statement: sa.Executable, *_arguments: object) -> None:
            statements.append(statement)

        async with shop.writing() as connection:
            event.listen(connection.sync_connection, "before_execute", note)
            await _refund(connection, 100)
        first = statements[0]
        assert isinstance(first, sa.Select)
        locked = str(first.compile(dialect=postgresql.dialect()))
        assert "FROM orders" in locked
        assert locked.rstrip().endswith("FOR UPDATE")


async def _refund(connection: AsyncConnection, minor: int) -> tuple[Refund, Outcome]:
    return await refund(
        connection,
        tenant="acme",
        order=ORDER,
        amount_minor=minor,
        reason="arrived late",
        key="acme:t1:c1",
        requested_by="acme/u1",
        now=NOW,
    )


async def _in_processes(url: str, minor: int, keys: list[list[str]]) -> list[list[str]]:
    script = str(Path(__file__).with_name("refunder.py"))
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            *(script, url, str(ORDER), str(minor), *of_process),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for of_process in keys
    ]
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [out.decode().split() for out, _err in outputs]


def test_an_account_is_compared_by_value() -> None:
    assert account("paid") == account("paid")
    assert replace(account("paid"), status="placed") != account("paid")
