"""A tenant's file as far as it is sound, and the rules over one tenant and over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from assistants.errors import Problem
from assistants.loading.ceilings import Ceilings
from assistants.loading.node import Node, Place
from assistants.loading.suggestion import did_you_mean
from assistants.loading.validation import Draft
from assistants.loading.wording import shown
from assistants.tenant import CeilingsSpec, TenantSpec

_NOWHERE: Final = Place("")
STAND_INS: Final[Mapping[str, Node]] = MappingProxyType(
    {
        "slug": Node("unknown", _NOWHERE),
        "ring": Node("unknown", _NOWHERE),
        "timezone": Node("UTC", _NOWHERE),
        "rings": Node((Node("unknown", _NOWHERE),), _NOWHERE),
    }
)
"""What a tenant's file and the list of rings are judged with where a required key is unsound."""


@dataclass(frozen=True, slots=True)
class Tenancy:
    """A tenant's folder by its slug; `draft` is `None` where too little of the file is sound."""

    slug: str
    draft: Draft[TenantSpec] | None

    @property
    def ceilings(self) -> Ceilings:
        """What its assistants may not exceed."""
        if self.draft is None:
            return Ceilings(CeilingsSpec(), Node({}, _NOWHERE))
        return Ceilings(self.draft.spec.ceilings, self.draft.tree)

    @property
    def secrets(self) -> Mapping[str, str] | None:
        """Its secrets as references to the environment; `None` where the file does not tell them all."""
        if self.draft is None or not self.draft.trusts("secrets"):
            return None
        return self.draft.spec.secrets


def settled(draft: Draft[TenantSpec], *, slug: str, rings: Sequence[str] | None) -> Iterator[Problem]:
    """The slug is the folder's name and the ring is one of `rings` (`None`: they are not known)."""
    if draft.trusts("slug") and draft.spec.slug != slug:
        yield draft.tree.nearest(("slug",)).place.problem(
            f"slug: expected {slug!r} as the folder is called, got {shown(draft.spec.slug)}"
        )
    if rings is not None and draft.trusts("ring") and draft.spec.ring not in rings:
        yield draft.tree.nearest(("ring",)).place.problem(
            f"ring: unknown ring {shown(draft.spec.ring)}{did_you_mean(draft.spec.ring, rings)}"
        )


def unique_keys(tenancies: Iterable[Tenancy]) -> Iterator[Problem]:
    """No API key stands twice in the catalog."""
    seen: set[str] = set()
    for draft in _drafts(tenancies):
        for index, key in enumerate(draft.spec.api_keys):
            if key.sha256 in seen:
                yield draft.tree.nearest(("api_keys", index, "sha256")).place.problem(
                    f"api_keys[{index}].sha256: this key is in the catalog already; a key stands for one user"
                )
            seen.add(key.sha256)


def own_variables(tenancies: Iterable[Tenancy]) -> Iterator[Problem]:
    """No two tenants name one environment variable: a file must not reach another tenant's secret."""
    seen: set[str] = set()
    for draft in _drafts(tenancies):
        for name, reference in draft.spec.secrets.items():
            if reference in seen:
                yield draft.tree.nearest(("secrets", name)).place.problem(
                    f"secrets.{name}: another tenant's file names this variable; give each tenant its own"
                )
        seen.update(draft.spec.secrets.values())


def _drafts(tenancies: Iterable[Tenancy]) -> list[Draft[TenantSpec]]:
    return [tenancy.draft for tenancy in tenancies if tenancy.draft is not None]
