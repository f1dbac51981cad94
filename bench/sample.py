"""Repeated measurements and what may be said of them: medians and quartiles, never a single run."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypedDict

Work = Callable[[], Awaitable[object]]


class Quartiles(TypedDict):
    """A quarter of the values lies below `low`, half below `median`, three quarters below `high`."""

    low: float
    median: float
    high: float


def quartiles(values: Sequence[float], *, digits: int = 3) -> Quartiles:
    """The quartiles of at least two values, rounded."""
    low, median, high = (round(cut, digits) for cut in statistics.quantiles(values, n=4, method="inclusive"))
    return Quartiles(low=low, median=median, high=high)


def ratios(measured: Mapping[str, Sequence[float]], name: str, *, to: str) -> list[float]:
    """`name` to `to`, pair by pair of one repeat: what slows the machine down for a while slows down both."""
    return [one / other for one, other in zip(measured[name], measured[to], strict=True)]


def rotated(names: Sequence[str], *, by: int) -> list[str]:
    """The names beginning with another one each time, so that none always runs after the same neighbour."""
    start = by % len(names)
    return [*names[start:], *names[:start]]


async def seconds(work: Work) -> float:
    """Wall time of one piece of work."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def interleaved(works: Mapping[str, Callable[[int], Work]], *, repeats: int) -> dict[str, list[float]]:
    """Seconds of each work, one value a repeat, measured in turn: A B C, then B C A, then C A B.

    Args:
        works: By name, the work of a repeat (numbered from 0; negative numbers are two repeats of warm-up).
        repeats: How many values each gets.
    """
    for warm_up in (-2, -1):
        for work in works.values():
            await work(warm_up)()
    measured: dict[str, list[float]] = {name: [] for name in works}
    async with no_collection():
        for repeat in range(repeats):
            for name in rotated(list(works), by=repeat):
                gc.collect()
                measured[name].append(await seconds(works[name](repeat)))
    return measured


@asynccontextmanager
async def no_collection() -> AsyncGenerator[None]:
    """No automatic garbage collection inside; what lives already is left out of later collections."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
