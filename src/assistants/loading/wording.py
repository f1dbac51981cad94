"""How messages name values and the paths to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_LONGEST: Final = 60  # characters of a value that a message repeats


def shown(value: object) -> str:
    """`value` in quotes where it is text, as a file would write it otherwise; cut where it is long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list | tuple):
        return "a map" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def dotted(path: Iterable[str | int]) -> str:
    """`("tools", "allow", 0)` → `tools.allow[0]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")
