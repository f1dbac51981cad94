"""Free text for arguments: the thing that a message names, or the part of it that fits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.offline.rules.lexicon import REASONS, SOURCES, TARGETS, TOLD
from agent.offline.rules.offer import Argument, Offer
from agent.offline.rules.values import Value
from agent.offline.rules.words import Word, terms, words

_EDGES = " \t\n,.;:?!，。；：？！、\"'“”"
_LEADING = re.compile(
    r"^(?:(?:(?:and|but|also|then|so|please|plus|tell me|can you|could you)\b"
    r"|并且|然后|另外|还有|以及|同时|顺便|请|再)[\s,，]*)+",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"(?:\b(?:because(?: of)?|since|due to|the reason is|reason:|as it|as they)\b"
    r"|因为|由于|原因是|原因[:：]|理由是)\s*(?:that\s+)?(.+)$",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT = re.compile(
    r"\b(?:about|regarding|concerning)\s+(.+)$|关于(.+?)(?:的?(?:规定|内容)?(?:是?怎么[说写]|是?什么|有哪些).*)?$",
    re.IGNORECASE | re.DOTALL,
)
_THAT = re.compile(r"[\s:：,，]*(?:that\b)?[\s:：]*", re.IGNORECASE)


def named_thing(offer: Offer, argument: Argument, text: str, at_hand: Sequence[Value]) -> str | None:
    """What a message names beside the words of the tool: `blue kettle` in `Is the blue kettle in stock?`.

    A run after `from` or `to` wins for an argument that is called so, then one of capitalised words, then the
    longest. Dates, money and other values (`at_hand`, except bare numbers) are not part of a run.
    """
    covered = [(value.start, value.end) for value in at_hand if value.kind not in ("number", "quoted")]
    runs = list(_runs(text, offer.named | argument.named, covered))
    cue = "from" if argument.named & SOURCES else "to" if argument.named & TARGETS else None
    cued = [run for run in runs if cue and text[: run[0].start].lower().rstrip().endswith((f" {cue}", cue))]
    proper = [run for run in runs if run[0].start > 0 and run[0].text[:1].isupper()]
    best = max(cued or proper or runs, key=lambda run: run[-1].end - run[0].start, default=None)
    return text[best[0].start : best[-1].end] if best else None


def sentence(offer: Offer, argument: Argument, text: str, at_hand: Sequence[Value]) -> str:
    """The part of a message that fits a free-text argument: a reason, what is quoted, or all of it.

    Of a message that names the tool (`What does the handbook say about returns?`) it is the topic.
    """
    said = _LEADING.sub("", text.strip())
    if argument.named & REASONS:
        cause = _CAUSE.search(said)
        return (cause[1] if cause else said).strip(_EDGES)
    if argument.named & TOLD:
        quoted = next((value.text for value in at_hand if value.kind == "quoted"), None)
        return quoted or _told(offer, said.strip(_EDGES))
    topic = _ABOUT.search(said.rstrip(_EDGES))
    if topic and offer.named & terms(said):
        return topic[1] or topic[2]
    asked = said[-1:] if said.endswith(("?", "？")) else ""
    return said.strip(_EDGES) + asked


def _told(offer: Offer, said: str) -> str:
    """The message without the order to remember or send it."""
    first = next(iter(words(said)), None)
    if first is None or first.start or first.term not in offer.acts:
        return said
    return _THAT.sub("", said[first.end :], count=1) or said


def _runs(text: str, dropped: frozenset[str], covered: Sequence[tuple[int, int]]) -> Iterator[list[Word]]:
    run: list[Word] = []
    for word in words(text):
        alien = word.kind != "content" or word.term in dropped
        alien = alien or any(start < word.end and word.start < end for start, end in covered)
        if run and (alien or text[run[-1].end : word.start].strip(" -'")):
            yield run
            run = []
        if not alien and (run or not word.text[0].isdigit()):
            run.append(word)
    if run:
        yield run
