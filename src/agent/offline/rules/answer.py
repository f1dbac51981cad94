"""The answer from tool results: their fields in readable words, their citations kept, failures admitted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from agent.offline.rules.lexicon import LABELS
from agent.offline.rules.turn import Result
from agent.offline.rules.words import Language, concept, identifier

Record = Mapping[str, Any]

_ROWS = 10  # entries of a list that are told
_LENGTH = 700  # characters of a text that are quoted
_KEYS = ("number", "id", "order", "sku", "code", "customer", "name", "room")
_PASSAGE, _SOURCE = ("text", "content", "snippet", "passage"), ("citation", "source", "url")
_MONEY = frozenset({"total", "amount", "price", "refunded", "refund", "remaining", "balance", "cost"})
_REFUSED = re.compile(
    r"\b(?:refused|rejected|denied|declined|forbidden|not (?:allowed|permitted|approved))\b|拒绝|不允许|未获批准",
    re.I,
)
_FAILED = re.compile(
    r"^\W*(?:error|failed|failure|traceback|tool \S+ failed|cannot|could not|错误|失败)|\b(?:timed out|exception)\b",
    re.I,
)
_NOTHING = re.compile(
    r"^\W*(?:no\b.{0,40}\b(?:found|results?|match\w*)|nothing\b.{0,20}\bfound|none|null|没有找到|未找到|无结果)",
    re.I,
)

_SENTENCES: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "refused": "The call of {tool} was refused: {text}",
        "failed": "The call of {tool} failed: {text}",
        "nothing": "{tool} found nothing{asked}.",
        "more": "… and {count} more.",
        "yes": "yes",
        "no": "no",
    },
    "zh": {
        "refused": "{tool} 的调用被拒绝：{text}",
        "failed": "{tool} 的调用失败：{text}",
        "nothing": "{tool} 没有找到结果{asked}。",
        "more": "……还有 {count} 条。",
        "yes": "是",
        "no": "否",
    },
}


def answer(results: Sequence[Result], *, tongue: Language) -> str:
    """What the tools said, one paragraph a result, in a language; the values are quoted as they are."""
    return "\n\n".join(dict.fromkeys(_told(result, tongue) for result in results))


def _told(result: Result, tongue: Language) -> str:
    data = _data(result.text)
    complaint = _complaint(data)
    if complaint:
        kind = "refused" if _REFUSED.search(complaint) else "failed"
        return _SENTENCES[tongue][kind].format(tool=result.tool, text=_short(complaint))
    if _empty(data):
        asked = f" ({_asked(result.arguments)})" if _asked(result.arguments) else ""
        return _SENTENCES[tongue]["nothing"].format(tool=result.tool, asked=asked)
    return _value(data, _entity(result.tool), tongue)


def _data(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _complaint(data: Any) -> str | None:
    """The text of an error or a refusal, `None` for a result."""
    if isinstance(data, Mapping):
        record = cast("Record", data)
        error: Any = record.get("error")
        if error:
            return (
                str(cast("Record", error).get("message", error)) if isinstance(error, Mapping) else str(error)
            )
        failed = record.get("status") in ("error", "failed", "refused", "rejected", "denied")
        return (
            "; ".join(str(value) for value in record.values() if isinstance(value, str)) if failed else None
        )
    if isinstance(data, str) and (_FAILED.search(data[:200]) or _REFUSED.search(data[:200])):
        return data
    return None


def _empty(data: Any) -> bool:
    if data is None or data in ("", [], {}) or data == 0 and data is False:
        return True
    if isinstance(data, str):
        return bool(_NOTHING.match(data))
    if isinstance(data, Mapping):
        values: list[Any] = list(cast("Record", data).values())
        lists = [value for value in values if isinstance(value, list)]
        return len(lists) == 1 and not lists[0] and not any(isinstance(each, Mapping) for each in values)
    return False


def _value(data: Any, entity: str, tongue: Language) -> str:
    if isinstance(data, list):
        return _rows(cast("list[Any]", data), entity, tongue)
    if isinstance(data, Mapping):
        return _record(cast("Record", data), entity, tongue)
    return _short(str(data))


def _rows(rows: Sequence[Any], entity: str, tongue: Language) -> str:
    told = [f"- {_value(row, entity, tongue)}" for row in rows[:_ROWS]]
    if len(rows) > _ROWS:
        told.append(_SENTENCES[tongue]["more"].format(count=len(rows) - _ROWS))
    return "\n".join(told)


def _record(record: Record, entity: str, tongue: Language) -> str:
    """`Order 1001: status shipped, total 84.90 EUR`, or a passage with its citation, or a headed list."""
    text, source = _first(record, _PASSAGE), _first(record, _SOURCE)
    if text and source:
        return f"{_short(text)} [{source.strip('[]')}]"
    lists = [key for key, value in record.items() if _table(value)]
    head, fields = _head(record, entity, tongue)
    told = [f"{_label(key, tongue)} {value}" for key, value in _fields(record, {*lists, *fields}, tongue)]
    if head and len(lists) == 1:
        told += [f"{_label(key, tongue)} {_inline(record[key], tongue)}" for key in lists]
        lists = []
    colon, comma = ("：", "，") if tongue == "zh" else (": ", ", ")
    line = colon.join(part for part in (head, comma.join(told)) if part)
    return "\n".join([*([line] if line else []), *(_rows(record[key], entity, tongue) for key in lists)])


def _head(record: Record, entity: str, tongue: Language) -> tuple[str, set[str]]:
    for key in _KEYS:
        value = record.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            named = LABELS.get(entity, entity) if tongue == "zh" else entity.capitalize()
            if key in LABELS and key not in ("number", "id", "name", "code"):
                named = LABELS[key] if tongue == "zh" else key.upper() if key == "sku" else key.capitalize()
            return f"{named} {value}", {key}
    return "", set()


def _fields(record: Record, without: set[str], tongue: Language) -> Iterator[tuple[str, str]]:
    currency = record.get("currency")
    for key, value in record.items():
        if key in without or value is None or value in ("", []) or (key == "currency" and _priced(record)):
            continue
        if isinstance(currency, str) and key in _MONEY and isinstance(value, int | float | str):
            yield key, f"{value:.2f} {currency}" if isinstance(value, int | float) else f"{value} {currency}"
        else:
            yield key, _inline(value, tongue)


def _inline(value: Any, tongue: Language) -> str:
    """A value within a line: `2 × Kettle`, or nested fields in brackets."""
    if isinstance(value, bool):
        return _SENTENCES[tongue]["yes" if value else "no"]
    if isinstance(value, list):
        return ", ".join(_inline(each, tongue) for each in cast("list[Any]", value))
    if not isinstance(value, Mapping):
        return _short(str(value))
    record = cast("Record", value)
    name, count = (
        _first(record, ("name", "product", "title", "sku")),
        record.get("quantity", record.get("count")),
    )
    if name and count is not None:
        return f"{count} × {name}"
    return (
        "("
        + ", ".join(f"{_label(key, tongue)} {_inline(each, tongue)}" for key, each in record.items())
        + ")"
    )


def _label(key: str, tongue: Language) -> str:
    return LABELS.get(key, key) if tongue == "zh" else key.replace("_", " ")


def _priced(record: Record) -> bool:
    return any(key in _MONEY for key in record)


def _table(value: Any) -> bool:
    rows = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(rows) and all(isinstance(row, Mapping) for row in rows)


def _first(record: Record, keys: Sequence[str]) -> str | None:
    return next((record[key] for key in keys if isinstance(record.get(key), str) and record[key]), None)


def _entity(tool: str) -> str:
    return concept(identifier(tool)[0])


def _asked(arguments: str) -> str:
    data = _data(arguments)
    if not isinstance(data, Mapping):
        return ""
    return ", ".join(str(value) for value in cast("Record", data).values())


def _short(text: str) -> str:
    plain = text.strip()
    return plain if len(plain) <= _LENGTH else plain[:_LENGTH].rstrip() + " …"
