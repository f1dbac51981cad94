"""The benchmarks run, at sizes that say nothing about speed."""

from __future__ import annotations

from collections.abc import Generator
from xml.etree import ElementTree as ET

import pytest
import sqlalchemy as sa

from agent.tools.shipped import ledger
from bench import endurance, growth, rounds
from bench.harness import environment

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def own_environment() -> Generator[None]:
    with environment():
        yield


async def test_rounds_compare_three_agents() -> None:
    try:
        result = await rounds.measure(rounds=2, repeats=2)
    finally:
        await ledger.dispose()
    assert result[rounds.CHECKPOINTS] == {"signalbox": 9, "bare create_agent": 9, "stock middleware": 29}
    assert set(result[rounds.RATIO]) == {"bare create_agent", "stock middleware"}
    assert all(span["low"] <= span["median"] <= span["high"] for span in result[rounds.RATIO].values())
    assert [aim for _, _, aim in rounds.rows(result)] == ["9", "≤ 1.15", "", ""]
    ET.fromstring(rounds.drawn(result))  # noqa: S314 - our own text


async def test_endurance_reports_what_it_found() -> None:
    try:
        result = await endurance.measure(turns=60)
    finally:
        await ledger.dispose()
    ours, alone = result["with a summariser"], result["without a summariser"]
    assert ours["requests"] == alone["requests"] == 60
    assert ours["summaries"] >= 2
    assert ours["messages in the thread"] == 120
    assert (ours["requests over the limit"], alone["requests over the limit"]) == (0, 0)
    assert (ours["fact of turn 3 in the last request"], alone["fact of turn 3 in the last request"]) == (
        True,
        False,
    )
    assert endurance.rows(result)[2][1] == "yes (without a summariser: no)"
    ET.fromstring(endurance.drawn(result))  # noqa: S314 - our own text


async def test_growth_measures_both_ways_of_keeping_messages(postgres: sa.URL) -> None:
    try:
        result = await growth.compared(postgres, turns=6, window=3, threads=1)
    finally:
        await ledger.dispose()
    ours, full = (result["variants"][name] for name in growth.MODES.values())
    assert ours["messages in the thread"] == full["messages in the thread"] == 12
    assert ours["raw MB"]["checkpoint_writes"] * 1e6 > 12 * growth.LENGTH
    assert full["raw MB"]["checkpoint_blobs"] > 3 * ours["raw MB"]["checkpoint_blobs"]
    assert [turn for turn, _ in ours["relations in MB by turn"]] == [3, 6]
    assert [aim for _, _, aim in growth.rows(result)] == ["≤ 15 MB", "", "≤ 1.3", "≤ 1.3", ""]
    ET.fromstring(growth.drawn(result))  # noqa: S314 - our own text
