"""What to call for a message: its parts, the tool that serves each, and the arguments that were found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from agent.offline.rules.arguments import Filled, fill
from agent.offline.rules.choice import Choice, asks, choose, consult
from agent.offline.rules.offer import Argument, Offer
from agent.offline.rules.turn import Human, Result

_SPLIT = re.compile(
    r"[.!?;](?=\s|$)|[。？！；，\n]|,?\s+(?:and then|and also|and|then|also|plus)\s+|(?:并且|然后|另外|还有|以及|同时|顺便)",
    re.I,
)
_REMEMBERED = 6  # earlier human messages that are looked through for a missing argument


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
    earlier = [human.text for human in reversed(humans[:-1])][:_REMEMBERED]
    newest = humans[-1]
    if newest.asked:
        waiting = plan(humans[:-1], among=among, today=today)
        resumed = _resume(waiting, newest.text, among=among, today=today)
        if resumed:
            return resumed
    steps = [step for choice in _parts(newest.text, earlier, among, today) for step in _steps(choice)]
    return _once(_without_background(newest.text, steps))


def supply(step: Step, *, results: Sequence[Result]) -> Step:
    """The step with missing arguments taken from results of this turn, where a field or a code fits.

    Only a call that reads is completed so: what a result says never decides about an effect.
    """
    if step.offer.acts:
        return step
    found = dict(step.arguments)
    for argument in step.missing:
        for value in (each for result in results for each in _fields(argument, result.text)):
            found[argument.name] = value
            break
    missing = tuple(argument for argument in step.missing if argument.name not in found)
    return replace(step, arguments=found, missing=missing)


def finder(step: Step, text: str, *, among: Sequence[Offer], today: date | None) -> Step | None:
    """A reading call that may find what a step lacks: a customer's id by the name in the message."""
    for argument in step.missing:
        for offer in among:
            if offer.acts or offer is step.offer or not offer.named & argument.named:
                continue
            filled = fill(offer, text, today=today)
            if not filled.missing and offer.required:
                return Step(offer, filled.arguments)
    return None


def _parts(text: str, earlier: Sequence[str], among: Sequence[Offer], today: date | None) -> Iterator[Choice]:
    """The tools of a text's parts; a part that no tool serves belongs to the one before it."""
    spans = _merged(text, among, today)
    for start, end in spans:
        part = text[start:end]
        others = [text[:start] + " " + text[end:]] if len(spans) > 1 else []
        choice = choose(part, among=among, elsewhere=[*others, *earlier], today=today)
        choice = choice or consult(part, among=among)
        if choice:
            yield choice


def _merged(text: str, among: Sequence[Offer], today: date | None) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    served = False
    for start, end in _clauses(text):
        part = text[start:end]
        found = choose(part, among=among, today=today) or consult(part, among=among)
        if spans and not (found and served):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
        served = served or found is not None
    return spans


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _SPLIT.finditer(text):
        mark = 1 if match[0][0] in ".!?;。？！；，" else 0
        if text[start : match.start()].strip():
            yield start, match.start() + mark
        start = match.end()
    if text[start:].strip():
        yield start, len(text)


def _steps(choice: Choice) -> Iterator[Step]:
    filled: Filled = choice.filled
    yield Step(choice.offer, filled.arguments, filled.missing)
    for value in filled.more:
        yield Step(choice.offer, {**filled.arguments, choice.offer.required[0].name: value})


def _resume(waiting: Sequence[Step], text: str, *, among: Sequence[Offer], today: date | None) -> list[Step]:
    """The waiting steps with what the text adds; empty when it adds nothing or asks for something else."""
    if not any(step.missing for step in waiting):
        return []
    fresh = choose(text, among=among, today=today)
    if fresh and asks(text) and not fresh.filled.missing:
        return []
    open_steps = [step for step in waiting if step.missing]
    resumed = [_completed(step, text, today) for step in open_steps]
    return resumed if resumed != open_steps else []


def _completed(step: Step, text: str, today: date | None) -> Step:
    filled = fill(step.offer, text, known=step.arguments, asked=True, today=today)
    return replace(step, arguments=filled.arguments, missing=filled.missing)


def _without_background(text: str, steps: Sequence[Step]) -> list[Step]:
    """Without reading steps that only set the scene for a later one: it has all of their values."""
    if asks(text):
        return list(steps)
    return [
        step
        for index, step in enumerate(steps)
        if step.offer.acts or not any(_covers(later, step) for later in steps[index + 1 :])
    ]


def _covers(later: Step, step: Step) -> bool:
    return bool(step.arguments) and set(map(str, step.arguments.values())) <= set(
        map(str, later.arguments.values())
    )


def _once(steps: Sequence[Step]) -> list[Step]:
    return list({step.key: step for step in steps}.values())


def _fields(argument: Argument, text: str) -> Iterator[Any]:
    try:
        data: object = json.loads(text)
    except ValueError:
        data = text
    for key, value in _walk("", data):
        fits = argument.shape and isinstance(value, str) and argument.shape.fullmatch(value)
        if fits or (argument.shape is None and key == argument.name and value is not None):
            yield value


def _walk(key: str, data: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict):
        for name, value in data.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _walk(str(name), value)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(data, list):
        for value in data:  # pyright: ignore[reportUnknownVariableType]
            yield from _walk(key, value)
    else:
        yield key, data
