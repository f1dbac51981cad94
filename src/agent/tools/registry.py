"""The tool registry: what a tool is, declared once, checked at import.

A tool is an async function. Its docstring is what the model reads, its annotated arguments are the schema;
an argument annotated with `ToolCall` receives the trusted facts of the call and is hidden from the model.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict, create_model

from agent.errors import ToolRegistrationError

Risk = Literal["read", "write", "dangerous"]
Run = Callable[..., Awaitable[object]]

_NAME = re.compile(r"[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+")
_WIRE_LENGTH = 64  # the longest function name that OpenAI-compatible endpoints accept


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The trusted facts of one call, from the stamped context and the server; never from the model.

    `key` is the idempotency key of the call's effect: tenant, thread and tool call id.
    """

    tenant: str
    principal: str
    thread: str
    call_id: str

    @property
    def key(self) -> str:
        """`tenant:thread:call id`, equal for every retry of one decision."""
        return f"{self.tenant}:{self.thread}:{self.call_id}"


@dataclass(frozen=True, slots=True)
class Tool:
    """One registered tool. `timeout` in seconds, `output_cap` in characters of the result's text."""

    name: str
    run: Run
    description: str
    arguments: type[BaseModel]
    call_argument: str | None
    risk: Risk
    timeout: float
    output_cap: int
    idempotent: bool
    approval: str | None
    scopes: frozenset[str]

    @property
    def wire(self) -> str:
        """The name on the wire: providers accept `[a-zA-Z0-9_-]` only."""
        return wire_name(self.name)

    def schema(self) -> dict[str, Any]:
        """The OpenAI function schema that the model is shown (and that a release's digest covers)."""
        raw: dict[str, Any] = self.arguments.model_json_schema()
        return convert_to_openai_tool(
            {"title": self.wire, "description": self.description, **{k: raw[k] for k in raw if k != "title"}}
        )


def wire_name(name: str) -> str:
    """`orders.refund` → `orders_refund`."""
    return name.replace(".", "_")


class Registry:
    """The tools of a deployment, by name; two tools may share neither a name nor a wire name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._wires: dict[str, Tool] = {}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def names(self) -> list[str]:
        """Every name, sorted."""
        return sorted(self._tools)

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or `None`."""
        return self._tools.get(name)

    def by_wire(self, wire: str) -> Tool | None:
        """The tool of that wire name, or `None`."""
        return self._wires.get(wire)

    def select(self, names: Iterable[str]) -> list[Tool]:
        """The registered tools among `names`, in that order; unknown names are left out (fails closed)."""
        return [self._tools[name] for name in names if name in self._tools]

    def tool(
        self,
        name: str,
        *,
        risk: Risk,
        timeout: float = 10.0,
        output_cap: int = 20_000,
        idempotent: bool | None = None,
        approval: str | None = None,
        scopes: Iterable[str] = (),
    ) -> Callable[[Run], Run]:
        """Register an async function as a tool.

        Args:
            name: Dotted name as files use it, such as `orders.refund`.
            risk: `read` never changes anything, `write` changes the tenant's data, `dangerous` more.
            timeout: Seconds until the call is given up.
            output_cap: Characters of result text that reach the model.
            idempotent: Whether repeating the call is harmless; by default true for reads only.
            approval: The predicate that applies where an assistant's file sets none.
            scopes: Roles that the owner of a run needs, all of them, for the tool to be usable; a schedule
                has none.

        Raises:
            ToolRegistrationError: The name is taken or unsafe, the function is not async, has no docstring,
                or has an argument without a type.
        """

        def register(run: Run) -> Run:
            entry = _declare(
                name,
                run,
                risk=risk,
                timeout=timeout,
                output_cap=output_cap,
                idempotent=risk == "read" if idempotent is None else idempotent,
                approval=approval,
                scopes=frozenset(scopes),
            )
            rival = self._wires.get(entry.wire)
            if rival is not None:
                raise ToolRegistrationError(
                    f"Tool {name!r} is registered twice or shares its wire name {entry.wire!r} with "
                    f"{rival.name!r}; choose another name."
                )
            self._tools[name] = entry
            self._wires[entry.wire] = entry
            return run

        return register


def _declare(
    name: str,
    run: Run,
    *,
    risk: Risk,
    timeout: float,
    output_cap: int,
    idempotent: bool,
    approval: str | None,
    scopes: frozenset[str],
) -> Tool:
    if not _NAME.fullmatch(name) or len(wire_name(name)) > _WIRE_LENGTH:
        raise ToolRegistrationError(
            f"Tool name {name!r} is not usable: expected dotted lower-case words such as 'orders.get', "
            f"at most {_WIRE_LENGTH} characters."
        )
    if not inspect.iscoroutinefunction(run):
        raise ToolRegistrationError(f"Tool {name!r} must be an async function.")
    description = inspect.getdoc(run)
    if not description:
        raise ToolRegistrationError(f"Tool {name!r} has no docstring; the model reads it as the description.")
    arguments, call_argument = _arguments(name, run)
    return Tool(
        name=name,
        run=run,
        description=description,
        arguments=arguments,
        call_argument=call_argument,
        risk=risk,
        timeout=timeout,
        output_cap=output_cap,
        idempotent=idempotent,
        approval=approval,
        scopes=scopes,
    )


def _arguments(name: str, run: Run) -> tuple[type[BaseModel], str | None]:
    hints = get_type_hints(run, include_extras=True)
    fields: dict[str, Any] = {}
    call_argument: str | None = None
    for parameter in inspect.signature(run).parameters.values():
        annotation = hints.get(parameter.name)
        if annotation is None:
            raise ToolRegistrationError(
                f"Tool {name!r}: argument {parameter.name!r} has no type; annotate it."
            )
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolRegistrationError(
                f"Tool {name!r}: argument {parameter.name!r} takes any number of values or has no name for a "
                "caller; name each argument."
            )
        if annotation is ToolCall and call_argument is None:
            call_argument = parameter.name
            continue
        if _holds_call(annotation):
            raise ToolRegistrationError(
                f"Tool {name!r}: argument {parameter.name!r} would let the model write the facts of its own "
                "call; annotate one argument with ToolCall and nothing else."
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (annotation, default)
    model = create_model(f"{wire_name(name)}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
    return model, call_argument


def _holds_call(annotation: object) -> bool:
    return annotation is ToolCall or any(_holds_call(part) for part in get_args(annotation))
