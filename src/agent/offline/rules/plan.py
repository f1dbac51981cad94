"""What to call for a message: its parts, the tool that serves each, and the arguments that were found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from typing import Any

from agent.offline.rules.arguments import fill
from agent.offline.rules.choice import Choice, asks, choose, consult
from agent.offline.rules.offer import Argument, Offer
from agent.offline.rules.turn import Human, Result
from agent.offline.rules.words import concept, language, words
from agent.offline.shape import entries, parsed, record

_MARKS = ".!?;。？！；，\n"
_SPLIT = re.compile(
    r"[.!?;](?=\s|$)|[。？！；，\n]|,?\s+(?:and then|and also|and|then|also|plus)\s+"
    r"|并且|然后|另外|还有|以及|同时|顺便",
    re.IGNORECASE,
)
_DECLINED = re.compile(
    r"^\W*(?:(?:no(?!\.?\s*\d)|nope|never ?mind|forget (?:it|that)|stop|don't|do not)\b|不用|算了|不要|取消)",
    re.IGNORECASE,
)
_READ = 1_000  # characters that are read at either end of a long message
_CLAUSES = 20  # clauses of a message that are looked at
_REMEMBERED = 6  # earlier human messages that are looked through for a missing argument

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One call to make; it waits while required arguments are `missing`."""

    offer: Offer
    arguments: Mapping[str, Any]
    missing: tuple[Argument, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The tool and its arguments in canonical form."""
        return self.offer.name, json.dumps(self.arguments, sort_keys=True)


def plan(humans: Sequence[Human], *, among: Sequence[Offer], today: date | None = None) -> list[Step]:
    """The calls that the newest of some human messages asks for, in order, each once.

    What a part of the message lacks is looked for in its other parts and then in earlier messages. A message
    that answers the model's question completes the calls that the question was about.
    """
    if not humans or not among:
        return []
    humans = humans[-_REMEMBERED - 1 :]
    newest, before = Human(_ends(humans[-1].text), humans[-1].asked), humans[:-1]
    if newest.asked and not _DECLINED.search(newest.text):
        waiting = [step for step in plan(before, among=among, today=today) if step.missing]
        resumed = _resumed(waiting, newest.text, among=among, today=today)
        if resumed:
            return resumed
    earlier = tuple(_ends(human.text) for human in reversed(before))
    choices = _Reading(newest.text, earlier, among, today).choices()
    return once([step for choice in choices for step in _steps(choice)])


def once(steps: Sequence[Step]) -> list[Step]:
    """The steps without repeats, in order."""
    return list({step.key: step for step in steps}.values())


def supply(step: Step, *, results: Sequence[Result]) -> Step:
    """The step with missing arguments taken from results of this turn, where a field or a code fits.

    Only a call that reads is completed so: what a result says never decides about an effect.
    """
    if step.offer.acts:
        return step
    found = dict(step.arguments)
    for argument in step.missing:
        value = next((each for result in results for each in _fields(argument, parsed(result.text))), None)
        if value is not None:
            found[argument.name] = value
    missing = tuple(argument for argument in step.missing if argument.name not in found)
    return replace(step, arguments=found, missing=missing)


def finder(step: Step, text: str, *, among: Sequence[Offer], today: date | None) -> Step | None:
    """A reading call that may find what a step lacks: a customer's id by the name in the message."""
    for argument in step.missing:
        for offer in among:
            if offer.acts or not offer.required or not offer.named & argument.named:
                continue
            filled = fill(offer, _without(step.offer.named, text), today=today)
            if not filled.missing and (filled.certain or _names(filled.arguments, text)):
                return Step(offer, filled.arguments)
    return None


@dataclass(frozen=True, slots=True)
class _Reading:
    """A message's text, what else there is to look in, and the tools it may ask for."""

    text: str
    earlier: tuple[str, ...]
    among: Sequence[Offer]
    today: date | None

    def choices(self) -> list[Choice]:
        """The tools of the text's parts; a clause that no tool serves belongs to the one before it."""
        parts: list[tuple[Span, Choice | None]] = []
        for span in islice(_clauses(self.text), _CLAUSES):
            found = self.serve(span)
            if parts and not (found and parts[-1][1]):
                parts[-1] = ((parts[-1][0][0], span[1]), parts[-1][1] or found)
            else:
                parts.append((span, found))
        return [choice for choice in map(self.refilled, self.joined(parts)) if choice]

    def serve(self, span: Span) -> Choice | None:
        """The tool for a part of the text."""
        part = self.text[slice(*span)]
        places = (self.text, *self.earlier)
        choice = choose(part, among=self.among, elsewhere=places, today=self.today)
        return choice or consult(part, among=self.among)

    def joined(self, parts: list[tuple[Span, Choice | None]]) -> list[tuple[Span, Choice | None]]:
        """The parts, those that only set the scene for the next one joined with it."""
        kept: list[tuple[Span, Choice | None]] = []
        for span, choice in parts:
            if kept and not asks(self.text) and _background(kept[-1][1], choice):
                kept[-1] = ((kept[-1][0][0], span[1]), choice)
            else:
                kept.append((span, choice))
        return kept

    def refilled(self, part: tuple[Span, Choice | None]) -> Choice | None:
        """The tool of a part with arguments from all of it, then from the rest and from earlier messages."""
        (start, end), choice = part
        if choice is None:
            return self.serve((start, end))
        text, rest = self.text[start:end], f"{self.text[:start]} {self.text[end:]}"
        filled = fill(choice.offer, text, elsewhere=(rest, *self.earlier), today=self.today)
        return replace(choice, filled=filled)


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _READ else f"{text[:_READ]}\n{text[-_READ:]}"


def _clauses(text: str) -> Iterator[Span]:
    start = 0
    for match in _SPLIT.finditer(text):
        if text[start : match.start()].strip():
            yield start, match.start() + (match[0] in _MARKS)
        start = match.end()
    if text[start:].strip():
        yield start, len(text)


def _background(choice: Choice | None, later: Choice | None) -> bool:
    """Whether a reading part only sets the scene for the next one, which has all of its values."""
    if choice is None or later is None or choice.offer.acts or not choice.filled.arguments:
        return False
    values = {str(value) for value in choice.filled.arguments.values()}
    return values <= {str(value) for value in later.filled.arguments.values()}


def _steps(choice: Choice) -> Iterator[Step]:
    filled = choice.filled
    yield Step(choice.offer, filled.arguments, filled.missing)
    for value in filled.more:
        yield Step(choice.offer, {**filled.arguments, choice.offer.required[0].name: value})


def _resumed(waiting: Sequence[Step], text: str, *, among: Sequence[Offer], today: date | None) -> list[Step]:
    """The waiting steps with what a text adds; empty when it adds nothing or asks for something else."""
    fresh = choose(text, among=among, today=today)
    if fresh and asks(text) and not fresh.filled.missing:
        return []
    filled = [fill(step.offer, text, known=step.arguments, asked=True, today=today) for step in waiting]
    if all(len(each.missing) == len(step.missing) for each, step in zip(filled, waiting, strict=True)):
        return []
    return [
        Step(step.offer, each.arguments, each.missing) for each, step in zip(filled, waiting, strict=True)
    ]


def _names(arguments: Mapping[str, Any], text: str) -> bool:
    """Whether what was found looks like a name: capitalised within the text, or unknown Chinese."""
    found = [value for value in arguments.values() if isinstance(value, str)]
    return any(
        concept(value) == value
        if language(value) == "zh"
        else value[:1].isupper() and not text.startswith(value)
        for value in found
    )


def _without(named: frozenset[str], text: str) -> str:
    """The text with the words of a tool's name blanked out."""
    for word in words(text):
        if word.term in named:
            text = text[: word.start] + " " * (word.end - word.start) + text[word.end :]
    return text


def _fields(argument: Argument, data: object, key: str = "") -> Iterator[Any]:
    """The values in a result that fit an argument: codes of its shape, or a field of its name."""
    for name, value in record(data).items():
        yield from _fields(argument, value, name)
    for value in entries(data):
        yield from _fields(argument, value, key)
    if argument.shape is not None:
        yield from [data] if isinstance(data, str) and argument.shape.fullmatch(data) else []
    elif key == argument.name and isinstance(data, str | int | float):
        yield data
