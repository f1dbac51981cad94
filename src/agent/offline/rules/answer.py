"""The answer from tool results: their fields in readable words, their citations kept, failures admitted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from agent.offline.rules.lexicon import LABELS, SUMS
from agent.offline.rules.turn import Result
from agent.offline.rules.words import Language, concept, identifier
from agent.offline.shape import Record, entries, parsed, record, records

_ROWS = 10  # entries of a list that are told
_LENGTH = 700  # characters of a text that are quoted
_BEGINNING = 200  # characters in which a text says that it is an error
_KEYS = ("number", "id", "order", "sku", "code", "customer", "name", "room")
_PASSAGE, _SOURCE = ("text", "content", "snippet", "passage"), ("citation", "source", "url")
_THING = ("name", "product", "title", "sku")
_OWN = {"number", "id", "order", "sku", *_SOURCE}
_UNNAMED = ("number", "id", "name", "code")
_REFUSED = re.compile(
    r"\b(?:refused|rejected|denied|declined|forbidden|not (?:allowed|permitted|approved))\b"
    r"|拒绝|不允许|未获批准",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"^\W*(?:error|failed|failure|traceback|tool \S+ failed|cannot|could not|错误|失败)"
    r"|\b(?:timed out|exception)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"^\W*(?:no\b.{0,40}\b(?:found|results?|match\w*)|nothing\b.{0,20}\bfound|none|null|没有找到|未找到|无结果)",
    re.IGNORECASE,
)
_SENTENCES: Mapping[Language, Mapping[str, str]] = MappingProxyType(
    {
        "en": {
            "refused": "The call of {tool} was refused: {text}",
            "failed": "The call of {tool} failed: {text}",
            "nothing": "{tool} found nothing for {text}.",
            "more": "… and {count} more.",
            "yes": "yes",
            "no": "no",
        },
        "zh": {
            "refused": "{tool} 的调用被拒绝：{text}",
            "failed": "{tool} 的调用失败：{text}",
            "nothing": "{tool} 没有找到结果（{text}）。",
            "more": "……还有 {count} 条。",
            "yes": "是",
            "no": "否",
        },
    }
)


def answer(results: Sequence[Result], *, tongue: Language) -> str:
    """What the tools said, one paragraph a result, in a language; the values are quoted as they are."""
    return "\n\n".join(dict.fromkeys(_Teller(result, tongue).told() for result in results))


@dataclass(frozen=True, slots=True)
class _Teller:
    result: Result
    tongue: Language

    def told(self) -> str:
        data = parsed(self.result.text)
        asked = [str(value) for value in record(parsed(self.result.arguments)).values()]
        complaint = _complaint(data)
        if complaint:
            return self.say("refused" if _REFUSED.search(complaint) else "failed", text=_short(_plain(data)))
        return self.say("nothing", text=", ".join(asked) or "—") if _empty(data) else self.value(data)

    def say(self, sentence: str, **parts: object) -> str:
        return _SENTENCES[self.tongue][sentence].format(tool=self.result.tool, **parts)

    def value(self, data: object) -> str:
        if entries(data):
            return self.rows(entries(data))
        return self.record(record(data)) if record(data) else self.inline(data)

    def rows(self, rows: Sequence[object]) -> str:
        told = [f"- {self.value(row)}" for row in rows[:_ROWS]]
        more = self.say("more", count=len(rows) - _ROWS)
        return "\n".join([*told, more] if len(rows) > _ROWS else told)

    def record(self, fields: Record) -> str:
        """`Order 1001: status shipped, total 84.90 EUR`, or a passage with its citation, or a headed list."""
        text, source = _first(fields, _PASSAGE), _first(fields, _SOURCE)
        if text and source:
            return f"{_short(text)} [{source.strip('[]')}]"
        tables = [name for name, value in fields.items() if _table(value)]
        key = next((each for each in _KEYS if isinstance(fields.get(each), str | int)), None)
        known = record(parsed(self.result.arguments)).values() if tables else ()
        told = [
            f"{self.label(name)} {value}"
            for name, value in self.fields(fields, {*tables, key})
            if not (tables and (fields[name] is False or fields[name] in known))
        ]
        colon, comma = ("：", "，") if self.tongue == "zh" else (": ", ", ")
        head = f"{self.heading(key)} {fields[key]}" if key else ""
        line = colon.join(part for part in (head, comma.join(told)) if part)
        return "\n".join([*([line] if line else []), *(self.rows(entries(fields[name])) for name in tables)])

    def heading(self, key: str) -> str:
        """What a record is called: by its key when that names a thing, else by the tool's."""
        named = concept(identifier(self.result.tool)[0]) if key in _UNNAMED else key
        if self.tongue == "zh":
            return LABELS.get(named, named)
        return named.upper() if named == "sku" else named.capitalize()

    def fields(self, fields: Record, without: set[str | None]) -> Iterator[tuple[str, str]]:
        currency = fields.get("currency") if fields.keys() & SUMS else None
        for name, value in fields.items():
            if name in without or value in (None, "", []) or (currency and name == "currency"):
                continue
            amount = currency and name in SUMS
            number = f"{value:.2f}" if amount and isinstance(value, int | float) else self.inline(value)
            yield name, f"{number} {currency}" if amount else number

    def inline(self, value: object) -> str:
        """A value within a line: `2 × Kettle`, `Jane (C-0042)`, or nested fields in brackets."""
        if isinstance(value, bool):
            return self.say("yes" if value else "no")
        if entries(value):
            return ", ".join(self.inline(each) for each in entries(value))
        fields = record(value)
        if not fields:
            return _short(str(value))
        thing, count = _first(fields, _THING), fields.get("quantity", fields.get("count"))
        if thing and (count is not None or "id" in fields):
            return f"{thing} ({fields['id']})" if count is None else f"{count} × {thing}"
        nested = (f"{self.label(name)} {told}" for name, told in self.fields(fields, set()))
        return f"({', '.join(nested)})"

    def label(self, name: str) -> str:
        return LABELS.get(name, name) if self.tongue == "zh" else name.replace("_", " ")


