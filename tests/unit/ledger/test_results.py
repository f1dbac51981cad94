from __future__ import annotations

import pytest

from agent.ledger import Ledger, Result
from agent.ledger.results import CAP
from tests.unit.ledger.racing import race
from tests.unit.ledger.samples import NOON, later

pytestmark = pytest.mark.anyio


async def put(ledger: Ledger, text: str, *, tenant: str = "acme", call_id: str = "call1") -> bool:
    return await ledger.results.put(tenant, thread="t1", call_id=call_id, text=text, outcome="ok", now=NOON)


async def get(ledger: Ledger, *, tenant: str = "acme", call_id: str = "call1") -> Result | None:
    return await ledger.results.get(tenant, thread="t1", call_id=call_id)


@pytest.mark.parametrize(
    "text", ["refunded", "", "已退款 ✓", 'nul \x00, half \ud800 pair, \\u0000 "quote"\n']
)
async def test_a_result_comes_back_character_by_character(ledger: Ledger, text: str) -> None:
    assert await put(ledger, text)
    found = await get(ledger)
    assert found == Result(text=text, outcome="ok", length=len(text), at=NOON)


async def test_the_first_result_of_a_call_stays(ledger: Ledger) -> None:
    assert await put(ledger, "refunded R-1")
    again = await ledger.results.put(
        "acme", thread="t1", call_id="call1", text="failed", outcome="tool_failed", now=later(minutes=1)
    )
    assert not again
    assert await get(ledger) == Result("refunded R-1", "ok", 12, NOON)


async def test_a_call_that_has_not_finished_has_no_result(ledger: Ledger) -> None:
    await put(ledger, "refunded")
    assert await get(ledger, call_id="call2") is None
    assert await ledger.results.get("acme", thread="t2", call_id="call1") is None


async def test_another_tenants_result_is_none_and_takes_no_room(ledger: Ledger) -> None:
    await put(ledger, "secret of acme")
    assert await get(ledger, tenant="globex") is None
    assert await put(ledger, "globex's own", tenant="globex")
    found = await get(ledger, tenant="globex")
    assert found is not None
    assert found.text == "globex's own"


async def test_a_huge_text_keeps_its_beginning_and_its_length(ledger: Ledger) -> None:
    assert await put(ledger, "b" * CAP)
    assert await put(ledger, "a" + "x" * CAP, call_id="call2")
    whole, cut = await get(ledger), await get(ledger, call_id="call2")
    assert whole is not None
    assert cut is not None
    assert (whole.truncated, len(whole.text)) == (False, CAP)
    assert (cut.truncated, cut.text, cut.length) == (True, "a" + "x" * (CAP - 1), CAP + 1)


async def put_own(ledger: Ledger, number: int) -> bool:
    return await put(ledger, f"worker {number}")


async def test_of_four_processes_one_stores_the_result(url: str, ledger: Ledger) -> None:
    stored = await race(put_own, url, processes=4)
    assert sorted(stored) == [False, False, False, True]
    found = await get(ledger)
    assert found is not None
    assert found.text == f"worker {stored.index(True)}"
