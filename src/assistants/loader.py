"""Load a catalog: every file is read and checked, then the whole is resolved, or nothing is.

Reading is synchronous; the server loads in a thread or before its loop runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pydantic import BaseModel

from agent.tools.registry import Registry
from assistants.errors import CatalogInvalid, Problem
from assistants.inventory import ApiKey, Catalog, ResolvedAssistant
from assistants.loading import rules
from assistants.loading.folder import catalog_root, shipped_root, survey
from assistants.loading.inheritance import Inheritance
from assistants.loading.library import RINGS, TENANT, TENANTS, Library
from assistants.loading.node import Node, Place
from assistants.loading.prompt import Prompt
from assistants.loading.resolution import Outline, resolve
from assistants.loading.tenancy import STAND_INS, Tenancy, own_variables, settled, unique_keys
from assistants.loading.tools import ToolFacts, facts
from assistants.loading.validation import Draft, validate
from assistants.spec import AssistantSpec
from assistants.tenant import RingsSpec, TenantSpec

__all__ = ["ApiKey", "Catalog", "ResolvedAssistant", "catalog_root", "load", "shipped_root"]

Model = TypeVar("Model", bound=BaseModel)


def load(root: Path, *, registry: Registry, graphs: Collection[str]) -> Catalog:
    """The catalog in a directory.

    Args:
        root: The catalog's directory (see `catalog_root`).
        registry: The deployment's tools.
        graphs: The ids of the deployment's graphs.

    Raises:
        CatalogInvalid: Something in it is wrong; all problems of all files are listed.
    """
    folder, problems = survey(root)
    if folder is None:
        raise CatalogInvalid(problems)
    return _Loading(Library(folder), problems, tools=facts(registry), graphs=graphs).catalog()


class _Loading:
    """One load: its steps, and the problems that they find."""

    def __init__(
        self,
        library: Library,
        problems: Sequence[Problem],
        *,
        tools: Mapping[str, ToolFacts],
        graphs: Collection[str],
    ) -> None:
        self._library = library
        self._tools = tools
        self._graphs = graphs
        self._inheritance = Inheritance(read=library.tree, target=library.base)
        self._problems = [*problems, *library.misplaced()]

    def catalog(self) -> Catalog:
        """The catalog, when all its files are sound."""
        rings = self._rings()
        tenancies = [self._tenancy(folder, rings) for folder in self._library.tenants()]
        if not tenancies:
            self._report(Place(TENANTS), f"the catalog has no tenant; expected {TENANTS}/SLUG/{TENANT}")
        for file in self._library.bases():
            self._base(file)
        outlines = [outline for tenancy in tenancies for outline in self._outlines(tenancy)]
        self._problems += [*unique_keys(tenancies), *own_variables(tenancies)]
        problems = [*self._problems, *self._library.problems, *self._inheritance.problems]
        if problems:
            raise CatalogInvalid(problems)
        return Catalog.of(
            [tenancy.draft.spec for tenancy in tenancies if tenancy.draft],
            [resolve(outline, tools=self._tools) for outline in outlines],
            rings=rings or (),
        )

    def _rings(self) -> tuple[str, ...] | None:
        """The rings, or `None` where they are not known."""
        draft = self._draft(RingsSpec, RINGS, expected="it lists the rings, such as: rings: [early, main]")
        return draft.spec.rings if draft is not None and draft.trusts("rings") else None

    def _tenancy(self, folder: str, rings: tuple[str, ...] | None) -> Tenancy:
        slug = PurePosixPath(folder).name
        draft = self._draft(TenantSpec, f"{folder}/{TENANT}", expected="each tenant's folder has one")
        if draft is not None:
            self._problems += settled(draft, slug=slug, rings=rings)
        return Tenancy(slug, draft)

    def _draft(self, model: type[Model], file: str, *, expected: str) -> Draft[Model] | None:
        if not self._library.has(file):
            self._report(Place(file), f"the file is missing; {expected}")
            return None
        tree, whole = self._library.tree(file)
        return None if tree is None else self._validated(model, tree, whole=whole)

    def _validated(self, model: type[Model], tree: Node, *, whole: bool) -> Draft[Model]:
        draft, problems = validate(model, tree, partial=not whole, stand_ins=STAND_INS)
        self._problems += problems
        return draft

    def _base(self, file: str) -> None:
        draft = self._merged(file, partial=True)
        if draft is None:
            return
        name = draft.tree.find(("name",))
        if name is not None:
            self._report(name.named, "name: a base has none; the files that extend it do")
        self._source(draft)

    def _outlines(self, tenancy: Tenancy) -> Iterator[Outline]:
        for file in self._library.assistants(f"{TENANTS}/{tenancy.slug}"):
            draft = self._merged(file, partial=False)
            if draft is not None:
                yield from self._outline(draft, file, tenancy)

    def _outline(self, draft: Draft[AssistantSpec], file: str, tenancy: Tenancy) -> Iterator[Outline]:
        self._problems += [
            *rules.identified(draft, file=file),
            *rules.known_secret(draft, secrets=tenancy.secrets),
            *tenancy.ceilings.problems(draft),
        ]
        prompt = self._prompt(draft, file)
        if draft.spec.graph is not None and draft.spec.model is not None:
            yield Outline(
                draft=draft,
                tenant=tenancy.slug,
                name=PurePosixPath(file).stem,
                graph=draft.spec.graph,
                model=draft.spec.model,
                prompt=prompt,
                ceilings=tenancy.ceilings,
                secrets=tenancy.secrets or {},
            )

    def _merged(self, file: str, *, partial: bool) -> Draft[AssistantSpec] | None:
        """A base's or assistant's file with what it extends, checked against the deployment."""
        lineage = self._inheritance.lineage(file)
        if lineage is None:
            return None
        draft = self._validated(AssistantSpec, lineage.tree, whole=lineage.whole and not partial)
        self._problems += rules.deployed(draft, tools=self._tools, graphs=self._graphs)
        return draft

    def _prompt(self, draft: Draft[AssistantSpec], file: str) -> str:
        """The rendered prompt of the assistant's file; empty where there is none."""
        source = self._source(draft)
        if source is None or draft.spec.prompt is None:
            return ""
        values = draft.tree.find(("prompt", "vars"))
        if draft.trusts("prompt"):
            self._problems += source.problems(values.children if values else {}, user=file)
        return source.render(draft.spec.prompt.vars)

    def _source(self, draft: Draft[AssistantSpec]) -> Prompt | None:
        text, file = draft.tree.find(("prompt", "text")), draft.tree.find(("prompt", "file"))
        if text is not None:
            return Prompt.of(str(text.value), text.place)
        if file is None:
            return None
        try:
            path = self._library.markdown(str(file.value), file.place.file)
        except ValueError as error:
            self._report(file.place, f"prompt.file: {error}")
            return None
        content = self._library.text(path)
        return None if content is None else Prompt.of(content, Place(path))

    def _report(self, place: Place, message: str) -> None:
        self._problems.append(place.problem(message))
