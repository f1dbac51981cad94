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

from agent.context import AgentContext, Approval, ArgumentLimit
from agent.predicate import parse
from agent.tools.registry import Registry, Tool

_DECISIONS = (
    "approve",
    "reject",
)  # where a tool asks for approval and the assistant's file says nothing of it


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

        A tool that requires roles is usable by a run whose owner has all of them, as the door stamped it; an
        unattended run has none.
        """
        roles = frozenset(context.stamp.roles if context.stamp else ())
        usable = (tool for tool in registry.select(context.tools) if tool.scopes <= roles)
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
        return self.excess(tool, arguments)

    def excess(self, tool: Tool, arguments: Mapping[str, object]) -> Denial | None:
        """Why the arguments are beyond the assistant's limits; one that is left out counts as its default."""
        for name, limit in self.context.tool_limits.get(tool.name, {}).items():
            reason = _beyond(limit, arguments.get(name, _default(tool, name)))
            if reason:
                return Denial(
                    "argument_denied", f"{tool.name}: argument {name!r} {reason}; it was not executed."
                )
        return None

    def gate(self, tool: Tool, arguments: Mapping[str, object]) -> Approval | None:
        """The rule by which a person decides on this call first; `None` when nobody has to."""
        rule = self.context.approvals.get(tool.name)
        if rule is None and tool.approval is not None:
            rule = Approval(when=tool.approval, decisions=_DECISIONS)
        return rule if rule is not None and parse(rule.when).holds(arguments) else None

    def _offer(self) -> str:
        names = ", ".join(sorted(self.wires))
        return f"You can use: {names}." if names else "You have no tools; answer without."


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
