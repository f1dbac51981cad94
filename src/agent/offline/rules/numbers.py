"""Which number in a text is meant for which argument: an order's, an amount, a count."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.offline.rules.offer import Argument, Offer
from agent.offline.rules.values import Value
from agent.offline.rules.words import language, words

_WINDOW = 3  # words before a number that may say what it is
_BREAK = re.compile(r"[,.;:?!，。；：？！、()]")
_JOIN = re.compile(r"\s*(?:,|、|&|,?\s*and|,?\s*or|和|与|或|及)\s*#?\s*", re.I)
_LONG = 3  # digits from which a bare number looks like an id


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
        (score, argument, value)
        for argument in arguments
        for value, score in zip(at_hand, _scores(offer, argument, text, at_hand), strict=True)
        if score >= floors[0 if argument.required else 1]
    ]
    found: dict[str, Value] = {}
    for _, argument, value in sorted(pairs, key=lambda pair: (-pair[0], pair[2].start)):
        if argument.name not in found and value not in found.values():
            found[argument.name] = value
    return found


def _scores(offer: Offer, argument: Argument, text: str, at_hand: Sequence[Value]) -> list[float]:
    scores: list[float] = []
    for index, value in enumerate(at_hand):
        score = _score(offer, argument, text, value) if _allowed(argument, value) else 0.0
        previous = at_hand[index - 1] if index else None
        if previous and score and argument.kind == "id" and _JOIN.fullmatch(text[previous.end : value.start]):
            score = max(score, scores[-1] * 0.95)
        scores.append(score)
    return scores


def _score(offer: Offer, argument: Argument, text: str, value: Value) -> float:
    before, after = _around(text, value)
    hashed = text[: value.start].rstrip().endswith(("#", "＃"))
    nouns = (offer.named - offer.acts) | argument.named
    if argument.kind == "money":
        return _money(
            value,
            hashed=hashed or bool(before & nouns - argument.named),
            said=before & (argument.named | offer.acts),
        )
    if argument.kind == "count":
        if value.kind != "number" or hashed:
            return 0.0
        if (
            after & argument.described
            or before & argument.named
            or (after & offer.named and "limit" in argument.named)
        ):
            return 1.0
        return 0.0 if before & nouns else 0.5
    if hashed or before & nouns or (language(text) == "zh" and after & nouns):
        return 1.0
    return 0.6 if len(value.text) >= _LONG else 0.3


def _money(value: Value, *, hashed: bool, said: frozenset[str]) -> float:
    if value.kind == "money":
        return 1.0
    if hashed or value.kind != "number":
        return 0.0
    return 0.95 if said else 0.55


def _allowed(argument: Argument, value: Value) -> bool:
    schema = argument.schema
    text_id = argument.kind == "id" and schema.get("type") == "string"
    if argument.kind not in ("money", "count", "id") or value.kind not in ("number", "money", "code"):
        return False
    if value.kind == "code":
        return text_id
    if value.kind == "money" and argument.kind != "money":
        return False
    amount = value.amount
    if schema.get("type") == "integer" and not amount.is_integer():
        return False
    return schema.get("minimum", amount) <= amount <= schema.get("maximum", amount)


def _around(text: str, value: Value) -> tuple[frozenset[str], frozenset[str]]:
    before = _BREAK.split(re.sub(r"\d[\d.,]*", ",", text[: value.start].rstrip(" #＃:：")))[-1]
    after = _BREAK.split(text[value.end :])[0]
    return (
        frozenset(word.term for word in words(before)[-_WINDOW:]),
        frozenset(word.term for word in words(after)[:1]),
    )
