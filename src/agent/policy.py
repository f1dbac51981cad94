"""The tool policy of one run: one object decides what the model sees and what is executed.

Default deny: a tool is usable when the assistant's file lists it and the deployment registers it. The same
object filters the request to the model and judges each call again when it is about to run, because hiding a
tool from a model does not keep the model, an edit or a forged state from naming it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from agent.context import AgentContext, ArgumentLimit
from agent.predicate import parse
from agent.tools.registry import Registry, Tool


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a call is not executed; `text` is what the model reads, `code` what a report counts."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Policy:
    """What the run may use: the context's tools that the registry knows, in the file's order."""

    context: AgentContext
    tools: tuple[Tool, ...]

    @classmethod
    def of(cls, context: AgentContext, registry: Registry) -> Policy:
        """The policy of a run under `context`.

        A run does not carry its owner's roles, so a tool that requires some is usable by nobody: a declared
        restriction fails closed instead of being forgotten.
        """
        usable = (tool for tool in registry.select(context.tools) if not tool.scopes)
        return cls(context=context, tools=tuple(usable))

    @property
    def wires(self) -> frozenset[str]:
        """The wire names that the model may be shown."""
        return frozenset(tool.wire for tool in self.tools)

    def find(self, wire: str) -> Tool | None:
        """The usable tool of that wire name, or `None`."""
        return next((tool for tool in self.tools if tool.wire == wire), None)

    def denial(self, wire: str, arguments: Mapping[str, object]) -> Denial | None:
        """Why this call must not run, or `None`. Names nothing but the run's own tools."""
        tool = self.find(wire)
        if tool is None:
            return Denial("tool_denied", f"There is no tool {wire!r} here. {self._offer()}")
        return self.excess(tool, arguments) or self.unapproved(tool, arguments)

    def excess(self, tool: Tool, arguments: Mapping[str, object]) -> Denial | None:
        """Why the arguments are beyond the assistant's limits; one that is left out counts as its default."""
        for name, limit in self.context.tool_limits.get(tool.name, {}).items():
            reason = _beyond(limit, arguments.get(name, _default(tool, name)))
            if reason:
                return Denial(
                    "argument_denied", f"{tool.name}: argument {name!r} {reason}; it was not executed."
                )
        return None

    def unapproved(self, tool: Tool, arguments: Mapping[str, object]) -> Denial | None:
        """Why the call waits for a person, within the limits or not."""
        if not self._needs_person(tool, arguments):
            return None
        return Denial(
            "approval_required",
            f"{tool.name} with these arguments needs a person's approval, which can't be asked for here; "
            "it was not executed. Tell the user so.",
        )

    def _offer(self) -> str:
        names = ", ".join(sorted(self.wires))
        return f"You can use: {names}." if names else "You have no tools; answer without."

    def _needs_person(self, tool: Tool, arguments: Mapping[str, object]) -> bool:
        rule = self.context.approvals.get(tool.name)
        when = rule.when if rule else tool.approval
        return when is not None and parse(when).holds(arguments)


def _default(tool: Tool, name: str) -> object:
    field = tool.arguments.model_fields.get(name)
    return None if field is None or field.is_required() else field.get_default(call_default_factory=True)


def _beyond(limit: ArgumentLimit, value: object) -> str | None:
    if value is None:
        return "must be given, because its values are limited"
    if limit.minimum is not None or limit.maximum is not None:
        outside = _outside(limit, value)
        if outside is not None:
            return outside
    if limit.prefix is not None and not str(value).startswith(limit.prefix):
        return f"must start with {limit.prefix!r}"
    if limit.one_of is not None and value not in limit.one_of:
        return f"must be one of {', '.join(limit.one_of)}"
    return None


def _outside(limit: ArgumentLimit, value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return "must be a number"
    if not (
        value.is_finite() if isinstance(value, Decimal) else isinstance(value, int) or math.isfinite(value)
    ):
        return "must be a finite number"
    if limit.minimum is not None and not value >= limit.minimum:
        return f"must be at least {limit.minimum:g}"
    if limit.maximum is not None and not value <= limit.maximum:
        return f"must be at most {limit.maximum:g}"
    return None
