"""JSON schemas, resolved."""

from __future__ import annotations

from typing import Any

import pytest

from agent.offline.rules.schema import nullable, resolved

ROOT: dict[str, Any] = {
    "$defs": {
        "Status": {"type": "string", "enum": ["open", "shut"]},
        "Maybe": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Status"}]},
    }
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": "string"}),
        ({"$ref": "#/$defs/Status"}, {"type": "string", "enum": ["open", "shut"]}),
        (
            {"$ref": "#/$defs/Status", "description": "d"},
            {"type": "string", "enum": ["open", "shut"], "description": "d"},
        ),
        ({"$ref": "#/$defs/Maybe"}, {"type": "string", "enum": ["open", "shut"]}),
        ({"$ref": "#/$defs/Ghost"}, {}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            {"type": "integer", "default": None},
        ),
        ({"oneOf": [{"type": "null"}]}, {"type": "null"}),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, {"type": "integer", "minimum": 3}),
        ({"type": ["null", "string"]}, {"type": "string"}),
        ({"type": ["null"]}, {"type": "null"}),
    ],
)
def test_references_and_alternatives_are_narrowed(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert resolved(schema, root=ROOT) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "null"}, True),
        ({"type": ["string", "null"]}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"oneOf": [{"type": "string"}, {"type": ["null"]}]}, True),
        ({"type": "string"}, False),
        ({}, False),
    ],
)
def test_null_is_recognised(schema: dict[str, Any], *, expected: bool) -> None:
    assert nullable(schema) is expected
