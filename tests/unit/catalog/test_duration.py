"""Durations such as `24h`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistants.loading.duration import seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [("45s", 45), ("30m", 1_800), ("24h", 86_400), ("7d", 604_800), ("366d", 31_622_400)],
)
def test_duration_in_seconds(text: str, expected: int) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text", ["", "24", "h", "0h", "1.5h", "24 h", "-1h", "24H", "1w", "1h30m", " 1h", "1h\n"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a duration such as 30m, 24h or 7d$"):
        seconds(text)


@pytest.mark.parametrize("text", ["367d", "9000h", "999999d"])
def test_more_than_a_year_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a duration of at most 366d$"):
        seconds(text)


@settings(deadline=None)
@given(st.integers(1, 366))
def test_units_agree(days: int) -> None:
    assert seconds(f"{days}d") == seconds(f"{days * 24}h") == days * 86_400