def _complaint(data: object) -> str | None:
    """The words of an error or a refusal, its code among them; `None` for a result."""
    fields = record(data)
    if fields.get("error") or fields.get("status") in ("error", "failed", "refused", "rejected", "denied"):
        return f"{fields.get('error', '')} {fields.get('status', '')} {_plain(data)}".strip()
    beginning = data[:_BEGINNING] if isinstance(data, str) else ""
    return beginning if _FAILED.search(beginning) or _REFUSED.search(beginning) else None


def _plain(data: object) -> str:
    """What an error says: its message, the message in it, or its text."""
    fields = record(data)
    nested = record(fields.get("error"))
    told = [nested.get("message"), fields.get("message"), fields.get("reason"), fields.get("error")]
    return str(next((each for each in told if each and not record(each)), data) if fields else data)


def _empty(data: object) -> bool:
    """Whether a result has nothing in it: no text, no entries, or an empty list beside what was asked for."""
    if isinstance(data, str):
        return not data or _NOTHING.match(data) is not None
    fields = record(data)
    nested = [value for value in fields.values() if entries(value) or record(value)]
    barren = [] in fields.values() and not nested and not fields.keys() & set(_KEYS)
    return data in (None, [], {}) or barren


def _table(value: object) -> bool:
    """Whether a list is told row by row: things of their own, not the lines of an order."""
    return any(row.keys() & _OWN and "quantity" not in row for row in records(value))


def _first(fields: Record, names: Sequence[str]) -> str | None:
    return next((fields[name] for name in names if isinstance(fields.get(name), str) and fields[name]), None)


def _short(text: str) -> str:
    plain = text.strip()
    return plain if len(plain) <= _LENGTH else f"{plain[:_LENGTH].rstrip()} …"
