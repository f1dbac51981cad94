"""Calling a tool as the harness does: arguments checked by the schema, the trusted call added, JSON out."""

from __future__ import annotations

import json
from typing import Any

from agent.errors import ToolFailure
from agent.tools.registry import Registry, ToolCall


def call(tenant: str = "acme", *, call_id: str = "c1", thread: str = "t1") -> ToolCall:
    """The trusted facts of a call."""
    return ToolCall(tenant=tenant, principal=f"{tenant}/u1", thread=thread, call_id=call_id)


async def invoke(registry: Registry, name: str, by: ToolCall | None = None, /, **arguments: object) -> Any:
    """The tool's result after a round trip through JSON."""
    tool = registry.get(name)
    assert tool is not None
    checked = tool.arguments.model_validate(arguments)
    values: dict[str, Any] = {field: getattr(checked, field) for field in tool.arguments.model_fields}
    assert tool.call_argument is not None
    result = await tool.run(**values, **{tool.call_argument: by or call()})
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    assert len(text) <= tool.output_cap
    assert json.loads(text) == result
    return result


async def failure(registry: Registry, name: str, by: ToolCall | None = None, /, **arguments: object) -> str:
    """What the tool says when it cannot do what was asked."""
    try:
        result = await invoke(registry, name, by, **arguments)
    except ToolFailure as failed:
        return failed.detail
    raise AssertionError(f"{name} gave a result: {result!r}")
