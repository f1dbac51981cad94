"""Free text for arguments: the thing that a message names, or the part of it that fits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.offline.rules.offer import Argument, Offer
from agent.offline.rules.values import Value
from agent.offline.rules.words import Word, words

_EDGES = " \t\n,.;:?!，。；：？！、\"'“”"
_LEADING = re.compile(
    r"^(?:(?:and|but|also|then|so|please|plus|tell me|can you|could you)\b|并且|然后|另外|还有|以及|同时|顺便|请|再)[\s,，]*",
    re.I,
)
_CAUSE = re.compile(
    r"(?:\b(?:because(?: of)?|since|due to|the reason is|reason:|as it|as they)\b|因为|由于|原因是|原因[:：]|理由是)\s*(?:that\s+)?(.+)$",
    re.I | re.S,
)
_WHY = frozenset({"reason", "why", "cause", "note", "comment"})
_SAID = frozenset({"text", "content", "message", "body", "fact", "memory", "note"})
_THAT = re.compile(r"^[\s:：,，]*(?:that\b)?[\s:：]*", re.I)


def named_thing(offer: Offer, argument: Argument, text: str, left: Sequence[Value]) -> str | None:
    """What a message names beside the words of the tool: `blue kettle` in `Is the blue kettle in stock?`.

    A run of capitalised words wins over the longest other one. `left` are values that belong to no other
    argument; numbers beside them break a run.
    """
    dropped = offer.named | argument.named
    runs = list(_runs(words(text), text, dropped, {value.start for value in left if value.kind == "number"}))
    if not runs:
        return None
    proper = [run for run in runs if run[0].start > 0 and run[0].text[:1].isupper()]
    best = max(proper or runs, key=lambda run: run[-1].end - run[0].start)
    return text[best[0].start : best[-1].end]


def sentence(offer: Offer, argument: Argument, text: str, left: Sequence[Value]) -> str:
    """The part of a message that fits a free-text argument: a reason, what is quoted, or all of it."""
    said = text.strip(_EDGES)
    if argument.named & _WHY and (cause := _CAUSE.search(said)):
        return cause[1].strip(_EDGES)
    if argument.named & _SAID:
        quoted = next((value.text for value in left if value.kind == "quoted"), None)
        return quoted or _told(offer, said)
    while (shorter := _LEADING.sub("", said)) != said:
        said = shorter
    return (
        said
        if argument.named & _WHY or not text.rstrip().endswith(("?", "？"))
        else f"{said}{text.rstrip()[-1]}"
    )


def _told(offer: Offer, said: str) -> str:
    """The message without the order to remember or send it."""
    rest = _LEADING.sub("", said)
    first = next(iter(words(rest)), None)
    if first is None or first.start or first.term not in offer.acts:
        return rest
    cut = _THAT.match(rest[first.end :])
    told = rest[first.end + (cut.end() if cut else 0) :]
    return told or rest


def _runs(
    found: Sequence[Word], text: str, dropped: frozenset[str], numbers: set[int]
) -> Iterator[list[Word]]:
    run: list[Word] = []
    for word in found:
        alien = (
            word.kind != "content"
            or word.term in dropped
            or (word.text[0].isdigit() and word.start not in numbers)
        )
        gap = text[run[-1].end : word.start] if run else ""
        if run and (alien or gap.strip(" -'")):
            yield run
            run = []
        if not alien and (run or not word.text[0].isdigit()):
            run.append(word)
    if run:
        yield run
