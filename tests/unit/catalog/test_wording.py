"""How messages name things."""

from __future__ import annotations

import pytest

from assistants.loading.wording import dotted, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (0.5, "0.5"),
        ("40", "'40'"),
        ("two\nlines", "'two\\nlines'"),
        ({"a": 1}, "a map"),
        ([1], "a list"),
        ((), "a list"),
    ],
)
def test_value_is_shown_as_files_write_it(value: object, text: str) -> None:
    assert shown(value) == text


def test_long_values_are_cut() -> None:
    assert shown("x" * 500) == "'" + "x" * 59 + "…"


def test_paths_are_dotted() -> None:
    assert dotted(("tools", "allow", 0)) == "tools.allow[0]"
    assert dotted(("schedule", 1, "input", "x")) == "schedule[1].input.x"
    assert dotted(()) == ""
