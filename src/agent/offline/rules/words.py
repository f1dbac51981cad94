"""Words of English and Chinese text, each with the concept that it stands for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from agent.offline.rules.lexicon import (
    CHINESE_READING,
    CONCEPTS,
    NEGATIONS,
    PHRASES,
    READING,
    RELATED,
    STOPWORDS,
)

Language = Literal["en", "zh"]
Kind = Literal["content", "stop", "reading"]

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W\d_{_CJK}]"
_TOKEN = re.compile(rf"{_LETTER}(?:[^\W_{_CJK}]|['’-](?={_LETTER}))*|\d+(?:[.,]\d+)*|[{_CJK}]+")
_CHINESE = re.compile(rf"[{_CJK}]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+")
_FORMS = MappingProxyType({form: name for name, forms in CONCEPTS.items() for form in forms.split()})
_CHINESE_WORDS = frozenset(word for word in (*_FORMS, *STOPWORDS, *CHINESE_READING) if _CHINESE.match(word))
_LONGEST = max(len(word) for word in _CHINESE_WORDS)


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
            found |= _counted(word)
    return found


def related(found: set[str]) -> set[str]:
    """The concepts beside those found, without them."""
    near = {RELATED[term] for term in found if term in RELATED}
    return (near | {RELATED[term] for term in near if term in RELATED}) - found


def reading(text: str) -> set[str]:
    """The verbs of reading in a text, in English."""
    return {word.term for word in words(text) if word.kind == "reading"}


def plural(text: str) -> bool:
    """Whether an English word of the text is a plural, as in `which orders`."""
    return any(word.kind == "content" and word.text.lower() == f"{word.term}s" for word in words(text))


def negated(text: str, verbs: Collection[str]) -> bool:
    """Whether every one of the verbs in a text stands right after a negation, as in `don't refund`.

    In Chinese it may stand anywhere before, as in `不要给订单1001退款`.
    """
    found = words(text)
    places = [index for index, word in enumerate(found) if word.term in verbs]
    window = len(found) if language(text) == "zh" else 2
    before = [{word.text.lower() for word in found[max(0, place - window) : place]} for place in places]
    return bool(before) and all(near & NEGATIONS for near in before)


def first_term(text: str) -> str | None:
    """The concept of the first word that says something, such as the verb of an order."""
    return next((word.term for word in words(text) if word.kind != "stop"), None)


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
    if lowered in STOPWORDS or f"{lowered}'s" in STOPWORDS:
        return Word(text, start, end, lowered, "stop")
    return Word(text, start, end, concept(lowered), "reading" if lowered in READING else "content")


def _chinese(run: str, start: int) -> Iterator[Word]:
    loose = position = 0
    while position < len(run):
        known = _longest(run, position)
        if known is None:
            position += 1
            continue
        yield from _loose(run[loose:position], start + loose)
        yield _known(known, start + position)
        loose = position = position + len(known)
    yield from _loose(run[loose:], start + loose)


def _longest(run: str, position: int) -> str | None:
    ends = range(min(position + _LONGEST, len(run)), position, -1)
    return next((run[position:end] for end in ends if run[position:end] in _CHINESE_WORDS), None)


def _loose(text: str, start: int) -> Iterator[Word]:
    if text:
        yield Word(text, start, start + len(text), text, "content")


def _known(text: str, start: int) -> Word:
    end = start + len(text)
    if text in CHINESE_READING:
        return Word(text, start, end, CHINESE_READING[text], "reading")
    return Word(text, start, end, concept(text), "stop" if text in STOPWORDS else "content")


def _counted(word: Word) -> set[str]:
    term = word.term
    if term[0].isdigit():
        return set()
    if term != word.text or not _CHINESE.match(term) or len(term) < 3:
        return {term}
    return {term[index : index + 2] for index in range(len(term) - 1)}


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    plural_form = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural_form else word
