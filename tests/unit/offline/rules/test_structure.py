"""Values for JSON schemas."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from agent.offline.rules.structure import Material, structured

TODAY = date(2026, 4, 1)
TEXT = "URGENT: order 1001 arrived broken. Please refund 25 euros by 2026-05-01, mail jane@example.com"


def made(schema: dict[str, Any], text: str = TEXT, *, answer: str = "") -> Any:
    """A value of the schema."""
    return structured(schema, material=Material(text, answer, TODAY))


def field(name: str, **schema: Any) -> Any:
    """The value of the one field of an object."""
    value = made({"type": "object", "properties": {name: schema}, "required": [name]})
    assert list(value) == [name]
    return value[name]


@pytest.mark.parametrize(
    ("name", "schema", "expected"),
    [
        ("order", {"type": "integer"}, 1001),
        ("amount", {"type": "number"}, 25),
        ("due", {"type": "string", "format": "date"}, "2026-05-01"),
        ("email", {"type": "string"}, "jane@example.com"),
        ("priority", {"enum": ["low", "urgent"]}, "urgent"),
        ("kind", {"const": "ticket"}, "ticket"),
        ("urgent", {"type": "boolean"}, True),
        ("polite", {"type": "boolean"}, False),
        ("passed", {"type": "boolean"}, True),
        ("nothing", {"type": "null"}, None),
        ("title", {"type": "string"}, "URGENT: order 1001 arrived broken"),
        ("title", {"type": "string", "maxLength": 6}, "URGENT"),
        ("body", {"type": "string"}, TEXT),
        ("id", {"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
        ("site", {"type": "string", "format": "uri"}, "https://example.com/"),
        ("score", {"type": "integer", "minimum": 1, "maximum": 10}, 8),
        ("score", {"type": "number", "minimum": 0, "maximum": 1}, 0.8),
        ("level", {"type": "integer", "minimum": 1, "maximum": 5}, 3),
        ("level", {"type": "integer", "minimum": 7, "maximum": 7}, 7),
        ("level", {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}, 4),
        ("level", {"type": "integer", "minimum": 3000}, 3000),
        ("level", {"type": "integer", "maximum": -4}, -4),
        ("level", {"type": "integer", "minimum": 10, "maximum": 14, "multipleOf": 5}, 10),
        ("level", {"type": "number", "minimum": 0.5, "maximum": 0.9}, 0.7),
        ("issues", {"type": "array", "items": {"type": "string"}}, []),
        ("fatal_issues", {"type": "array", "items": {"type": "string"}, "minItems": 1}, [f"{TEXT} (1)"]),
        ("labels", {"type": "array", "items": {"enum": ["urgent", "refund", "spam"]}}, ["urgent", "refund"]),
        ("labels", {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 2}, ["a", "b"]),
        ("nested", {"type": "object", "properties": {"order": {"type": "integer"}}}, {"order": 1001}),
        ("nested", {"type": "object"}, {}),
        ("nested", {"properties": {"order": {"type": "integer"}}}, {"order": 1001}),
        ("body", {}, TEXT),
    ],
)
def test_field_is_filled_by_name_type_and_bounds(name: str, schema: dict[str, Any], expected: object) -> None:
    assert field(name, **schema) == expected


def test_day_and_time_are_of_today_where_the_text_has_none() -> None:
    schema = {
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date"},
            "moment": {"type": "string", "format": "date-time"},
        },
        "required": ["day", "moment"],
    }

    assert made(schema, "hello") == {"day": "2026-04-01", "moment": "2026-04-01T00:00:00Z"}


def test_neutral_value_is_taken_where_the_text_names_none() -> None:
    assert made({"enum": ["high", "normal", "low"]}, "hello") == "normal"
    assert made({"enum": ["billing", "shipping", "other"]}, "hello") == "other"
    assert made({"enum": ["billing", "shipping"]}, "hello") == "billing"
    assert made({"enum": ["billing", "shipping", "other"]}, "我要发票") == "billing"


def test_answer_goes_where_an_answer_belongs() -> None:
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}, "question": {"type": "string"}},
        "required": ["answer", "question"],
    }

    assert made(schema, "Where?", answer="Here.") == {"answer": "Here.", "question": "Where?"}
    assert made(schema, "Where?") == {"answer": "Where?", "question": "Where?"}


def test_optional_fields_with_a_default_are_left_out_and_nullable_ones_are_null() -> None:
    schema = {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "default": 5},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "order": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "report": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["note", "order", "report"],
    }

    assert made(schema, "order 1001") == {"note": None, "order": 1001, "report": "order 1001"}


def test_list_of_objects_has_one_for_each_clause() -> None:
    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "order": {"type": "integer"}},
            "required": ["title", "order"],
        },
    }

    assert made(schema, "Check order 1001. Then refund order 1002 and send a mail") == [
        {"title": "Check order 1001", "order": 1001},
        {"title": "Then refund order 1002", "order": 1002},
        {"title": "send a mail", "order": 0},
    ]


def test_short_text_is_padded_to_the_length_that_is_asked_for() -> None:
    assert made({"type": "string", "minLength": 12}, "abc") == "abc abc abc abc"
    assert made({"type": "string", "minLength": 3}, "") == "- -"


def test_recursive_schema_ends() -> None:
    schema = {
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                    "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
                },
                "required": ["name", "children", "next"],
            }
        },
        "$ref": "#/$defs/Node",
    }

    value = made(schema, "a")

    assert value["name"] == "a"
    assert value["next"] is None
    depth = 0
    while value["children"]:
        value, depth = value["children"][0], depth + 1
    assert 1 <= depth <= 8


class Mood(StrEnum):
    """A mood."""

    GOOD = "good"
    BAD = "bad"


class Step(BaseModel):
    """A step."""

    what: str = Field(min_length=1, max_length=200)
    minutes: int = Field(ge=5, le=90)
    mood: Mood


class Plan(BaseModel):
    """A plan with every kind of field."""

    title: str = Field(min_length=3, max_length=60)
    score: float = Field(gt=0, lt=1)
    priority: Literal["low", "high"]
    steps: list[Step] = Field(min_length=2, max_length=4)
    tags: list[Literal["a", "b", "c"]] = Field(min_length=1, max_length=2)
    due: date
    owner: str | None
    number: Annotated[int, Field(ge=100, multiple_of=25)]
    remark: str = "none"


@given(st.text(alphabet="ab1 .,;订单退货\n", max_size=80))
def test_every_text_makes_a_valid_value(text: str) -> None:
    value = made(Plan.model_json_schema(), text)

    plan = Plan.model_validate(value)
    assert 2 <= len(plan.steps) <= 4
    assert plan.owner is None
    assert "remark" not in value
