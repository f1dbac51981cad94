"""Cron expressions of exactly five fields: minute, hour, day of month, month, day of week.

LangGraph Server also takes a sixth field, which means seconds, and words such as `@hourly`; files do not, so
that nothing runs more often than it reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LENGTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ITEM: Final = re.compile(r"(?:(\*)|([0-9a-z]+)(?:-([0-9a-z]+))?)(?:/([0-9]{1,3}))?")


@dataclass(frozen=True, slots=True)
class _Range:
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


_FIELDS: Final = (
    _Range("minute", 0, 59),
    _Range("hour", 0, 23),
    _Range("day of month", 1, 31),
    _Range("month", 1, 12, _MONTHS),
    _Range("day of week", 0, 7, _DAYS),
)


@dataclass(frozen=True, slots=True)
class Cron:
    """The values that each field matches; Sunday is 0."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]


def parse(text: str) -> Cron:
    """The cron expression that `text` says.

    Raises:
        ValueError: It has not five fields, a field is out of range, or no date ever matches.
    """
    fields = text.lower().split()
    if len(fields) != len(_FIELDS):
        raise ValueError(
            f"expected five fields (minute, hour, day of month, month, day of week), got {len(fields)}"
        )
    minutes, hours, days, months, weekdays = (
        _values(field, allowed) for field, allowed in zip(fields, _FIELDS, strict=True)
    )
    weekdays = frozenset(day % 7 for day in weekdays)
    if len(weekdays) == len(_DAYS) and min(days) > max(_LENGTHS[month - 1] for month in months):
        raise ValueError("no such day exists in these months, so it would never run")
    return Cron(minutes, hours, days, months, weekdays)


def _values(field: str, allowed: _Range) -> frozenset[int]:
    return frozenset(value for item in field.split(",") for value in _item(item, allowed))


def _item(item: str, allowed: _Range) -> range:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise ValueError(f"{allowed.name}: cannot read {item!r}; expected such as 5, 1-5, */15 or 1,3")
    star, first, last, step = match.groups()
    if step is not None and (int(step) == 0 or (star is None and last is None)):
        raise ValueError(f"{allowed.name}: {item!r} needs a range and a step of at least 1, such as */15")
    low = allowed.low if star else _number(first, allowed)
    high = allowed.high if star else _number(last or first, allowed)
    if low > high:
        raise ValueError(f"{allowed.name}: {item!r} runs backwards")
    return range(low, high + 1, int(step or 1))


def _number(text: str, allowed: _Range) -> int:
    if text in allowed.words:
        return allowed.words.index(text) + allowed.low
    number = int(text) if text.isdigit() and len(text) <= 2 else -1
    if not allowed.low <= number <= allowed.high:
        raise ValueError(f"{allowed.name}: expected {allowed.low} to {allowed.high}, got {text!r}")
    return number
