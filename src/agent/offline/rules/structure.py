"""A value for a JSON schema, filled from a text: what it says where it says it, modest values elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor
from types import MappingProxyType

from agent.offline.rules.arguments import fill, option
from agent.offline.rules.lexicon import ANSWERS, FINDINGS, NEUTRAL, SCORES, TITLES, VERDICTS
from agent.offline.rules.offer import Argument, Offer, arguments_of
from agent.offline.rules.schema import nullable, resolved
from agent.offline.rules.words import identifier, terms
from agent.offline.shape import Record, entries, record

_DEPTH = 8  # levels of nesting, so that a recursive schema ends
_ITEMS = 5  # entries of a list that a text is cut into
_TITLE = 80  # characters of a title taken from a text
_CLAUSE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+|,?\s+and\s+(?:then\s+)?")
_SAID = ("money", "count", "id", "date", "email", "code")
_FORMS = MappingProxyType(
    {
        "email": "nobody@example.com",
        "uuid": "00000000-0000-4000-8000-000000000000",
        "uri": "https://example.com/",
    }
)


@dataclass(frozen=True, slots=True)
class Material:
    """What a value is made of: the `text` that was said, the `answer` to it, the day of today."""

    text: str
    answer: str = ""
    today: date | None = None


def structured(schema: Record, *, material: Material) -> object:
    """A value of the schema.

    Enumerations, numbers, dates and codes come from the text where it has them; bounds, lengths and numbers
    of items are kept. Where the text says nothing a verdict is true, a list of problems empty, a score above
    the middle, an enumeration neutral.
    """
    return _Filler(schema, material).value("", schema, material.text, _DEPTH)


@dataclass(frozen=True, slots=True)
class _Filler:
    root: Record
    material: Material

    def value(self, name: str, schema: Record, text: str, depth: int) -> object:
        wanted = resolved(schema, root=self.root)
        if "const" in wanted:
            return wanted["const"]
        if entries(wanted.get("enum")):
            return _chosen(wanted["enum"], text)
        parts = set(identifier(name))
        kind = wanted.get("type", "object" if "properties" in wanted else "string")
        if kind in ("object", "array"):
            make = self._object if kind == "object" else self._array
            return make(parts, wanted, text, depth)
        return None if kind == "null" else self._plain(kind, parts, wanted, text)

    def _plain(self, kind: str, parts: set[str], schema: Record, text: str) -> object:
        if kind == "boolean":
            return bool(parts & (VERDICTS | terms(text)))
        if kind in ("integer", "number"):
            return _number(parts, schema, step=1 if kind == "integer" else None)
        return self._text(parts, schema, text)

    def _object(self, _: set[str], schema: Record, text: str, depth: int) -> Record:
        said = self._said(schema, text)
        required = entries(schema.get("required"))
        filled: Record = {}
        for name, inner in record(schema.get("properties")).items():
            optional = name not in required and (depth <= 0 or "default" in inner)
            if name in said:
                filled[name] = said[name]
            elif nullable(inner) and (depth <= 0 or not set(identifier(name)) & ANSWERS):
                filled[name] = None
            elif not optional:
                filled[name] = self.value(name, inner, text, depth - 1)
        return filled

    def _said(self, schema: Record, text: str) -> Record:
        """The fields whose values stand in the text: numbers, dates, e-mail addresses, codes."""
        arguments = arguments_of({**schema, "$defs": self.root.get("$defs")})
        offer = Offer("", "", schema, arguments, {}, named=frozenset(), readings=frozenset())
        found = fill(offer, text, today=self.material.today).arguments
        return {
            argument.name: found[argument.name]
            for argument in arguments
            if argument.name in found and argument.kind in _SAID and _fits(argument, found[argument.name])
        }

    def _array(self, parts: set[str], schema: Record, text: str, depth: int) -> list[object]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", _ITEMS)
        items = record(schema.get("items"))
        options = entries(resolved(items, root=self.root).get("enum"))
        if options:
            said = [each for each in options if option([each], text) is not None]
            return [*said, *(each for each in options if each not in said)][
                : max(least, min(len(said), most))
            ]
        clauses = [clause.strip() for clause in _CLAUSE.split(text) if clause.strip()]
        if parts & FINDINGS or depth <= 0:
            clauses = []
        clauses += [f"{text} ({number})".strip() for number in range(len(clauses) + 1, least + 1)]
        return [self.value("", items, clause, depth - 1) for clause in clauses[: max(least, most)]]

    def _text(self, parts: set[str], schema: Record, text: str) -> str:
        form = schema.get("format")
        if form in ("date", "date-time"):
            day = (self.material.today or date(1970, 1, 1)).isoformat()
            return day if form == "date" else f"{day}T00:00:00Z"
        said = text.strip()
        if parts & ANSWERS and self.material.answer:
            said = self.material.answer
        elif parts & TITLES:
            said = _CLAUSE.split(said)[0].rstrip(".。")[:_TITLE].rstrip()
        return _FORMS.get(str(form)) or _sized(said, schema)


def _chosen(options: Sequence[object], text: str) -> object:
    named = option(options, text)
    neutral = (each for word in NEUTRAL for each in options if str(each).lower() == word)
    return next(neutral, options[0]) if named is None else named


def _number(parts: set[str], schema: Record, *, step: float | None) -> int | float:
    """A number within the bounds: a score at four fifths of them, others in the middle."""
    step = schema.get("multipleOf", step)
    low, high = _bounds(schema, step or 1e-6)
    if low is None or high is None:
        return _stepped(high if low is None else low, step, up=low is not None)
    middle = low + (high - low) * (0.8 if parts & SCORES else 0.5)
    down = _stepped(middle, step, up=False)
    return down if down >= low else _stepped(low, step, up=True)


def _bounds(schema: Record, gap: float) -> tuple[float | None, float | None]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + gap
    if "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - gap
    return low, high


def _stepped(value: float | None, step: float | None, *, up: bool) -> int | float:
    if not value or step is None:
        return value or 0
    stepped = (ceil if up else floor)(value / step) * step
    return int(stepped) if float(stepped).is_integer() else stepped


def _sized(text: str, schema: Record) -> str:
    padded = text
    while len(padded) < schema.get("minLength", 0):
        padded = f"{padded} {text or '-'}".strip()
    return padded[: schema.get("maxLength")]


def _fits(argument: Argument, value: object) -> bool:
    """Whether a value from the text may stand in the field: a score is judged, never quoted."""
    if not isinstance(value, int | float):
        return len(str(value)) <= argument.schema.get("maxLength", len(str(value)))
    low, high = _bounds(argument.schema, 1e-6)
    return not argument.named & SCORES and (low or value) <= value <= (high or value)
