"""How messages name a value, and the word that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_LONGEST: Final = 60  # characters of a value that a message repeats
_LISTED: Final = 12  # options that are named in full when nothing is close


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


def closest(word: str, options: Iterable[str]) -> str | None:
    """The option that `word` was probably meant to be, or `None`."""
    return next(iter(get_close_matches(word[: 2 * _LONGEST], sorted(options), n=1)), None)


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """What to append to a message about an unknown `word`.

    `"; did you mean 'limits'?"` when an option is close, `"; expected one of …"` when there are few options,
    else an empty text.
    """
    known = sorted(options)
    close = closest(word, known)
    if close is not None:
        return f"; did you mean {close!r}?"
    if 0 < len(known) <= _LISTED:
        return f"; expected one of {', '.join(known)}"
    return ""


def dotted(path: Iterable[str | int]) -> str:
    """`("tools", "allow", 0)` → `tools.allow[0]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")
