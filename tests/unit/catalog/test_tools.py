"""What the catalog knows of tools."""

from __future__ import annotations

import enum
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from agent.tools.registry import Registry, ToolCall
from assistants.loading.tools import facts
from assistants.release import tool_digest
from tests.unit.catalog.deployment import registry


class Colour(enum.Enum):
    RED = "red"


class Box(BaseModel):
    side: int


def test_arguments_have_their_json_types() -> None:
    own = Registry()

    @own.tool("shapes.draw", risk="write", approval="side > 5")
    async def draw(
        *,
        side: int,
        scale: float | None,
        price: Decimal,
        name: Annotated[str, Field(max_length=5)],
        colour: Colour,
        mode: Literal["a", 1],
        box: Box,
        items: list[str],
        anything: object,
        solid: bool = True,
        call: ToolCall,
    ) -> str:
        """Draw a shape."""
        return f"{side}{scale}{price}{name}{colour}{mode}{box}{items}{anything}{solid}{call}"

    shape = facts(own)["shapes.draw"]
    assert [tool.run for tool in own] == [draw]
    assert shape.arguments == {
        "side": {"integer"},
        "scale": {"number", "null"},
        "price": {"number", "string"},
        "name": {"string"},
        "colour": {"string"},
        "mode": {"string", "integer"},
        "box": {"object"},
        "items": {"array"},
        "anything": frozenset(),
        "solid": {"boolean"},
    }
    numeric = {name for name in shape.arguments if shape.numeric(name)}
    assert numeric == {"side", "scale", "price", "mode"}
    assert {name for name in shape.arguments if shape.textual(name)} == {"price", "name", "colour", "mode"}
    assert (shape.risk, shape.approval) == ("write", "side > 5")


def test_facts_cover_the_registry() -> None:
    found = facts(registry)
    assert sorted(found) == registry.names()
    for tool in registry:
        assert found[tool.name].digest == tool_digest(tool)


def test_tool_without_arguments_has_none() -> None:
    own = Registry()

    @own.tool("clock.now", risk="read")
    async def now() -> str:
        """Tell the time."""
        return "noon"

    assert [tool.run for tool in own] == [now]
    assert facts(own)["clock.now"].arguments == {}
