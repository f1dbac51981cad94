"""A long text by pieces: its head and tail at the tool's boundary, and where it may be cut."""

from __future__ import annotations

import json
import unicodedata
from typing import Final

from agent.tools.registry import wire_name

READER: Final = "results.read"
"""The tool that reads a stored result on."""

HEAD_SHARE: Final = 4
"""The tail takes this part of what is kept, the head the rest: about three to one."""

_FARTHEST = 32  # characters that a cut moves at most: a longer sequence is no writing
_JOINER = "\u200d"
_REGIONAL = range(0x1F1E6, 0x1F200)  # letters of flags, which go in pairs
_TONES = range(0x1F3FB, 0x1F400)  # skin tones of emoji
_JAMO = range(0x1160, 0x1200)  # vowels and finals that join the Hangul letter before


def capped(text: str, *, cap: int, call_id: str, readable: bool) -> str:
    """The text when it has at most `cap` characters, else its head and tail with a line between.

    The line says how many characters are left out and how they are read, or that they cannot be. The result
    has at most `cap` characters beside that line.

    Args:
        text: The whole result.
        cap: Characters that are kept.
        call_id: The tool call's id, under which the whole is stored.
        readable: Whether the whole is stored and the run may call `READER`.
    """
    if len(text) <= cap:
        return text
    end = before(text, cap - cap // HEAD_SHARE)
    start = after(text, len(text) - cap // HEAD_SHARE)
    missing = f"{start - end} characters are left out here"
    if not readable:
        line = f"{missing}; they are not available."
    else:
        line = f"{missing}; to read on, call {wire_name(READER)} with call {_quoted(call_id)}, offset {end}."
    return f"{text[:end]}\n… {line} …\n{text[start:]}"


def before(text: str, index: int) -> int:
    """The last place up to `index` where the text can be cut, or `index` when there is none near."""
    nearest = range(index, max(index - _FARTHEST, 0), -1)
    return next((place for place in nearest if cuttable(text, place)), index)


def after(text: str, index: int) -> int:
    """The first place from `index` on where the text can be cut, or `index` when there is none near."""
    nearest = range(index, min(index + _FARTHEST, len(text)))
    return next((place for place in nearest if cuttable(text, place)), index)


def cuttable(text: str, index: int) -> bool:
    """Whether a cut before `text[index]` splits nothing that a reader sees as one character.

    Kept together: surrogate pairs, a letter with its combining marks, emoji sequences, flags, Hangul written
    in single letters, and the two characters of a line's end.
    """
    if index <= 0 or index >= len(text):
        return True
    left, right = text[index - 1], text[index]
    if "\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff":
        return False
    if unicodedata.category(right).startswith("M") or _JOINER in (left, right) or left + right == "\r\n":
        return False
    if ord(right) in _TONES or ord(right) in _JAMO:
        return False
    return not (ord(left) in _REGIONAL and ord(right) in _REGIONAL and _half_a_flag(text, index))


def _half_a_flag(text: str, index: int) -> bool:
    letters = 0
    while letters < index and ord(text[index - 1 - letters]) in _REGIONAL:
        letters += 1
    return letters % 2 == 1


def _quoted(call_id: str) -> str:
    return json.dumps(call_id, ensure_ascii=False)
