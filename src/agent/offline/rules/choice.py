"""Which of the offered tools a message is about, by the words they share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import log

from agent.offline.rules.arguments import Filled, fill
from agent.offline.rules.lexicon import ACTING, KNOWLEDGE
from agent.offline.rules.offer import NAME, Offer
from agent.offline.rules.values import values
from agent.offline.rules.words import first_term, negated, plural, reading, related, terms

THRESHOLD = 0.9
"""What shared words must score where no argument was found; a word that only one tool's name has scores 3."""

_BESIDE = 0.5  # what a related concept counts
_READ, _ACT = 0.3, 3.0  # what a shared verb of reading counts, and a verb of acting
_UNSAID = 0.5  # what is left of a score when no word of the tool's name was said
_TOLD = 2.0  # what a tool gets that covers all words of a message
_CERTAIN, _MISSING, _REMEMBERED = 1.5, 1.0, 0.2  # an argument that is found, is missing, was said before
_ASKED = 0.5  # what a missing argument counts for an effect, which one asks for before it is done
_IMPLIED: Mapping[str, str] = {"email": "email", "money": "amount", "date": "date"}
_QUESTION = re.compile(
    r"[?？]|^\W*(?:what|where|when|who|which|why|how|is|are|do|does|can|may)\b"
    r"|吗|什么|怎么|如何|多久|多少|哪|是否",
    re.IGNORECASE,
)
# An open question never asks for an effect.
_OPEN = re.compile(
    r"^\W*(?:what|where|when|who|which|why|how|is|are|was|were|do|does|did)\b|什么|怎么|如何|多久|哪",
    re.IGNORECASE,
)
_TO_US = re.compile(r"\b(?:you|your|yourself)\b|你|您", re.IGNORECASE)
_BACK = re.compile(r"\b(?:it|its|they|them|this|that|he|she)\b|[它他她这那]", re.IGNORECASE)


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

    Shared words count by how much they tell these tools apart (inverse document frequency); arguments that
    the text holds speak for a tool, required ones that it lacks against it. A tool with an effect needs its
    verb, neither negated nor in an open question; an order to do what no tool does ("Cancel order 1001")
    gets no other tool instead.
    """
    verb = first_term(text)
    if verb in ACTING and not asks(text) and not any(verb in offer.weights for offer in among):
        return None
    rarity = _rarity(among)
    rated = [_rate(offer, text, rarity, elsewhere, today) for offer in among]
    return max((each for each in rated if each), key=lambda each: each.score, default=None)


def consult(text: str, *, among: Sequence[Offer]) -> Choice | None:
    """The tool that answers open questions from texts, for a question that no other tool serves.

    A question to the model itself ("What can you do?") or about something said before is not one.
    """
    exclaimed = text.rstrip().endswith(("!", "！"))
    if not _QUESTION.search(text) or exclaimed or addressed(text) or _BACK.search(text) or not terms(text):
        return None
    for offer in among:
        kinds = [argument.kind for argument in offer.required]
        if offer.weights.keys() & KNOWLEDGE and kinds in (["sentence"], ["phrase"]) and not offer.acts:
            filled = fill(offer, text)
            return None if filled.missing else Choice(offer, THRESHOLD, filled)
    return None


def asks(text: str) -> bool:
    """Whether a text is a question or an order to look something up."""
    return bool(_QUESTION.search(text) or reading(text))


def addressed(text: str) -> bool:
    """Whether a text is about the model itself ("What can you do?")."""
    return bool(_TO_US.search(text))


def _rarity(among: Sequence[Offer]) -> dict[str, float]:
    """By term: 1 when one tool has it at most, towards 0 when all have it, in their names above all."""
    shares: dict[str, float] = {}
    for offer in among:
        for term, weight in offer.weights.items():
            shares[term] = shares.get(term, 0) + weight / NAME
    size = len(among) + 1
    return {term: log(size / max(1, share)) / log(size) for term, share in shares.items()}


def _rate(
    offer: Offer, text: str, rarity: Mapping[str, float], elsewhere: Sequence[str], today: date | None
) -> Choice | None:
    read = len(offer.readings & (reading(text) | ({"list"} if plural(text) else set())))
    said = terms(text)
    implied = {_IMPLIED[value.kind] for value in values(text) if value.kind in _IMPLIED}
    if read or said & offer.weights.keys():
        said |= implied
    if offer.acts and (not offer.acts & said or _OPEN.search(text) or negated(text, offer.acts)):
        return None
    shared = {term: rarity[term] for term in said if term in offer.weights}
    beside = {term: rarity[term] * _BESIDE for term in related(said) if term in offer.weights}
    covered = len(offer.named & (shared.keys() | beside.keys())) / len(offer.named)
    words = sum(offer.weights[term] * share for term, share in (shared | beside).items())
    words *= _UNSAID + (1 - _UNSAID) * covered
    if not words:
        return None
    filled = fill(offer, text, elsewhere=elsewhere, today=today)
    if words < THRESHOLD and not filled.certain:
        return None
    told = sum(shared.values()) / max(1e-9, sum(rarity.get(term, 1) for term in said))
    score = words + _TOLD * told + _READ * read + _ACT * bool(offer.acts) + _CERTAIN * filled.certain
    lacking = _MISSING * len(filled.missing) * (_ASKED if offer.acts else 1)
    return Choice(offer, score - lacking - _REMEMBERED * filled.remembered, filled)
