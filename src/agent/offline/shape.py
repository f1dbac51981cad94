"""JSON whose shape is not certain, read without failing: what is not there is empty."""

from __future__ import annotations

import json
from typing import Any, cast

Record = dict[str, Any]


def record(value: object) -> Record:
    """The value when it is a JSON object, else an empty one."""
    return cast("Record", value) if isinstance(value, dict) else {}


def entries(value: object) -> list[Any]:
    """The value when it is a JSON array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def records(value: object) -> list[Record]:
    """The objects in a JSON array; other entries are left out."""
    return [cast("Record", each) for each in entries(value) if isinstance(each, dict)]


def parsed(text: str) -> object:
    """The JSON value that a text holds, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
