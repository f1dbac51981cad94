from __future__ import annotations

import pytest

from agent.history.results import RecordedResults

pytestmark = pytest.mark.anyio


async def test_a_result_is_known_in_its_thread_only() -> None:
    results = RecordedResults()
    results.put("sent", thread="t", call_id="a")
    assert await results.get("t", "a") == "sent"
    assert await results.get("u", "a") is None
    assert await results.get("t", "b") is None


async def test_the_first_record_stands() -> None:
    results = RecordedResults()
    results.put("sent", thread="t", call_id="a")
    results.put("sent again", thread="t", call_id="a")
    assert await results.get("t", "a") == "sent"
