"""Which number in a text is meant for which argument: an order's, an amount, a count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.offline.rules.offer import Argument, Offer
from agent.offline.rules.values import Value
from agent.offline.rules.words import language, words

_BEFORE, _AFTER = 3, 2  # words beside a number that may say what it is
_BREAK = re.compile(r"[,.;:?!，。；：？！、()]")
_JOIN = re.compile(r"\s*(?:,|、|&|,?\s*and|,?\s*or|和|与|或|及)\s*#?\s*", re.IGNORECASE)
_JOINED = 0.95  # of the fit of the number before it, in `orders 1001 and 1002`
_LONG = 3  # digits from which a bare number looks like an id
_NUMERIC = ("money", "count", "id")


def assign(
    offer: Offer,
    arguments: Sequence[Argument],
    text: str,
    at_hand: Sequence[Value],
    *,
    floors: tuple[float, float],
) -> dict[str, Value]:
    """The values of the numeric arguments, each value used once, the best fitting pair first.

    Args:
        offer: The tool, whose words count as well.
        arguments: The arguments to find; others than numeric ones are left out.
        text: The text.
        at_hand: The values in it, in order.
        floors: How fitting a value must be (0 to 1) for a required and for an optional argument.
    """
    pairs = [
        (score, argument.name, value)
        for argument in arguments
        for value, score in _fits(offer, argument, text, at_hand)
        if score >= floors[0 if argument.required else 1]
    ]
    found: dict[str, Value] = {}
    for _, name, value in sorted(pairs, key=lambda pair: (-pair[0], pair[2].start)):
        if name not in found and value not in found.values():
            found[name] = value
    return found


def fitting(
    offer: Offer, argument: Argument, text: str, at_hand: Sequence[Value], *, floor: float
) -> list[Value]:
    """Every value that fits one numeric argument at least as well as `floor`, in order."""
    return [value for value, score in _fits(offer, argument, text, at_hand) if score >= floor]


@dataclass(frozen=True, slots=True)
class _Place:
    """The words around a value, and whether a `#` stands before it."""

    before: frozenset[str]
    after: frozenset[str]
    hashed: bool


def _fits(offer: Offer, argument: Argument, text: str, at_hand: Sequence[Value]) -> list[tuple[Value, float]]:
    fits: list[tuple[Value, float]] = []
    for value in at_hand:
        score = _score(offer, argument, text, value) if _allowed(argument, value) else 0.0
        if fits and score and argument.kind == "id" and _JOIN.fullmatch(text[fits[-1][0].end : value.start]):
            score = max(score, fits[-1][1] * _JOINED)
        fits.append((value, score))
    return fits


def _score(offer: Offer, argument: Argument, text: str, value: Value) -> float:
    place = _place(text, value)
    nouns = offer.named - offer.acts
    if argument.kind == "money":
        return _money(place, value, nouns=nouns - argument.named, said=argument.named | offer.acts)
    if argument.kind == "count":
        return _count(place, argument, nouns=nouns)
    nouns |= argument.named
    if place.hashed or place.before & nouns or (language(text) == "zh" and place.after & nouns):
        return 1.0
    return 0.6 if len(value.text) >= _LONG else 0.3


def _money(place: _Place, value: Value, *, nouns: frozenset[str], said: frozenset[str]) -> float:
    if value.kind == "money":
        return 1.0
    if place.hashed or place.before & nouns:
        return 0.0
    return 0.95 if place.before & said else 0.55


def _count(place: _Place, argument: Argument, *, nouns: frozenset[str]) -> float:
    limits = "limit" in argument.named and bool(place.after & nouns)
    if limits or place.after & argument.described or place.before & argument.named:
        return 1.0
    return 0.0 if place.hashed or place.before & nouns else 0.5


def _allowed(argument: Argument, value: Value) -> bool:
    schema = argument.schema
    if argument.kind not in _NUMERIC or value.kind not in ("number", "money", "code"):
        return False
    if value.kind == "code":
        return argument.kind == "id" and schema.get("type") == "string"
    if value.kind == "money" and argument.kind != "money":
        return False
    amount = value.amount
    whole = schema.get("type") != "integer" or amount.is_integer()
    return whole and schema.get("minimum", amount) <= amount <= schema.get("maximum", amount)


def _place(text: str, value: Value) -> _Place:
    before = re.sub(r"\d[\d.,]*", ",", text[: value.start].rstrip(" #＃:："))
    return _Place(
        frozenset(word.term for word in words(_BREAK.split(before)[-1])[-_BEFORE:]),
        frozenset(word.term for word in words(_BREAK.split(text[value.end :])[0])[:_AFTER]),
        hashed=text[: value.start].rstrip().endswith(("#", "＃")),
    )
