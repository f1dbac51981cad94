"""The words that the rules know, as data from `lexicon.json`.

A concept is one meaning; its English and Chinese forms count as the same word when a message is compared with
the names and descriptions of tools. Words that are not listed are compared as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

from agent.offline.shape import Record, record

_DATA: Record = json.loads(files("agent.offline.rules").joinpath("lexicon.json").read_text("utf-8"))


def _table(name: str) -> Mapping[str, str]:
    return MappingProxyType({key: str(value) for key, value in record(_DATA[name]).items()})


def _words(name: str) -> tuple[str, ...]:
    listed = _DATA["words"][name]
    return tuple((listed if isinstance(listed, str) else " ".join(listed)).split())


CONCEPTS = _table("concepts")
"""Each concept and its forms, separated by spaces."""
PHRASES = _table("phrases")
"""Phrases of several words, and the concept each stands for."""
RELATED = _table("related")
"""A concept and the one beside it: a message with the first is also, more weakly, about the second."""
CHINESE_READING = _table("chinese_reading")
"""Chinese verbs of reading and their English form in tool names."""
LABELS = _table("labels")
"""Names of fields and parts of tool names, as a Chinese answer calls them."""

STOPWORDS = frozenset((*_words("stopwords"), *_words("chinese_stopwords")))
"""Words that decide nothing."""
READING = frozenset(_words("reading"))
"""Verbs of reading: nearly every tool has one, so they hardly decide."""
ACTING = frozenset(_words("acting"))
"""Verbs of acting: a tool whose name has one is called only when the message says it."""
HANDING = frozenset(_words("handing"))
"""Parts of tool names that say nothing about what the tool is for."""
NEGATIONS = frozenset(_words("negations"))
"""Words that forbid the verb after them."""
GREETINGS = frozenset(_words("greetings"))
"""Words that greet."""
THANKS = frozenset(_words("thanks"))
"""Words that thank."""
POLITE = frozenset(_words("polite"))
"""Words beside a thank-you that ask for nothing."""
KNOWLEDGE = frozenset(_words("knowledge"))
"""Concepts of a tool that answers questions from texts."""

MONEY = frozenset(_words("money"))
"""Names of arguments that are amounts of money."""
COUNTS = frozenset(_words("counts"))
"""Names of arguments that count something."""
NUMBERED = frozenset(_words("numbered"))
"""Names of text arguments that are numbers of things."""
SENTENCES = frozenset(_words("sentences"))
"""Names of arguments that take free text."""
SEARCHED = frozenset(_words("searched"))
"""Names of arguments that say what to look for."""
REASONS = frozenset(_words("reasons"))
"""Names of arguments that say why."""
TOLD = frozenset(_words("told"))
"""Names of arguments that hold what is to be kept or passed on."""
SOURCES, TARGETS = frozenset(_words("sources")), frozenset(_words("targets"))
"""Names of arguments that follow `from` and `to`."""

SUMS = frozenset(_words("sums"))
"""Names of result fields that are amounts of money."""
VERDICTS = frozenset(_words("verdicts"))
"""Names of booleans that are true when nothing speaks against them."""
FINDINGS = frozenset(_words("findings"))
"""Names of lists of what is wrong, which stay empty when nothing is known to be."""
SCORES = frozenset(_words("scores"))
"""Names of numbers that judge."""
NEUTRAL = _words("neutral")
"""Enumeration values to take, in this order, when the text names none."""
ANSWERS = frozenset(_words("answers"))
"""Names of fields that hold the answer."""
TITLES = frozenset(_words("titles"))
"""Names of fields that hold a title."""
