"""Words: what a text is compared by, in languages with and without spaces.

Words in letters are lower-cased and lose common English endings. Chinese and Japanese text has no spaces,
so it is cut at function words and read as overlapping pairs of characters. Function words carry no topic
and are left out.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

from agent.knowledge.function_words import CHINESE, ENGLISH, GERMAN

Language = Literal["en", "de", "zh"]

_IDEOGRAPHS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN: Final = re.compile(rf"[{_IDEOGRAPHS}]+|[^\W_{_IDEOGRAPHS}]+(?:['’][^\W\d_]+)?")
_IDEOGRAPH: Final = re.compile(rf"[{_IDEOGRAPHS}]")

_ENGLISH: Final = frozenset(ENGLISH.split())
_GERMAN: Final = frozenset(GERMAN.split())
_CHINESE: Final = re.compile("|".join(sorted(CHINESE.split(), key=len, reverse=True)))


def tokens(text: str, *, singles: bool = False) -> tuple[str, ...]:
    """The words of `text` that carry a topic, in order: `"the kettles, 退货"` → `("kettl", "退货")`.

    Args:
        text: Any text.
        singles: Whether each ideograph also counts by itself, as it does in a text that is searched: a
            question has it alone between function words.
    """
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _IDEOGRAPH.match(run):
            for piece in filter(None, _CHINESE.split(run)):
                found += _pairs(piece)
                found += piece if singles and len(piece) > 1 else ""
        elif run not in _ENGLISH and run not in _GERMAN:
            found.append(_stem(run))
    return tuple(found)


def is_pair(word: str) -> bool:
    """Whether a token is a pair of ideographs rather than a word in letters."""
    return len(word) == 2 and _IDEOGRAPH.match(word) is not None


def language_of(text: str) -> Language:
    """Chinese when a fifth of the letters are ideographs, German or English by their function words."""
    letters = [letter for letter in text if letter.isalpha()]
    if len(_IDEOGRAPH.findall(text)) * 5 > len(letters):
        return "zh"
    plain = [run for run in _RUN.findall(text.casefold()) if not _IDEOGRAPH.match(run)]
    german = sum(run in _GERMAN for run in plain)
    return "de" if german > sum(run in _ENGLISH for run in plain) else "en"


def _pairs(piece: str) -> list[str]:
    return [piece] if len(piece) == 1 else [piece[at : at + 2] for at in range(len(piece) - 1)]


def _stem(word: str) -> str:
    """One form for `ship`, `ships`, `shipped`, `shipping`: an ending goes while enough letters stay."""
    plain = word.removesuffix("'s").removesuffix("’s")
    if plain.endswith("ies") and len(plain) > 5:
        return plain[:-3]
    if plain.endswith("s") and not plain.endswith(("ss", "us", "is")) and len(plain) > 3:
        plain = plain[:-1]
    for ending in ("ing", "ed"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 4:
            return _undouble(plain.removesuffix(ending)).removesuffix("y")
    return plain[:-1] if plain.endswith(("e", "y")) and len(plain) > 4 else plain


def _undouble(stem: str) -> str:
    return stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
