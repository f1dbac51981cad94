"""Durations in catalog files: a whole number and a unit, such as `30m`, `24h` or `7d`."""

from __future__ import annotations

import re
from typing import Final

PATTERN: Final = r"[1-9][0-9]{0,5}[smhd]"
"""A duration as a regular expression."""

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_LONGEST: Final = 366 * 86_400


def seconds(text: str) -> int:
    """The duration in seconds.

    Raises:
        ValueError: It is not a duration, or longer than 366 days.
    """
    if not re.fullmatch(PATTERN, text):
        raise ValueError("expected a duration such as 30m, 24h or 7d")
    length = int(text[:-1]) * _SECONDS[text[-1]]
    if length > _LONGEST:
        raise ValueError("expected a duration of at most 366d")
    return length
