"""Sections: a Markdown document cut at its headings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import Final

from agent.knowledge.words import Language, language_of

_HEADING: Final = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_LANGUAGES: Final[Mapping[str, Language]] = MappingProxyType({"en": "en", "de": "de", "zh": "zh"})
_SUFFIX: Final = re.compile(r"\.(en|de|zh)\.md$")


@dataclass(frozen=True, slots=True)
class Section:
    """The text below one heading, up to the next heading of any level.

    `document` is the file's name, `path` the headings from the title down to this one, `anchor` the
    heading's slug within the document (empty for text above the first heading).
    """

    document: str
    path: tuple[str, ...]
    anchor: str
    text: str
    language: Language

    @property
    def heading(self) -> str:
        """The headings from the title down, as one line."""
        return " › ".join(self.path)

    @property
    def citation(self) -> str:
        """`returns.md#exchange`."""
        return f"{self.document}#{self.anchor}" if self.anchor else self.document


def split(document: str, markdown: str) -> tuple[Section, ...]:
    """The sections of a document that have text, in order.

    The language is named by the file (`returns.zh.md`) or else read off the words. Headings inside fenced
    code are text.
    """
    named = _SUFFIX.search(document)
    whole = language_of(markdown)
    language: Language = _LANGUAGES[named[1]] if named else whole
    return tuple(
        Section(document=document, path=path, anchor=anchor, text=text, language=language)
        for path, anchor, text in _cut(markdown)
        if text
    )


def slug(heading: str) -> str:
    """The anchor of a heading as Git hosts make it: `Opening hours & contact` → `opening-hours--contact`."""
    kept = (letter for letter in heading.strip().lower() if letter in " -_" or _is_word(letter))
    return "".join(kept).replace(" ", "-")


def _is_word(letter: str) -> bool:
    return unicodedata.category(letter)[0] in "LNM"


def _cut(markdown: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    used: set[str] = set()
    path: tuple[str, ...] = ()
    anchor = ""
    body: list[str] = []
    for level, line in _lines(markdown):
        if level == 0:
            body.append(line)
            continue
        yield path, anchor, "\n".join(body).strip()
        body = []
        path = (*path[: level - 1], line)
        plain = slug(line)
        anchor = next(name for name in _numbered(plain) if name not in used)
        used.add(anchor)
    yield path, anchor, "\n".join(body).strip()


def _numbered(plain: str) -> Iterator[str]:
    yield plain
    yield from (f"{plain}-{number}" for number in count(1))


def _lines(markdown: str) -> Iterator[tuple[int, str]]:
    fence: str | None = None
    for line in markdown.splitlines():
        mark = _FENCE.match(line)
        if mark is not None:
            fence = mark[1] if fence is None else None if mark[1] == fence else fence
        heading = _HEADING.match(line) if fence is None else None
        yield (len(heading[1]), heading[2]) if heading is not None else (0, line)
