"""JSON schemas as tools and response formats send them: references resolved, alternatives narrowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

Schema = Mapping[str, Any]


def resolved(schema: Schema, *, root: Schema) -> Schema:
    """The schema that a value is made for: no `$ref`, and of alternatives the first that is not null.

    Args:
        schema: The schema, possibly a reference into `root`.
        root: The whole schema, whose `$defs` (or `definitions`) hold what is referred to.
    """
    reference = schema.get("$ref")
    if isinstance(reference, str):
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return resolved({**_target(reference, root), **rest}, root=root)
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            rest = {name: value for name, value in schema.items() if name != key}
            chosen = [each for each in schema[key] if each.get("type") != "null"] or schema[key]
            merged = {name: value for each in _used(key, chosen) for name, value in each.items()}
            return resolved({**merged, **rest}, root=root)
    types = schema.get("type")
    if isinstance(types, list):
        kept = [each for each in cast("list[str]", types) if each != "null"]
        return {**schema, "type": kept[0] if kept else "null"}
    return schema


def nullable(schema: Schema) -> bool:
    """Whether `null` is a value of the schema."""
    if "null" in (schema.get("type"), *(schema["type"] if isinstance(schema.get("type"), list) else ())):
        return True
    return any(each.get("type") == "null" for key in ("anyOf", "oneOf") for each in schema.get(key) or [])


def _used(key: str, chosen: list[Schema]) -> list[Schema]:
    return chosen if key == "allOf" else chosen[:1]


def _target(reference: str, root: Schema) -> Schema:
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part, {}) if isinstance(found, Mapping) else {}
    return cast("Schema", found)
