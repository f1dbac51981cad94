"""What the middleware does with what a tool gives back; the rest is proven on the whole graph."""

from __future__ import annotations

from typing import Any, cast

import pytest
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.middleware.history import History
from agent.tools.registry import Registry

pytestmark = pytest.mark.anyio


async def passed(result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
    async def handler(_: ToolCallRequest) -> ToolMessage | Command[Any]:
        return result

    return await History(Registry()).awrap_tool_call(cast("ToolCallRequest", None), handler)


async def test_a_command_passes_untouched() -> None:
    command: Command[Any] = Command(update={"messages": []})
    assert await passed(command) is command


async def test_a_sound_result_is_the_same_object_and_a_broken_one_is_made_sound() -> None:
    fine = ToolMessage("fine", tool_call_id="a")
    assert await passed(fine) is fine
    made = await passed(ToolMessage("x\x00", tool_call_id="a"))
    assert isinstance(made, ToolMessage)
    assert made.content == "x\ufffd"
