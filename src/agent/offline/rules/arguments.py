"""Arguments of a call, found in what was said: by type, by pattern, and by the words around a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from agent.offline.rules.numbers import assign, fitting
from agent.offline.rules.offer import Argument, Offer
from agent.offline.rules.phrase import named_thing, sentence
from agent.offline.rules.values import Value, values
from agent.offline.rules.words import concept, identifier, terms, words
from agent.offline.shape import Record, entries

SURE, LIKELY, ASKED = 0.9, 0.5, 0.25
"""How well a number must fit: from another message or for an optional argument; by default; when asked."""


@dataclass(frozen=True, slots=True)
class Filled:
    """The arguments of a call that were found, and what is missing.

    `certain` counts required arguments that a pattern (not free text) found in the message itself,
    `remembered` those from other messages; `more` holds further values for a call's only required argument.
    """

    arguments: Mapping[str, Any]
    missing: tuple[Argument, ...]
    certain: int = 0
    remembered: int = 0
    more: tuple[Any, ...] = ()


def fill(
    offer: Offer,
    text: str,
    *,
    elsewhere: Sequence[str] = (),
    known: Mapping[str, Any] | None = None,
    asked: bool = False,
    today: date | None = None,
) -> Filled:
    """Find a tool's arguments.

    Args:
        offer: The tool.
        text: The message, or the part of it, that asks for the call.
        elsewhere: Other texts to look in for what is missing, the nearest first.
        known: Arguments that were found before; they stay.
        asked: Whether the message answers a question for an argument, so that less certain values count.
        today: The day that words like `tomorrow` count from.
    """
    wanted = [argument for argument in offer.arguments if argument.name not in (known or {})]
    here = _found(offer, wanted, text, today=today, floor=ASKED if asked else LIKELY)
    there: dict[str, Any] = {}
    for other in elsewhere:
        lacking = [each for each in wanted if each.required and each.name not in {**here, **there}]
        found = _found(offer, lacking, other, today=today, floor=SURE) if lacking else {}
        there |= {name: value for name, (value, certain) in found.items() if certain}
    complete = {**(known or {}), **{name: value for name, (value, _) in here.items()}, **there}
    return Filled(
        {each.name: complete[each.name] for each in offer.arguments if each.name in complete},
        tuple(argument for argument in offer.required if argument.name not in complete),
        certain=sum(here[each.name][1] for each in offer.required if each.name in here),
        remembered=len(there),
        more=_more(offer, text, complete, today=today),
    )


def option(options: Sequence[object], text: str) -> object | None:
    """The enumeration value that a text names, in English or Chinese; `None` when it names none."""
    said, lowered = {concept(word.text) for word in words(text)} | terms(text), text.lower()
    for value in options:
        parts = {concept(part) for part in identifier(str(value))}
        plain = rf"(?<![a-z0-9]){re.escape(str(value).lower())}(?![a-z0-9])"
        if (parts and parts <= said) or (value != "" and re.search(plain, lowered)):
            return value
    return None


def _found(
    offer: Offer, wanted: Sequence[Argument], text: str, *, today: date | None, floor: float
) -> dict[str, tuple[Any, bool]]:
    """By argument: the value, and whether a pattern found it."""
    at_hand = values(text, today=today)
    numbers = assign(offer, wanted, text, at_hand, floors=(floor, SURE))
    schemas = {argument.name: argument.schema for argument in wanted}
    found: dict[str, tuple[Any, bool]] = {
        name: (_cast(value, schemas[name]), True) for name, value in numbers.items()
    }
    left = [value for value in at_hand if value not in numbers.values()]
    for argument in wanted:
        first = next(_values(offer, argument, text, at_hand, left), None)
        if argument.name in found or first is None:
            continue
        found[argument.name] = first
        left = [value for value in left if value.text != first[0]]
        if argument.kind == "phrase":
            text = text.replace(str(first[0]), " " * len(str(first[0])), 1)
    return found


def _values(
    offer: Offer, argument: Argument, text: str, at_hand: Sequence[Value], left: Sequence[Value]
) -> Iterator[tuple[Any, bool]]:
    """What the text has for one argument that is no number, the best first."""
    match argument.kind:
        case "choice":
            chosen = argument.schema.get("const", option(entries(argument.schema.get("enum")), text))
            yield from [] if chosen is None else [(chosen, True)]
        case "flag":
            yield from [(True, True)] if argument.named & terms(text) else []
        case "date" | "email":
            yield from ((value.text, True) for value in left if value.kind == argument.kind)
        case "code":
            yield from ((code, True) for code in _coded(argument, text))
        case "phrase" if argument.required:
            yield from ((code, True) for code in _coded(argument, text))
            yield from _phrases(offer, argument, text, at_hand, left)
        case "sentence" if argument.required or argument.named & terms(text):
            said = sentence(offer, argument, text, at_hand)
            yield from [(said, False)] if said else []
        case _:
            return


def _phrases(
    offer: Offer, argument: Argument, text: str, at_hand: Sequence[Value], left: Sequence[Value]
) -> Iterator[tuple[Any, bool]]:
    kinds = ["quoted", *(["email"] if "email" in argument.described else []), "code"]
    yield from ((value.text, True) for kind in kinds for value in left if value.kind == kind)
    thing = named_thing(offer, argument, text, at_hand)
    yield from [(thing, False)] if thing else []


def _coded(argument: Argument, text: str) -> list[str]:
    return [match[0] for match in argument.shape.finditer(text)] if argument.shape else []


def _more(offer: Offer, text: str, found: Mapping[str, Any], *, today: date | None) -> tuple[Any, ...]:
    """Further values for the only required argument of a reading tool, as in `orders 1001 and 1002`."""
    if len(offer.required) != 1 or offer.acts:
        return ()
    argument = offer.required[0]
    others: list[Any] = _coded(argument, text) if argument.kind == "code" else []
    if argument.kind == "id":
        fit = fitting(offer, argument, text, values(text, today=today), floor=SURE)
        others = [_cast(value, argument.schema) for value in fit]
    return tuple(dict.fromkeys(each for each in others if each != found.get(argument.name)))


def _cast(value: Value, schema: Record) -> str | int | float:
    if schema.get("type") == "string":
        return value.text
    return int(value.amount) if value.amount.is_integer() else value.amount
