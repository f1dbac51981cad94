"""Which of the offered tools a message is about, by the words they share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import log

from agent.offline.rules.arguments import Filled, fill
from agent.offline.rules.lexicon import KNOWLEDGE
from agent.offline.rules.offer import NAME, Offer
from agent.offline.rules.words import reading, related, terms

THRESHOLD = 1.2
"""The score below which no tool is called; a word of a tool's name that no other tool has scores 3."""

_BESIDE = 0.5  # what a related concept counts
_READ = 0.3  # what a shared verb of reading counts
_UNSAID = 0.5  # what is left of a score when no word of the tool's name was said
_CERTAIN, _MISSING, _REMEMBERED = 1.5, 1.0, 0.2
_QUESTION = re.compile(
    r"[?？]|^\W*(?:what|where|when|who|which|why|how|is|are|do|does|can|may)\b|吗|什么|怎么|如何|多久|多少|哪|是否",
    re.I,
)
_TO_US = re.compile(r"\b(?:you|your|yourself|u)\b|你|您", re.I)
_BACK = re.compile(r"\b(?:it|its|they|them|this|that|he|she)\b|[它他她这那]", re.I)


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool for a text, with the arguments found for it."""

    offer: Offer
    score: float
    filled: Filled


def choose(
    text: str, *, among: Sequence[Offer], elsewhere: Sequence[str] = (), today: date | None = None
) -> Choice | None:
    """The tool that a text asks for, or `None`.

    Shared words count by how much they tell these tools apart (inverse document frequency); arguments that the
    text holds speak for a tool, required ones that it lacks against it.
    """
    rarity = _rarity(among)
    rated = [_rate(offer, text, rarity, elsewhere, today) for offer in among]
    best = max((each for each in rated if each), key=lambda each: each.score, default=None)
    return best if best and best.score >= THRESHOLD else None


def consult(text: str, *, among: Sequence[Offer]) -> Choice | None:
    """The tool that answers open questions from texts, for a question that no other tool serves.

    A question to the model itself ("What can you do?") or about something said before is not one.
    """
    if not _QUESTION.search(text) or _TO_US.search(text) or _BACK.search(text) or not terms(text):
        return None
    for offer in among:
        kinds = [argument.kind for argument in offer.required]
        if set(offer.weights) & KNOWLEDGE and kinds in (["sentence"], ["phrase"]) and not offer.acts:
            filled = fill(offer, text)
            return None if filled.missing else Choice(offer, THRESHOLD, filled)
    return None


def asks(text: str) -> bool:
    """Whether a text is a question or an order to look something up."""
    return bool(_QUESTION.search(text) or reading(text))


def _rarity(among: Sequence[Offer]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for offer in among:
        for term, weight in offer.weights.items():
            shares[term] = shares.get(term, 0) + weight / NAME
    size = log(len(among) + 1)
    return {term: log((len(among) + 1) / max(1, share)) / size for term, share in shares.items()}


def _rate(
    offer: Offer, text: str, rarity: Mapping[str, float], elsewhere: Sequence[str], today: date | None
) -> Choice | None:
    said = terms(text)
    if offer.acts and not offer.acts & said:
        return None
    score = sum(rarity[term] * weight for term, weight in offer.weights.items() if term in said)
    score += sum(
        rarity[term] * offer.weights[term] * _BESIDE for term in related(said) if term in offer.weights
    )
    if not score:
        return None
    covered = len(offer.named & (said | related(said))) / len(offer.named)
    score *= _UNSAID + (1 - _UNSAID) * covered
    score += _READ * len(offer.readings & reading(text))
    filled = fill(offer, text, elsewhere=elsewhere, today=today)
    lacking = len(filled.missing)
    score += _CERTAIN * filled.certain - _MISSING * lacking - _REMEMBERED * filled.remembered
    return Choice(offer, score, filled)
