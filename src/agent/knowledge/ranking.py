"""Ranking: which sections answer a question, by BM25, and when none does.

BM25 orders sections but has no zero: the least bad one always comes first. A section therefore has to earn
its place: it must contain a fair share of the question's words, each counted by how rare it is in the
handbook (its inverse document frequency), and twice when it stands in a heading or recurs in the text.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

import bm25s

from agent.knowledge.sections import Section
from agent.knowledge.words import is_pair, language_of, tokens

logging.getLogger("bm25s").setLevel(logging.WARNING)  # it asks for every debug line when it is imported

LEAST_EVIDENCE: Final = 0.45
"""The share of a question's weight that a section has to contain."""

_CLOSE: Final = 0.4  # a hit below this share of the best one's score is noise
_FOREIGN: Final = 0.9  # what a score counts when the section is in another language than the question
_HEADING_WEIGHT: Final = 2


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that answers a question, and its BM25 score: higher is better, comparable in one search."""

    section: Section
    score: float


class Ranking:
    """An index of one handbook's sections; immutable once built."""

    def __init__(self, sections: Iterable[Section]) -> None:
        entries = [(section, _weighted(section)) for section in sections]
        self._sections = tuple(section for section, words in entries if words)
        self._words = tuple(words for _section, words in entries if words)
        self._frequency = Counter(word for words in self._words for word in words)
        self._index = _index([list(words.elements()) for words in self._words])

    def search(self, question: str, *, limit: int) -> tuple[Hit, ...]:
        """The best sections for a question, best first; empty when none is about it.

        Of sections that fit equally well (within a tenth), those in the question's language come first.
        """
        asked = tuple(dict.fromkeys(tokens(question)))
        weight = sum(self._rarity(word) for word in asked)
        if self._index is None or not any(word in self._frequency for word in asked):
            return ()
        language = language_of(question)
        scores = _scores(self._index, asked)
        hits = [
            Hit(section, score if section.language == language else score * _FOREIGN)
            for section, words, score in zip(self._sections, self._words, scores, strict=True)
            if self._evidence(asked, words) >= LEAST_EVIDENCE * weight
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.section.document, hit.section.anchor))
        return tuple(hit for hit in hits if hit.score >= _CLOSE * hits[0].score)[:limit]

    def _rarity(self, word: str) -> float:
        known = self._frequency[word]
        rarity = math.log(1 + (len(self._sections) - known + 0.5) / (known + 0.5))
        # A pair of ideographs that no section has is often no word but the border between two.
        return rarity / 2 if known == 0 and is_pair(word) else rarity

    def _evidence(self, asked: Iterable[str], words: Counter[str]) -> float:
        return sum(self._rarity(word) * min(words[word], _HEADING_WEIGHT) for word in asked)


def _weighted(section: Section) -> Counter[str]:
    *above, own = section.path or ("",)
    heading = Counter(dict.fromkeys(tokens(own, singles=True), _HEADING_WEIGHT))
    title = Counter(set(tokens(" ".join(above), singles=True)))
    return heading + title + Counter(tokens(section.text, singles=True))


def _index(documents: list[list[str]]) -> Any:  # noqa: ANN401 - the library has no types
    if not documents:
        return None
    index = cast("Any", bm25s).BM25()
    index.index(documents, show_progress=False)
    return index


def _scores(index: Any, asked: tuple[str, ...]) -> list[float]:  # noqa: ANN401 - the library has no types
    known = [word for word in asked if word in index.vocab_dict]
    return [float(score) for score in index.get_scores(known)]
