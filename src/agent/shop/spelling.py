"""Spelling: text brought to one form, so that "muller" finds Müller on every database."""

from __future__ import annotations

import unicodedata
from typing import Final

_LETTERS: Final = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
)


def plain(text: str) -> str:
    """Printable characters and single spaces only, as every database can store them."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def fold(text: str) -> str:
    """Lower case, no accents, single spaces: `"Özdemir  ŁUCJA"` → `"ozdemir lucja"`; idempotent."""
    apart = unicodedata.normalize("NFKD", text.casefold()).casefold().translate(_LETTERS)
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return plain(unicodedata.normalize("NFC", bare))


def words(text: str) -> tuple[str, ...]:
    """The folded words of a question, in order."""
    return tuple(fold(text).split())
