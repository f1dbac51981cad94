"""Token usage: the endpoint's own numbers, or an estimate that says that it is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.tools import BaseTool

from agent.tokens import ESTIMATED, PRIMING, of_messages, of_rule, of_text, of_tool

__all__ = ["ESTIMATED", "estimate"]


def estimate(
    messages: Sequence[BaseMessage], *, tools: Iterable[BaseTool | dict[str, Any]] = (), answer: str = ""
) -> UsageMetadata:
    """The usage of a call whose endpoint reports none, as `agent.tokens` counts (field case 86).

    A message that gets it says so: `response_metadata[ESTIMATED]` is true.

    Args:
        messages: The request.
        tools: What it offers.
        answer: Everything that the model wrote: text, reasoning, names and arguments of calls.
    """
    schemas = [of_tool(tool) for tool in tools]
    spent = PRIMING + of_messages(messages) + of_rule(messages, tools=bool(schemas)) + sum(schemas)
    written = of_text(answer)
    return UsageMetadata(input_tokens=spent, output_tokens=written, total_tokens=spent + written)
