"""Arguments of a call, found in what was said: by type, by pattern, and by the words around a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from agent.offline.rules.numbers import assign
from agent.offline.rules.offer import Argument, Offer
from agent.offline.rules.phrase import named_thing, sentence
from agent.offline.rules.schema import Schema
from agent.offline.rules.values import Value, values
from agent.offline.rules.words import identifier, concept, terms

SURE, LIKELY, ASKED = 0.9, 0.5, 0.25
"""How fitting a number must be: for an optional argument or from an earlier message, by default, when asked for."""


@dataclass(frozen=True, slots=True)
class Filled:
    """The arguments of a call that were found, and what is missing.

    `certain` counts required arguments that a pattern (not free text) found in the message itself,
    `remembered` those from other messages; `more` holds further values for a call's only required argument.
    """

    arguments: Mapping[str, Any]
    missing: tuple[Argument, ...]
    certain: int
    remembered: int
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
    here = _from(offer, wanted, text, today=today, floor=ASKED if asked else LIKELY)
    found = {name: each.value for name, each in here.items()}
    remembered = 0
    for other in elsewhere:
        lacking = [argument for argument in wanted if argument.required and argument.name not in found]
        there = _from(offer, lacking, other, today=today, floor=SURE)
        certain = {name: each.value for name, each in there.items() if each.certain}
        remembered += len(certain)
        found |= certain
    complete = {**(known or {}), **found}
    ordered = {each.name: complete[each.name] for each in offer.arguments if each.name in complete}
    return Filled(
        ordered,
        tuple(argument for argument in offer.required if argument.name not in ordered),
        certain=sum(here[each.name].certain for each in offer.required if each.name in here),
        remembered=remembered,
        more=_more(offer, text, ordered, today=today),
    )


def option(options: Sequence[object], text: str) -> object | None:
    """The enumeration value that a text names, in English or Chinese; `None` when it names none."""
    said, lowered = terms(text), text.lower()
    for value in options:
        if isinstance(value, str) and value:
            parts = {concept(part) for part in identifier(value)}
            if (parts and parts <= said) or re.search(
                rf"(?<![a-z0-9]){re.escape(value.lower())}(?![a-z0-9])", lowered
            ):
                return value
    return None


@dataclass(frozen=True, slots=True)
class _Found:
    value: Any
    certain: bool


def _from(
    offer: Offer, wanted: Sequence[Argument], text: str, *, today: date | None, floor: float
) -> dict[str, _Found]:
    at_hand = values(text, today=today)
    numbers = assign(offer, wanted, text, at_hand, floors=(floor, max(floor, SURE)))
    found = {
        name: _Found(_cast(value, _schema(wanted, name)), certain=True) for name, value in numbers.items()
    }
    left = [value for value in at_hand if value not in numbers.values()]
    for argument in wanted:
        if argument.name not in found:
            for each in _one(offer, argument, text, left):
                found[argument.name] = each
                left = [value for value in left if value.text != each.value]
                break
    return found


def _one(offer: Offer, argument: Argument, text: str, left: Sequence[Value]) -> Iterator[_Found]:
    if argument.kind == "choice":
        chosen = argument.schema.get("const", option(argument.schema.get("enum") or [], text))
        if chosen is not None:
            yield _Found(chosen, certain=True)
    elif argument.kind == "flag":
        if argument.named & terms(text):
            yield _Found(value=True, certain=True)
    elif argument.kind in ("date", "email"):
        yield from (_Found(value.text, certain=True) for value in left if value.kind == argument.kind)
    elif argument.kind == "code":
        yield from _coded(argument, text)
    elif argument.kind == "phrase":
        yield from _coded(argument, text)
        yield from _phrase(offer, argument, text, left)
    elif argument.kind == "sentence":
        said = sentence(offer, argument, text, left)
        if said:
            yield _Found(said, certain=False)


def _phrase(offer: Offer, argument: Argument, text: str, left: Sequence[Value]) -> Iterator[_Found]:
    if not argument.required:
        return
    kinds = ["quoted", *(["email"] if "email" in argument.described else []), "code"]
    yield from (_Found(value.text, certain=True) for kind in kinds for value in left if value.kind == kind)
    thing = named_thing(offer, argument, text, left)
    if thing:
        yield _Found(thing, certain=False)


def _coded(argument: Argument, text: str) -> Iterator[_Found]:
    if argument.shape is not None:
        yield from (_Found(match[0], certain=True) for match in argument.shape.finditer(text))


def _more(offer: Offer, text: str, found: Mapping[str, Any], *, today: date | None) -> tuple[Any, ...]:
    if len(offer.required) != 1 or offer.acts:
        return ()
    argument = offer.required[0]
    if argument.kind == "code":
        others: list[Any] = [each.value for each in _coded(argument, text)]
    elif argument.kind == "id":
        at_hand, others = values(text, today=today), []
        while taken := assign(offer, [argument], text, at_hand, floors=(SURE, SURE)):
            others.append(_cast(taken[argument.name], argument.schema))
            at_hand = [value for value in at_hand if value is not taken[argument.name]]
    else:
        return ()
    return tuple(dict.fromkeys(each for each in others if each != found.get(argument.name)))


def _schema(wanted: Sequence[Argument], name: str) -> Schema:
    return next(argument.schema for argument in wanted if argument.name == name)


def _cast(value: Value, schema: Schema) -> Any:
    if schema.get("type") == "string":
        return value.text
    return int(value.amount) if value.amount.is_integer() else value.amount
