"""The word that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_LISTED: Final = 12  # options that are named in full when nothing is close
_LONGEST: Final = 120  # characters of a word that are compared


def closest(word: str, options: Iterable[str]) -> str | None:
    """The option that `word` was probably meant to be, or `None`."""
    return next(iter(get_close_matches(word[:_LONGEST], sorted(options), n=1)), None)


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
