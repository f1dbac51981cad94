"""A value for a JSON schema, filled from a text: what the text says where it says it, modest values elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor
from typing import Any

from agent.offline.rules.arguments import fill, option
from agent.offline.rules.lexicon import FINDINGS, NEUTRAL, SCORES, VERDICTS
from agent.offline.rules.offer import offers
from agent.offline.rules.schema import Schema, nullable, resolved
from agent.offline.rules.words import identifier, language, terms

_DEPTH = 8  # levels of nesting, so that a recursive schema ends
_TITLE = 80  # characters of a title taken from a text
_ANSWER = frozenset("answer reply response result report output conclusion feedback".split())
_TITLED = frozenset("title subject headline name topic heading label key".split())
_CLAUSE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+|,?\s+and\s+(?:then\s+)?")


@dataclass(frozen=True, slots=True)
class Material:
    """What a value is made of: the `text` that was said, the `answer` to it, the day of today."""

    text: str
    answer: str = ""
    today: date | None = None


def structured(schema: Schema, *, material: Material) -> Any:
    """A value of the schema.

    Enumerations, numbers, dates and codes come from the text where it has them; bounds, lengths and numbers of
    items are kept. Where the text says nothing a verdict is true, a list of problems empty, a score
    above the middle, an enumeration neutral.
    """
    return _Filler(schema, material).value("", schema, material.text, _DEPTH)


@dataclass(frozen=True, slots=True)
class _Filler:
    root: Schema
    material: Material

    def value(self, name: str, schema: Schema, text: str, depth: int) -> Any:
        wanted = resolved(schema, root=self.root)
        if "const" in wanted:
            return wanted["const"]
        if wanted.get("enum"):
            return _chosen(wanted["enum"], text)
        kind = wanted.get("type") or ("object" if "properties" in wanted else "string")
        parts = set(identifier(name))
        if kind == "object":
            return self._object(wanted, text, depth)
        if kind == "array":
            return self._array(parts, wanted, text, depth)
        if kind == "boolean":
            return bool(parts & VERDICTS or parts & terms(text))
        if kind in ("integer", "number"):
            return _number(parts, wanted, integer=kind == "integer")
        return None if kind == "null" else _text(parts, wanted, text, self.material)

    def _object(self, schema: Schema, text: str, depth: int) -> dict[str, Any]:
        properties: Mapping[str, Schema] = schema.get("properties") or {}
        required = schema.get("required") or []
        said = self._said(schema, text)
        filled: dict[str, Any] = {}
        for name, inner in properties.items():
            if name in said:
                filled[name] = said[name]
            elif depth <= 0 and (nullable(inner) or name not in required):
                continue
            elif name in required or "default" not in inner:
                empty = (
                    nullable(inner) and name not in said and not _free(name, resolved(inner, root=self.root))
                )
                filled[name] = None if empty else self.value(name, inner, text, depth - 1)
        return filled

    def _said(self, schema: Schema, text: str) -> dict[str, Any]:
        """The fields whose values stand in the text: numbers, dates, e-mail addresses, codes."""
        function = {"name": "fields", "parameters": {**schema, "$defs": self.root.get("$defs", {})}}
        offer = offers([{"function": function}])[0]
        found = fill(offer, text, today=self.material.today).arguments
        kinds = {argument.name: argument for argument in offer.arguments}
        return {
            name: value
            for name, value in found.items()
            if kinds[name].kind in ("money", "count", "id", "date", "email", "code")
            and not kinds[name].named & SCORES
            and _fits(value, kinds[name].schema)
        }

    def _array(self, parts: set[str], schema: Schema, text: str, depth: int) -> list[Any]:
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        items: Schema = schema.get("items") or {}
        wanted = resolved(items, root=self.root)
        if "enum" in wanted:
            rows: list[Any] = [each for each in wanted["enum"] if option([each], text) is not None]
            rows += [each for each in wanted["enum"] if each not in rows][: max(0, least - len(rows))]
        elif _singular(parts) & _singular(set(FINDINGS)) or depth <= 0:
            rows = []
        else:
            clauses = [clause.strip() for clause in _CLAUSE.split(text) if clause.strip()][: most or 5]
            rows = [self.value("", items, clause, depth - 1) for clause in clauses]
        while len(rows) < least:
            rows.append(self.value("", items, f"{text} ({len(rows) + 1})", depth - 1))
        return rows[:most] if most is not None else rows


def _chosen(options: Sequence[Any], text: str) -> Any:
    named = option(options, text)
    if named is not None:
        return named
    neutral = [each for word in NEUTRAL for each in options if str(each).lower() == word]
    return neutral[0] if neutral else options[0]


def _number(parts: set[str], schema: Schema, *, integer: bool) -> int | float:
    step = schema.get("multipleOf", 1 if integer else None)
    low, high = _bounds(schema, step or 1e-6)
    if low is None and high is None:
        return 0
    if low is None or high is None:
        return _whole(low if low is not None else high, step, up=low is not None)
    share = 0.8 if parts & SCORES else 0.5
    middle = low + share * (high - low)
    return min(_whole(middle, step, up=False) if middle > low else _whole(low, step, up=True), high)


def _bounds(schema: Schema, gap: float) -> tuple[float | None, float | None]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("exclusiveMinimum") is not None:
        low = schema["exclusiveMinimum"] + gap
    if schema.get("exclusiveMaximum") is not None:
        high = schema["exclusiveMaximum"] - gap
    return low, high


def _whole(value: Any, step: float | None, *, up: bool) -> int | float:
    if step is None:
        return value
    scaled = (ceil if up else floor)(value / step) * step
    return int(scaled) if float(scaled).is_integer() else scaled


def _text(parts: set[str], schema: Schema, text: str, material: Material) -> str:
    form = schema.get("format")
    if form == "date":
        return (material.today or date(1970, 1, 1)).isoformat()
    if form == "date-time":
        return f"{(material.today or date(1970, 1, 1)).isoformat()}T00:00:00Z"
    if form in ("email", "uuid", "uri"):
        return {"email": "nobody@example.com", "uuid": "0" * 8 + "-0000-4000-8000-" + "0" * 12}.get(
            form, "https://example.com/"
        )
    said = text.strip()
    if parts & {"language", "lang", "locale"}:
        said = language(said)
    elif parts & _ANSWER and material.answer:
        said = material.answer
    elif parts & _TITLED:
        said = _CLAUSE.split(said)[0].rstrip(".。")[:_TITLE].rstrip()
    return _sized(said, schema)


def _sized(text: str, schema: Schema) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    padded = text
    while len(padded) < least:
        padded = f"{padded} {text or '-'}".strip()
    return padded if most is None else padded[:most]


def _free(name: str, schema: Schema) -> bool:
    """Whether a field that may be null is worth a text: only what holds the answer."""
    return schema.get("type") == "string" and bool(set(identifier(name)) & _ANSWER)


def _fits(value: Any, schema: Schema) -> bool:
    if isinstance(value, int | float):
        low, high = _bounds(schema, 0)
        return (low is None or value >= low) and (high is None or value <= high)
    return len(str(value)) <= schema.get("maxLength", len(str(value)))


def _singular(parts: set[str]) -> set[str]:
    return {part.removesuffix("s") for part in parts}
