"""What the catalog must know of each registered tool to check a file against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from agent.tools.registry import Risk, Tool
from assistants.release import tool_digest

_NAMES: Final[Mapping[type, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """One tool. `arguments` gives the JSON types of each; `approval` is its own predicate, if it has one."""

    name: str
    risk: Risk
    arguments: Mapping[str, frozenset[str]]
    approval: str | None
    digest: str

    def numeric(self, argument: str) -> bool:
        """Whether the argument takes numbers."""
        return not self.arguments[argument].isdisjoint(("number", "integer"))

    def textual(self, argument: str) -> bool:
        """Whether the argument takes text."""
        return "string" in self.arguments[argument]


def facts(tools: Iterable[Tool]) -> dict[str, ToolFacts]:
    """The facts of each tool, by name."""
    return {tool.name: _facts(tool) for tool in tools}


def _facts(tool: Tool) -> ToolFacts:
    schema: Schema = tool.arguments.model_json_schema()
    properties: Mapping[str, Schema] = schema.get("properties", {})
    return ToolFacts(
        name=tool.name,
        risk=tool.risk,
        arguments={name: frozenset(_types(part, schema)) for name, part in properties.items()},
        approval=tool.approval,
        digest=tool_digest(tool),
    )


def _types(part: Schema, whole: Schema) -> Iterable[str]:
    """The JSON types that a part of a schema allows, through unions and references."""
    if "$ref" in part:
        name = str(part["$ref"]).rpartition("/")[2]
        yield from _types(whole["$defs"][name], whole)
    for choice in cast("list[Schema]", [*part.get("anyOf", ()), *part.get("oneOf", ())]):
        yield from _types(choice, whole)
    named = part.get("type", ())
    yield from [named] if isinstance(named, str) else named
    yield from (_NAMES[type(value)] for value in part.get("enum", ()) if type(value) in _NAMES)
