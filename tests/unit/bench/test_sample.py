from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from bench.sample import Work, interleaved, no_collection, quartiles, ratios, rotated, seconds

pytestmark = pytest.mark.anyio


def test_a_quarter_lies_below_the_first_quartile() -> None:
    assert quartiles([5, 1, 3, 2, 4]) == {"low": 2, "median": 3, "high": 4}
    assert quartiles([1.23456, 1.23456], digits=2)["median"] == 1.23


def test_a_ratio_is_of_one_repeat_and_not_of_two_averages() -> None:
    """A machine that is ten times slower for a while changes no ratio."""
    measured = {"ours": [2.0, 20.0], "theirs": [1.0, 10.0]}
    assert ratios(measured, "ours", to="theirs") == [2.0, 2.0]


def test_each_name_begins_once() -> None:
    orders = [rotated(["a", "b", "c"], by=number) for number in range(4)]
    assert orders == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]


async def test_works_are_measured_in_turn_after_a_warm_up() -> None:
    log: list[tuple[str, int]] = []

    def works(name: str) -> Callable[[int], Work]:
        def work(repeat: int) -> Work:
            async def done() -> None:
                log.append((name, repeat))

            return done

        return work

    measured = await interleaved({"a": works("a"), "b": works("b")}, repeats=2)
    assert {name: len(values) for name, values in measured.items()} == {"a": 2, "b": 2}
    assert log == [*((n, r) for r in (-2, -1) for n in "ab"), ("a", 0), ("b", 0), ("b", 1), ("a", 1)]
    assert min(value for values in measured.values() for value in values) > 0


async def test_the_collector_rests_and_is_switched_on_again() -> None:
    async def work() -> None:
        assert not gc.isenabled()

    async with no_collection():
        assert await seconds(work) > 0
    assert gc.isenabled()
    with pytest.raises(KeyError):
        async with no_collection():
            raise KeyError
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
