"""Plain YAML scalars by the core schema of YAML 1.2 (section 10.3.2 of its specification).

What JSON cannot carry is refused: infinities, not-a-number, and integers that a double does not hold exactly
(RFC 8785 canonicalises numbers as doubles).
"""

from __future__ import annotations

import math
import re
from typing import Final

from assistants.loading.node import Scalar

_BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS: Final = frozenset(("null", "Null", "NULL", "~", ""))
_INT: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_UNENDING: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_EXACT: Final = 2**53 - 1
_DIGITS: Final = 40  # more can only be out of range; int() of thousands of digits is slow


def resolve(text: str) -> Scalar:
    """The value of an unquoted scalar.

    Raises:
        ValueError: It is a number that JSON cannot carry exactly.
    """
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _finite(text)
    if _UNENDING.fullmatch(text):
        raise ValueError(f"{text} is not a number that can be used here; leave the key out for no limit")
    return text


def is_text(text: str) -> bool:
    """Whether an unquoted scalar is text, rather than a number, a boolean or null."""
    patterns = (_INT, _FLOAT, _UNENDING)
    return (
        text not in _NULLS and text not in _BOOLS and not any(pattern.fullmatch(text) for pattern in patterns)
    )


def _integer(text: str) -> int:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    number = int(text, base) if len(text) <= _DIGITS else _EXACT + 1
    if abs(number) > _EXACT:
        raise ValueError(f"the number {text[:_DIGITS]} is too large; quote it if it is text")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:_DIGITS]} is too large; quote it if it is text")
    return number
