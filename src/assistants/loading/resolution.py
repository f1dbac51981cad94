"""From a sound file to an assistant: the context that a run gets, and the release that names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from agent import predicate
from agent.context import (
    AgentContext,
    Approval,
    ArgumentLimit,
    Compaction,
    Concurrency,
    Decision,
    Limits,
    MemoryRule,
    ModelChoice,
    Strategy,
)
from assistants.inventory import ResolvedAssistant
from assistants.loading import duration
from assistants.loading.ceilings import Ceilings
from assistants.loading.tools import ToolFacts
from assistants.loading.validation import Draft
from assistants.provenance import Provenance
from assistants.release import Release
from assistants.spec import ApprovalSpec, AssistantSpec, ModelSpec


@dataclass(frozen=True, slots=True)
class Outline:
    """An assistant whose file is sound: all that resolving it takes.

    `secrets` are the tenant's references to the environment, by name; `prompt` is rendered.
    """

    draft: Draft[AssistantSpec]
    tenant: str
    name: str
    graph: str
    model: ModelSpec
    prompt: str
    ceilings: Ceilings
    secrets: Mapping[str, str]


def resolve(outline: Outline, *, tools: Mapping[str, ToolFacts]) -> ResolvedAssistant:
    """The assistant that an outline describes.

    Lists that are sets (tools, decisions, strategies, allowed values) are written in a fixed order, and
    predicates in their canonical text, so that writing them otherwise makes no new release.
    """
    spec = outline.draft.spec
    context = _context(outline, tools)
    release = Release.of(
        context,
        graph=outline.graph,
        description=spec.description,
        threads=spec.threads,
        tools={name: tools[name].digest for name in context.tools},
    )
    return ResolvedAssistant(
        tenant=outline.tenant,
        name=outline.name,
        graph=outline.graph,
        description=spec.description,
        context=context.model_copy(update={"release": release.digest}),
        release=release,
        schedule=spec.schedule,
        threads=spec.threads,
        rollout=spec.rollout,
        spec=spec,
        provenance=Provenance.of(outline.draft.tree).also(outline.ceilings.places(spec.limits)),
    )


def _context(outline: Outline, tools: Mapping[str, ToolFacts]) -> AgentContext:
    """The context, its release still unnamed."""
    spec = outline.draft.spec
    return AgentContext(
        tenant=outline.tenant,
        assistant=outline.name,
        release="",
        model=_model(outline.model, outline.secrets),
        prompt=outline.prompt,
        tools=tuple(sorted(spec.tools.allow)),
        tool_limits=_tool_limits(spec),
        policy_mode=spec.tools.mode,
        approvals=_approvals(spec, tools),
        limits=Limits(
            **outline.ceilings.limits(spec.limits).model_dump(),
            tenant_usd_per_day=outline.ceilings.spec.usd_per_day,
        ),
        compaction=Compaction(**spec.compaction.model_dump()) if spec.compaction else None,
        memory=MemoryRule(**spec.memory.model_dump()) if spec.memory else None,
        concurrency=_concurrency(spec, tools),
        durability=spec.durability,
    )


def _model(model: ModelSpec, secrets: Mapping[str, str]) -> ModelChoice:
    """The model, its key as a reference to the environment."""
    named = model.api_key
    key = secrets[named.removeprefix("secret:")] if named is not None else None
    return ModelChoice(**model.model_dump(exclude={"api_key"}), api_key=key)


def _tool_limits(spec: AssistantSpec) -> dict[str, dict[str, ArgumentLimit]]:
    return {
        tool: {
            argument: ArgumentLimit(
                minimum=limit.minimum,
                maximum=limit.maximum,
                prefix=limit.prefix,
                one_of=None if limit.one_of is None else tuple(sorted(limit.one_of)),
            )
            for argument, limit in limits.items()
        }
        for tool, limits in spec.tools.limits.items()
    }


def _approvals(spec: AssistantSpec, tools: Mapping[str, ToolFacts]) -> dict[str, Approval]:
    """The file's approvals, and the predicates that tools bring themselves where the file sets none."""
    brought = {name: tools[name].approval for name in spec.tools.allow}
    own = {name: ApprovalSpec(when=when) for name, when in brought.items() if when is not None}
    return {name: _approval(rule) for name, rule in {**own, **spec.approvals}.items()}


def _approval(rule: ApprovalSpec) -> Approval:
    return Approval(
        when=str(predicate.parse(rule.when)),
        decisions=tuple(decision for decision in get_args(Decision) if decision in rule.decisions),
        expires=duration.seconds(rule.expires),
        by=rule.by,
        self_approval=rule.self_approval,
    )


def _concurrency(spec: AssistantSpec, tools: Mapping[str, ToolFacts]) -> Concurrency:
    """The file's rule; by default `reject` where a tool changes something, else `interrupt` (B-90)."""
    rule = spec.concurrency
    changes = any(tools[name].risk != "read" for name in spec.tools.allow)
    default: Strategy = (rule.default if rule else None) or ("reject" if changes else "interrupt")
    allowed = {default, *(rule.allow if rule else ())}
    return Concurrency(
        default=default,
        allow=tuple(strategy for strategy in get_args(Strategy) if strategy in allowed),
        pending=rule.pending if rule else "refuse",
    )
