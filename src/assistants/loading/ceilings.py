"""The tenant's ceilings over one assistant: what exceeds them, and the limits that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from assistants.errors import Problem
from assistants.loading.node import Node, Path, Place
from assistants.loading.validation import Draft
from assistants.loading.wording import shown
from assistants.spec import AssistantSpec, LimitsSpec
from assistants.tenant import CeilingsSpec

LIMITS: Final = tuple(LimitsSpec.model_fields)
"""The limits that have ceilings: all of them."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What a tenant's file allows its assistants at most, with the places that say so."""

    spec: CeilingsSpec
    tree: Node

    def problems(self, draft: Draft[AssistantSpec]) -> Iterator[Problem]:
        """What in an assistant's file is above a ceiling; each at the place that set it."""
        spec = draft.spec
        if spec.model is not None:
            yield from self._model(draft, ("model", "name"), spec.model.name)
            for index, name in enumerate(spec.model.fallbacks):
                yield from self._model(draft, ("model", "fallbacks", index), name)
        for index, name in enumerate(spec.tools.allow):
            yield from self._tool(draft, ("tools", "allow", index), name)
        yield from self._limits(draft, spec.limits)

    def limits(self, own: LimitsSpec) -> LimitsSpec:
        """An assistant's limits; those it leaves out are the ceilings."""
        return LimitsSpec(
            **{
                name: getattr(self.spec, name) if getattr(own, name) is None else getattr(own, name)
                for name in LIMITS
            }
        )

    def places(self, own: LimitsSpec) -> dict[Path, Place]:
        """Where the limits stand that `limits` fills in."""
        found = {name: self.tree.find(("ceilings", name)) for name in LIMITS if getattr(own, name) is None}
        return {
            ("limits", name): node.place
            for name, node in found.items()
            if node is not None and getattr(self.spec, name) is not None
        }

    def _model(self, draft: Draft[AssistantSpec], path: Path, name: str) -> Iterator[Problem]:
        globs = self.spec.models
        if globs is None or any(fnmatchcase(name, glob) for glob in globs):
            return
        allowed = ", ".join(globs) or "no model at all"
        yield draft.tree.nearest(path).place.problem(
            f"model: the tenant's ceilings allow {allowed}, not {shown(name)}"
        )

    def _tool(self, draft: Draft[AssistantSpec], path: Path, name: str) -> Iterator[Problem]:
        for glob in self.spec.forbid_tools:
            if fnmatchcase(name, glob):
                yield draft.tree.nearest(path).place.problem(
                    f"tools.allow: the tenant's ceilings forbid {shown(name)} (forbid_tools: {glob})"
                )
                return

    def _limits(self, draft: Draft[AssistantSpec], own: LimitsSpec) -> Iterator[Problem]:
        for name in LIMITS:
            wanted, ceiling = getattr(own, name), getattr(self.spec, name)
            if wanted is not None and ceiling is not None and wanted > ceiling:
                yield draft.tree.nearest(("limits", name)).place.problem(
                    f"limits.{name}: the tenant's ceiling is {ceiling}, got {wanted}"
                )
