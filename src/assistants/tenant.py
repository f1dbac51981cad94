"""What a tenant's file may say, and the rings: `tenants/<slug>/tenant.yaml` and `rings.yaml`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from assistants.loading.fields import SecretName, Sha256, Slug, TimeZone, User, VariableReference, slug
from assistants.principal import PLATFORM, Role
from assistants.spec import Count, Distinct, LimitsSpec, Positive, Section, Text, distinct


def _tenant_slug(text: str) -> str:
    if text == PLATFORM:
        raise ValueError(f"the slug {PLATFORM!r} is reserved for the platform; choose another")
    return slug(text)


class CeilingsSpec(LimitsSpec):
    """What no assistant of the tenant may exceed; a limit that a file leaves out gets the ceiling.

    `models` and `forbid_tools` are globs; `usd_per_day` is also the tenant's budget over all assistants.
    """

    models: Annotated[tuple[Text, ...], Distinct] | None = None
    forbid_tools: Annotated[tuple[Text, ...], Distinct] = ()
    runs_per_minute: Positive | None = None
    concurrent_runs: Positive | None = None
    queue_per_thread: Count | None = None


class ApiKeySpec(Section):
    """An API key, known by its sha256 only, and whom it stands for."""

    id: Slug
    sha256: Sha256
    user: User
    roles: Annotated[tuple[Role, ...], Distinct, Field(min_length=1)]


def _distinct_ids(keys: tuple[ApiKeySpec, ...]) -> tuple[ApiKeySpec, ...]:
    return distinct(keys, by="id")


class TenantSpec(Section):
    """A tenant's file. `secrets` are references to environment variables, resolved when they are used."""

    slug: Annotated[str, AfterValidator(_tenant_slug)]
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    ring: str
    timezone: TimeZone
    ceilings: CeilingsSpec = CeilingsSpec()
    secrets: dict[SecretName, VariableReference] = Field(default_factory=dict)
    api_keys: Annotated[tuple[ApiKeySpec, ...], AfterValidator(_distinct_ids)] = ()


class RingsSpec(Section):
    """The rings, in the order in which a release reaches them."""

    rings: Annotated[tuple[Slug, ...], Distinct, Field(min_length=1)]
