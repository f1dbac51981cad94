"""Values in a text: numbers, money, dates, e-mail addresses, codes and quoted words, with their place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

Kind = Literal["email", "quoted", "date", "time", "money", "code", "number"]

_NUMBER = r"\d+(?:[.,]\d+)*"
_BEFORE = r"(?:€|\$|£|¥|￥|EUR|USD|GBP|CNY|RMB)"
_WORDS = r"(?:euros?|eur|dollars?|usd|bucks|pounds?|gbp|cny|rmb)\b"
_AFTER = rf"(?:€|\$|£|{_WORDS}|欧元|美元|英镑|人民币|元|块)"
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_YEAR, _DAY = r"(?P<year>\d{4})(?!\d)", r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DAYS = {
    "the day after tomorrow": 2,
    "day after tomorrow": 2,
    "tomorrow": 1,
    "today": 0,
    "yesterday": -1,
    "后天": 2,
    "明天": 1,
    "今天": 0,
    "昨天": -1,
}
_RELATIVE = re.compile("|".join(rf"\b{word}\b" if word.isascii() else word for word in _DAYS), re.IGNORECASE)
_MONEY = rf"(?<![\w-])(?:{_BEFORE})\s?({_NUMBER})|(?<![A-Za-z0-9.-])({_NUMBER})\s?{_AFTER}"
_CODE = r"(?<![\w-])(?:[A-Za-z]{1,8}-?\d[\w-]*|[A-Z]{2,8}(?:-[A-Z0-9]+)+)(?![\w-])"
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("email", re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")),
    ("quoted", re.compile(r"\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|《([^》]+)》|(?<!\w)'([^']+)'(?!\w)")),
    ("date", re.compile(rf"(?<!\d){_YEAR}\s*年\s*(?P<month>\d{{1,2}})\s*月\s*{_DAY}\s*[日号]")),
    ("date", re.compile(rf"(?<![\d-]){_YEAR}-(?P<month>\d{{2}})-{_DAY}(?![\d-])")),
    ("date", re.compile(rf"(?<!\d){_DAY}\s+{_MONTH},?\s+{_YEAR}", re.IGNORECASE)),
    ("date", re.compile(rf"\b{_MONTH}\s+{_DAY},?\s+{_YEAR}", re.IGNORECASE)),
    ("date", _RELATIVE),
    ("time", re.compile(r"(?<!\d)\d{1,2}:\d{2}(?::\d{2})?(?!\d)")),
    ("money", re.compile(_MONEY, re.IGNORECASE | re.ASCII)),
    ("code", re.compile(_CODE, re.ASCII)),
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
            plain = plain.replace(".", "")
        plain = plain.replace(",", ".")
        return float(plain if plain.count(".") < 2 else plain.replace(".", ""))


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
        said = _day(match, today)
    else:
        said = next((group for group in match.groups() if group), match[0])
    if said:
        yield Value(kind, said, match.start(), match.end())


def _day(match: re.Match[str], today: date | None) -> str | None:
    if match.re is _RELATIVE:
        word = match[0].lower()
        return (today + timedelta(days=_DAYS[word])).isoformat() if today else word
    year, month, day = match["year"], match["month"].lower(), match["day"]
    number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
    try:
        return date(int(year), number, int(day)).isoformat()
    except ValueError:
        return None
