"""Values in a text: numbers, money, dates, e-mail addresses, codes and quoted words, with their place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

Kind = Literal["email", "quoted", "date", "time", "code", "money", "number"]

_NUMBER = r"\d+(?:[.,]\d+)*"
_BEFORE = r"(?:€|\$|£|¥|￥|EUR|USD|GBP|CNY|RMB)"
_AFTER = r"(?:€|\$|£|euros?\b|eur\b|dollars?\b|usd\b|bucks\b|pounds?\b|gbp\b|cny\b|rmb\b|欧元|美元|英镑|人民币|元|块)"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*\.?"
_CHINESE_DATE = re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]")
_ISO_DATE = re.compile(r"(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?![\d-])")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+({_MONTH}),?\s+(\d{{4}})\b", re.I)
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.I)
_RELATIVE = {
    "day after tomorrow": 2, "tomorrow": 1, "today": 0, "yesterday": -1, "后天": 2, "明天": 1, "今天": 0, "昨天": -1,
}  # fmt: skip
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("email", re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")),
    ("quoted", re.compile(r"\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|《([^》]+)》|(?<!\w)'([^']+)'(?!\w)")),
    ("date", _CHINESE_DATE),
    ("date", _ISO_DATE),
    ("date", _DAY_FIRST),
    ("date", _MONTH_FIRST),
    (
        "date",
        re.compile(rf"\b(?:the )?(?:{'|'.join(w for w in _RELATIVE if w.isascii())})\b|[后明今昨]天", re.I),
    ),
    ("time", re.compile(r"(?<!\d)\d{1,2}:\d{2}(?::\d{2})?(?!\d)")),
    (
        "money",
        re.compile(
            rf"(?<![\w-])(?:{_BEFORE})\s?({_NUMBER})|(?<![A-Za-z0-9.-])({_NUMBER})\s?{_AFTER}", re.I | re.A
        ),
    ),
    ("code", re.compile(r"(?<![\w-])(?:[A-Za-z]{1,8}-?\d[\w-]*|[A-Z]{2,8}(?:-[A-Z0-9]+)+)(?![\w-])", re.A)),
    ("number", re.compile(_NUMBER)),
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value at `start` to `end` of a text; `text` is what it says, without quotes or currency."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def amount(self) -> float:
        """The value of a number or an amount of money; `1,234.50` and `25,50` are both understood."""
        plain = self.text
        if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", plain):
            plain = plain.replace(",", "")
        elif re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+", plain):
            plain = plain.replace(".", "").replace(",", ".")
        plain = plain.replace(",", ".")
        return float(plain) if plain.count(".") < 2 else float(plain.replace(".", ""))


def values(text: str, *, today: date | None = None) -> list[Value]:
    """The values in a text, in order; what is part of one is not another (no number within `C-0042`).

    Args:
        text: The text.
        today: The day that `tomorrow` counts from; without it such words stay as they are.
    """
    found: list[Value] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if all(match.end() <= value.start or match.start() >= value.end for value in found):
                found += _value(kind, match, today)
    return sorted(found, key=lambda value: value.start)


def _value(kind: Kind, match: re.Match[str], today: date | None) -> Iterator[Value]:
    if kind == "date":
        day = _day(match, today)
        if day is not None:
            yield Value(kind, day, match.start(), match.end())
        return
    groups = [group for group in match.groups() if group]
    yield Value(kind, groups[0] if groups else match[0], match.start(), match.end())


def _day(match: re.Match[str], today: date | None) -> str | None:
    if not match.groups():
        word = match[0].lower().removeprefix("the ")
        return (today + timedelta(days=_RELATIVE[word])).isoformat() if today else word
    parts = match.groups()
    if match.re is _DAY_FIRST:
        parts = (parts[2], _month(parts[1]), parts[0])
    elif match.re is _MONTH_FIRST:
        parts = (parts[2], _month(parts[0]), parts[1])
    try:
        return date(int(parts[0]), int(parts[1]), int(parts[2])).isoformat()
    except ValueError:
        return None


def _month(name: str) -> str:
    return str(_MONTHS.index(name[:3].lower()) + 1)
