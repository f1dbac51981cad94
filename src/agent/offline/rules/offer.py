"""The offered tools as the rules see them: weighted words, and arguments with their kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.offline.rules.lexicon import (
    ACTING,
    COUNTS,
    HANDING,
    MONEY,
    NUMBERED,
    READING,
    SEARCHED,
    SENTENCES,
)
from agent.offline.rules.schema import resolved
from agent.offline.rules.words import concept, identifier, terms
from agent.offline.shape import Record, entries, record

Kind = Literal[
    "choice", "flag", "money", "count", "id", "date", "email", "code", "phrase", "sentence", "other"
]

NAME, ARGUMENT, DESCRIPTION, DETAIL = 3.0, 1.0, 1.0, 0.5
"""How much a word counts in a tool's name, an argument's name, the tool's and an argument's description."""

_CALL_IDS = frozenset({"call", "call_id", "tool_call_id"})
_NAMED = re.compile(r"\b(?:names?|sku|title|e-?mail)\b|姓名|名称", re.IGNORECASE)
_DATE = re.compile(r"\b(?:dates?|day|when|until|since|deadline)\b|日期", re.IGNORECASE)
_COUNTED = re.compile(r"(?:how many|number of|maximum|at most)\b", re.IGNORECASE)
_EXAMPLE = re.compile(r"(?<![A-Za-z0-9-])[A-Z]{1,6}-?\d{2,}(?:-\d+)*(?![A-Za-z0-9-])")
_RETURNS = re.compile(r"(?:^|(?<=[.;:]))\s*Returns?\s+(?=[a-z])")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: `named` are the terms of its name, `described` those of its description too.

    `shape` matches values like the example that its description or schema gives, such as `C-0042`.
    """

    name: str
    schema: Record
    required: bool
    kind: Kind
    named: frozenset[str]
    described: frozenset[str]
    shape: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class Offer:
    """One tool: `weights` says how much each term counts, `named` are the content words of its name."""

    name: str
    description: str
    parameters: Record
    arguments: tuple[Argument, ...]
    weights: Mapping[str, float]
    named: frozenset[str]
    readings: frozenset[str]

    @property
    def acts(self) -> frozenset[str]:
        """The verbs of acting in the name; empty for a tool that only reads."""
        return self.named & ACTING

    @property
    def continues(self) -> bool:
        """Whether it works on an earlier call, whose id no person says; only results tell it."""
        return any(argument.name in _CALL_IDS for argument in self.required)

    @property
    def required(self) -> tuple[Argument, ...]:
        """The arguments that a call needs."""
        return tuple(argument for argument in self.arguments if argument.required)


def offers(tools: Sequence[Mapping[str, Any]]) -> list[Offer]:
    """The tools of a request, in its order."""
    return [_offer(tool["function"]) for tool in tools]


def _offer(function: Mapping[str, Any]) -> Offer:
    name, description = str(function["name"]), str(function.get("description") or "")
    parameters = record(function.get("parameters"))
    parts = identifier(name)
    named = frozenset(concept(part) for part in parts if part not in READING | HANDING) or frozenset(parts)
    arguments = arguments_of(parameters)
    weights = dict.fromkeys(terms(_RETURNS.sub(" ", description)), DESCRIPTION)
    for argument in arguments:
        for term in argument.described:
            weights[term] = max(weights.get(term, 0), ARGUMENT if term in argument.named else DETAIL)
    weights.update(dict.fromkeys(named, NAME))
    readings = frozenset(part for part in parts if part in READING)
    return Offer(name, description, parameters, arguments, weights, named=named, readings=readings)


def arguments_of(parameters: Record) -> tuple[Argument, ...]:
    """The arguments that a JSON schema of an object describes, in its order."""
    required = entries(parameters.get("required"))
    return tuple(
        _argument(name, resolved(record(schema), root=parameters), required=name in required)
        for name, schema in record(parameters.get("properties")).items()
    )


def _argument(name: str, schema: Record, *, required: bool) -> Argument:
    description = str(schema.get("description") or "")
    named = frozenset(concept(part) for part in identifier(name))
    options = " ".join(str(value) for value in entries(schema.get("enum")))
    described = named | terms(f"{description} {options}")
    shape = _shape(schema, description)
    return Argument(name, schema, required, _kind(schema, named, description, shape), named, described, shape)


def _kind(schema: Record, named: frozenset[str], description: str, shape: re.Pattern[str] | None) -> Kind:
    if "enum" in schema or "const" in schema:
        return "choice"
    type_ = schema.get("type", "string")
    if type_ in ("integer", "number"):
        return _number(named, description)
    if type_ == "string":
        return _string(schema, named, description, shape)
    return "flag" if type_ == "boolean" else "other"


def _number(named: frozenset[str], description: str) -> Kind:
    if named & COUNTS or _COUNTED.match(description):
        return "count"
    return "money" if named & MONEY or (terms(description) & MONEY and not named & NUMBERED) else "id"


def _string(schema: Record, named: frozenset[str], description: str, shape: re.Pattern[str] | None) -> Kind:
    form = schema.get("format")
    if form in ("date", "date-time") or (form is None and any(_DATE.fullmatch(name) for name in named)):
        return "date"
    if form == "email" or named <= {"email"}:
        return "email"
    if named & NUMBERED and shape is None and form is None:
        return "id"
    if named & SENTENCES:
        return "phrase" if named & SEARCHED and _NAMED.search(description) else "sentence"
    return "code" if shape is not None and not _NAMED.search(description) else "phrase"


def _shape(schema: Record, description: str) -> re.Pattern[str] | None:
    if isinstance(schema.get("pattern"), str):
        inner = schema["pattern"].removeprefix("^").removesuffix("$")
        try:
            return re.compile(rf"(?<![A-Za-z0-9])(?:{inner})(?![A-Za-z0-9])")
        except re.error:
            return None
    examples = " ".join(str(example) for example in entries(schema.get("examples")))
    example = _EXAMPLE.search(f"{examples} {description}")
    if example is None:
        return None
    letters = re.sub(r"\d+", r"\\d+", re.escape(example[0]))
    return re.compile(rf"(?<![A-Za-z0-9]){letters}(?![A-Za-z0-9])", re.IGNORECASE)
