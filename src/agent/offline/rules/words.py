"""Words of English and Chinese text, each with the concept that it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from agent.offline.rules.lexicon import (
    CHINESE_READING,
    CHINESE_STOPWORDS,
    CONCEPTS,
    PHRASES,
    READING,
    RELATED,
    STOPWORDS,
)

Language = Literal["en", "zh"]
Kind = Literal["content", "stop", "reading"]

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[^\W\d_{_CJK}](?:[^\W_{_CJK}]|['’-](?=[^\W\d_]))*|\d+(?:[.,]\d+)*|[{_CJK}]+")
_CHINESE = re.compile(rf"[{_CJK}]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A word at `start` to `end` of a text; `term` is its concept, or its own form in lower case."""

    text: str
    start: int
    end: int
    term: str
    kind: Kind


def language(text: str) -> Language:
    """`zh` when the text has a CJK character, else `en`."""
    return "zh" if _CHINESE.search(text) else "en"


def words(text: str) -> list[Word]:
    """The words of a text in order, numbers included; Chinese is cut by the longest words that are known."""
    found: list[Word] = []
    for match in _TOKEN.finditer(text):
        if _CHINESE.match(match[0]):
            found += _chinese(match[0], match.start())
        else:
            found.append(_english(match[0], match.start()))
    return found


def terms(text: str) -> set[str]:
    """The concepts that a text is about; words that decide nothing are left out.

    Chinese that is not in the lexicon counts by its pairs of characters, so that it meets the same Chinese in
    a tool's description.
    """
    lowered = text.lower()
    found = {concept for phrase, concept in PHRASES.items() if phrase in lowered}
    for word in words(text):
        if word.kind == "content":
            found |= _pairs(word)
    return found


def related(found: set[str]) -> set[str]:
    """The concepts beside those found, without them."""
    near = {RELATED[term] for term in found if term in RELATED}
    return (near | {RELATED[term] for term in near if term in RELATED}) - found


def reading(text: str) -> set[str]:
    """The verbs of reading in a text, in English."""
    return {word.term for word in words(text) if word.kind == "reading"}


def identifier(name: str) -> list[str]:
    """The parts of a name in code: `orders_get` → `orders`, `get`; `unitPrice` → `unit`, `price`."""
    return [part.lower() for part in _HUMP.split(name) if part]


def concept(word: str) -> str:
    """The concept of an English or Chinese word, or its singular in lower case."""
    lowered = word.lower()
    return _FORMS.get(lowered) or _singular(lowered)


def _english(text: str, start: int) -> Word:
    lowered = text.lower().replace("’", "'").removesuffix("'s")
    end = start + len(text)
    if lowered in STOPWORDS:
        return Word(text, start, end, lowered, "stop")
    kind: Kind = "reading" if lowered in READING else "content"
    return Word(text, start, end, concept(lowered), kind)


def _chinese(run: str, start: int) -> Iterator[Word]:
    loose = 0
    position = 0
    while position < len(run):
        known = _longest(run, position)
        if known is None:
            position += 1
            continue
        if loose < position:
            yield _loose(run, loose, position, start)
        yield _known(known, start + position)
        position += len(known)
        loose = position
    if loose < len(run):
        yield _loose(run, loose, len(run), start)


def _longest(run: str, position: int) -> str | None:
    for length in range(min(_LONGEST, len(run) - position), 0, -1):
        if run[position : position + length] in _CHINESE_WORDS:
            return run[position : position + length]
    return None


def _loose(run: str, start: int, end: int, offset: int) -> Word:
    return Word(run[start:end], offset + start, offset + end, run[start:end], "content")


def _known(text: str, start: int) -> Word:
    end = start + len(text)
    if text in CHINESE_READING:
        return Word(text, start, end, CHINESE_READING[text], "reading")
    return Word(text, start, end, concept(text), "stop" if text in CHINESE_STOPWORDS else "content")


def _pairs(word: Word) -> set[str]:
    term = word.term
    if word.term != word.text or not _CHINESE.match(term) or len(term) < 3:
        return {term} if not term[:1].isdigit() else set()
    return {term[index : index + 2] for index in range(len(term) - 1)}


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural else word


def _forms() -> Mapping[str, str]:
    return MappingProxyType({form: name for name, forms in CONCEPTS.items() for form in forms.split()})


_FORMS = _forms()
_CHINESE_WORDS = frozenset(
    {form for form in _FORMS if _CHINESE.match(form)} | CHINESE_STOPWORDS | set(CHINESE_READING)
)
_LONGEST = max(len(word) for word in _CHINESE_WORDS)
