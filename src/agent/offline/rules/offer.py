"""The offered tools as the rules see them: weighted words, and arguments with their kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from agent.offline.rules.lexicon import ACTING, HANDING, READING
from agent.offline.rules.schema import Schema, resolved
from agent.offline.rules.words import concept, identifier, terms

Kind = Literal[
    "choice", "flag", "money", "count", "id", "date", "email", "code", "phrase", "sentence", "other"
]

NAME, ARGUMENT, DESCRIPTION = 3.0, 1.0, 1.0
"""How much a word counts in a tool's name, in its arguments, in its description."""

_MONEY = frozenset({"amount", "price", "total", "budget", "euro", "dollar", "value", "money", "balance"})
_COUNT = frozenset(
    {"limit", "quantity", "count", "seat", "people", "size", "top", "night", "page", "max", "k"}
)
_NUMBERED = frozenset({"id", "number", "no", "order", "invoice", "ticket"})
_SENTENCE = frozenset(
    "query question text message reason note comment content body prompt task instruction description request fact "
    "feedback memory details".split()
)
_ENTITY = re.compile(
    r"\b(names?|sku|title|id|e-?mail|product|customer|city|place|person)\b|姓名|名称|编号", re.I
)
_DATE = re.compile(r"\b(dates?|day|when|until|since|deadline)\b|日期", re.I)
_EXAMPLE = re.compile(r"(?<![A-Za-z0-9-])[A-Z]{1,6}-?\d{2,}(?:-\d+)*(?![A-Za-z0-9-])")
_RETURNS = re.compile(r"(?:^|(?<=[.;:]))\s*Returns?\s+(?=[a-z])")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: `named` are the terms of its name, `described` those of its description too.

    `shape` matches values like the example that its description or schema gives, such as `C-0042`.
    """

    name: str
    schema: Schema
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
    parameters: Schema
    arguments: tuple[Argument, ...]
    weights: Mapping[str, float]
    named: frozenset[str]
    readings: frozenset[str]

    @property
    def acts(self) -> frozenset[str]:
        """The verbs of acting in the name; empty for a tool that only reads."""
        return self.named & ACTING

    @property
    def required(self) -> tuple[Argument, ...]:
        """The arguments that a call needs."""
        return tuple(argument for argument in self.arguments if argument.required)


def offers(tools: Sequence[Mapping[str, Any]]) -> list[Offer]:
    """The tools of a request, in its order."""
    return [_offer(tool["function"]) for tool in tools]


def _offer(function: Mapping[str, Any]) -> Offer:
    name, description = str(function["name"]), str(function.get("description") or "")
    parameters = cast("Schema", function.get("parameters") or {})
    arguments = tuple(_arguments(parameters))
    parts = identifier(name)
    named = frozenset(concept(part) for part in parts if part not in READING | HANDING) or frozenset(parts)
    weights = dict.fromkeys(terms(_RETURNS.sub(" ", description)), DESCRIPTION)
    for argument in arguments:
        for term in argument.described:
            weights[term] = max(weights.get(term, 0), ARGUMENT if term in argument.named else DESCRIPTION / 2)
    weights.update(dict.fromkeys(named, NAME))
    readings = frozenset(part for part in parts if part in READING)
    return Offer(name, description, parameters, arguments, weights, named=named, readings=readings)


def _arguments(parameters: Schema) -> list[Argument]:
    required = parameters.get("required") or []
    properties: Mapping[str, Schema] = parameters.get("properties") or {}
    return [
        _argument(name, resolved(schema, root=parameters), required=name in required)
        for name, schema in properties.items()
    ]


def _argument(name: str, schema: Schema, *, required: bool) -> Argument:
    description = str(schema.get("description") or "")
    named = frozenset(concept(part) for part in identifier(name))
    options = " ".join(str(value) for value in schema.get("enum") or [])
    described = named | terms(description) | terms(options)
    shape = _shape(schema, description)
    kind = _kind(name, schema, named=named, description=description, coded=shape is not None)
    return Argument(name, schema, required, kind, named, frozenset(described), shape)


def _kind(name: str, schema: Schema, *, named: frozenset[str], description: str, coded: bool) -> Kind:
    type_, form = schema.get("type"), schema.get("format")
    if "enum" in schema or "const" in schema:
        return "choice"
    if type_ == "boolean":
        return "flag"
    if type_ in ("integer", "number"):
        return _number(named, description)
    if type_ not in ("string", None):
        return "other"
    if form in ("date", "date-time") or (form is None and (named & {"date"} or _DATE.search(name))):
        return "date"
    if form == "email" or named == {"email"}:
        return "email"
    if named & _NUMBERED and not coded:
        return "id"
    if named & _SENTENCE:
        return "phrase" if _ENTITY.search(description) else "sentence"
    return "code" if coded and not _ENTITY.search(re.sub(r"\bid\b", "", description)) else "phrase"


def _number(named: frozenset[str], description: str) -> Kind:
    if named & _MONEY:
        return "money"
    if named & _COUNT or re.match(r"(how many|number of|maximum|at most)\b", description, re.I):
        return "count"
    return "money" if terms(description) & (_MONEY - {"value"}) and not named & {"order"} else "id"


def _shape(schema: Schema, description: str) -> re.Pattern[str] | None:
    if isinstance(schema.get("pattern"), str):
        try:
            inner = schema["pattern"].removeprefix("^").removesuffix("$")
            return re.compile(rf"(?<![A-Za-z0-9])(?:{inner})(?![A-Za-z0-9])")
        except re.error:
            return None
    given = " ".join(str(example) for example in schema.get("examples") or [])
    example = _EXAMPLE.search(f"{given} {description}")
    if example is None:
        return None
    letters = re.sub(r"\d+", r"\\d+", re.escape(example[0]))
    return re.compile(rf"(?<![A-Za-z0-9]){letters}(?![A-Za-z0-9])", re.I)
