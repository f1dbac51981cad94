"""JSON schemas as tools and response formats send them: references resolved, alternatives narrowed."""

from __future__ import annotations

from agent.offline.shape import Record, entries, record, records


def resolved(schema: Record, *, root: Record) -> Record:
    """The schema that a value is made for: no `$ref`, and of alternatives the first that is not null.

    Args:
        schema: The schema, possibly a reference into `root`.
        root: The whole schema, whose `$defs` (or `definitions`) hold what is referred to.
    """
    if isinstance(schema.get("$ref"), str):
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return resolved({**_target(schema["$ref"], root), **rest}, root=root)
    for key in ("anyOf", "oneOf", "allOf"):
        if records(schema.get(key)):
            return resolved(_narrowed(schema, key), root=root)
    types = entries(schema.get("type"))
    return {**schema, "type": next((each for each in types if each != "null"), "null")} if types else schema


def nullable(schema: Record) -> bool:
    """Whether `null` is a value of the schema."""
    alternatives = [*records(schema.get("anyOf")), *records(schema.get("oneOf")), schema]
    return any("null" in (each.get("type"), *entries(each.get("type"))) for each in alternatives)


def _narrowed(schema: Record, key: str) -> Record:
    rest = {name: value for name, value in schema.items() if name != key}
    parts = records(schema[key])
    chosen = [part for part in parts if part.get("type") != "null"] or parts
    used = chosen if key == "allOf" else chosen[:1]
    return {**{name: value for part in used for name, value in part.items()}, **rest}


def _target(reference: str, root: Record) -> Record:
    found = root
    for part in reference.removeprefix("#/").split("/"):
        found = record(found.get(part))
    return found
