"""What an assistant's file must fulfil beyond its form: the things it names exist and fit each other.

Each rule is a function over one draft and gives its problems. A rule that concludes from what is absent asks
first whether the draft can be trusted there, so that one mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from agent import predicate
from assistants.errors import Problem
from assistants.loading.node import Path, Place
from assistants.loading.suggestion import did_you_mean
from assistants.loading.tools import ToolFacts
from assistants.loading.validation import Draft
from assistants.loading.wording import dotted, shown
from assistants.spec import ArgumentSpec, AssistantSpec

Assistant = Draft[AssistantSpec]
Tools = Mapping[str, ToolFacts]


def identified(draft: Assistant, *, file: str) -> Iterator[Problem]:
    """The name is the file's."""
    expected = PurePosixPath(file).stem
    name = draft.tree.children.get("name")
    if draft.spec.name == expected:
        return
    if name is not None and draft.spec.name is not None:
        yield name.place.problem(
            f"name: expected {expected!r} as the file is called, got {shown(name.value)}"
        )
    elif draft.trusts("name"):
        yield draft.tree.place.problem(f"name is missing; expected {expected!r} as the file is called")


def deployed(draft: Assistant, *, tools: Tools, graphs: Collection[str]) -> Iterator[Problem]:
    """What it names exists in the deployment and fits together."""
    yield from _runnable(draft, graphs=graphs)
    yield from _known_tools(draft, tools=tools)
    yield from _fitting_limits(draft, tools=tools)
    yield from _fitting_approvals(draft, tools=tools)


def _runnable(draft: Assistant, *, graphs: Collection[str]) -> Iterator[Problem]:
    """A graph of the deployment and a model are named."""
    spec = draft.spec
    if spec.graph is not None and spec.graph not in graphs:
        yield _place(draft, "graph").problem(
            f"graph: unknown graph {shown(spec.graph)}{did_you_mean(spec.graph, graphs)}"
        )
    if spec.graph is None and draft.trusts("graph"):
        yield draft.tree.place.problem(f"graph is missing{did_you_mean('', graphs)}")
    if spec.model is None and draft.trusts("model"):
        yield draft.tree.place.problem("model is missing; an assistant without a model cannot answer")


def known_secret(draft: Assistant, *, secrets: Collection[str] | None) -> Iterator[Problem]:
    """The secret that the model's key names is one of the tenant's (`None`: they are not known)."""
    model = draft.spec.model
    name = model.api_key.removeprefix("secret:") if model is not None and model.api_key is not None else None
    if name is not None and secrets is not None and name not in secrets:
        yield _place(draft, "model", "api_key").problem(
            f"model.api_key: the tenant's file has no such secret{did_you_mean(name, secrets)}"
        )


def _known_tools(draft: Assistant, *, tools: Tools) -> Iterator[Problem]:
    """Every tool that is allowed is registered, with a predicate of its own that can be read."""
    for index, name in enumerate(draft.spec.tools.allow):
        place = _place(draft, "tools", "allow", index)
        if name not in tools:
            yield place.problem(f"tools.allow: unknown tool {shown(name)}{did_you_mean(name, tools)}")
            continue
        brought = tools[name].approval
        for reason in _unreadable(brought, tools[name]) if brought is not None else ():
            yield place.problem(f"tools.allow: {name} is registered with a wrong predicate: {reason}")


def _fitting_limits(draft: Assistant, *, tools: Tools) -> Iterator[Problem]:
    """Argument limits are for allowed tools, existing arguments and values of the right type."""
    for name, limits in draft.spec.tools.limits.items():
        path: Path = ("tools", "limits", name)
        yield from _allowed(draft, path, tools=tools)
        for argument, limit in limits.items() if name in tools else ():
            yield from _limit(draft, (*path, argument), limit, tools[name])


def _fitting_approvals(draft: Assistant, *, tools: Tools) -> Iterator[Problem]:
    """Approvals are for allowed tools that change something, and read existing arguments."""
    for name, approval in draft.spec.approvals.items():
        path: Path = ("approvals", name)
        yield from _allowed(draft, path, tools=tools)
        if name not in tools:
            continue
        if tools[name].risk == "read":
            yield _key(draft, path).problem(
                f"{dotted(path)}: {name} only reads, so nobody is asked; remove this"
            )
        for reason in _unreadable(approval.when, tools[name]):
            yield _place(draft, *path, "when").problem(f"{dotted(path)}.when: {reason}")


def _allowed(draft: Assistant, path: Path, *, tools: Tools) -> Iterator[Problem]:
    name, allow = str(path[-1]), draft.spec.tools.allow
    if name in allow or (name in tools and not draft.trusts("tools", "allow")):
        return
    reason = "is not in tools.allow" if name in tools else "is no tool"
    near = "" if name in tools else did_you_mean(name, allow)
    yield _key(draft, path).problem(f"{dotted(path[:-1])}: {shown(name)} {reason}{near}")


def _limit(draft: Assistant, path: Path, limit: ArgumentSpec, tool: ToolFacts) -> Iterator[Problem]:
    argument = str(path[-1])
    if argument not in tool.arguments:
        yield _key(draft, path).problem(
            f"{dotted(path[:-1])}: {tool.name} has no argument {shown(argument)}"
            f"{did_you_mean(argument, tool.arguments)}"
        )
        return
    for bound in sorted(limit.model_fields_set):
        numeric = bound in ("minimum", "maximum")
        if not (tool.numeric(argument) if numeric else tool.textual(argument)):
            kind = "numbers" if numeric else "text"
            yield _key(draft, (*path, bound)).problem(
                f"{dotted(path)}: {bound} is for {kind}, and {argument!r} of {tool.name} takes "
                f"{', '.join(sorted(tool.arguments[argument])) or 'anything'}"
            )


def _unreadable(when: str, tool: ToolFacts) -> Iterator[str]:
    try:
        names = predicate.parse(when).names
    except predicate.PredicateInvalid as error:
        yield error.detail
        return
    for name in sorted(names - tool.arguments.keys()):
        yield f"{tool.name} has no argument {shown(name)}{did_you_mean(name, tool.arguments)}"


def _place(draft: Assistant, *path: str | int) -> Place:
    return draft.tree.nearest(path).place


def _key(draft: Assistant, path: Path) -> Place:
    return draft.tree.nearest(path).named
