"""What a loaded catalog holds: tenants, assistants with their releases, rings, and the look-ups over them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent.context import AgentContext
from assistants.identity import assistant_id
from assistants.principal import Role
from assistants.provenance import Provenance
from assistants.release import Release
from assistants.spec import AssistantSpec, ScheduleSpec, ThreadsSpec
from assistants.tenant import TenantSpec


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Whom an API key stands for; the key itself is known by its sha256 only."""

    tenant: str
    id: str
    user: str
    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class ResolvedAssistant:
    """An assistant with everything its files, bases and ceilings say.

    `context` is total and names the release; `spec` is the merged file; `provenance` tells where each of the
    spec's values came from.
    """

    tenant: str
    name: str
    graph: str
    description: str
    context: AgentContext
    release: Release
    schedule: tuple[ScheduleSpec, ...]
    threads: ThreadsSpec
    rollout: str | None
    spec: AssistantSpec
    provenance: Provenance

    @property
    def id(self) -> uuid.UUID:
        """The id of its channel assistant."""
        return assistant_id(self.tenant, self.name)

    @property
    def title(self) -> str:
        """`tenant/name`."""
        return f"{self.tenant}/{self.name}"


@dataclass(frozen=True, slots=True)
class Catalog:
    """A loaded catalog. `tenants` by slug, `assistants` sorted by tenant and name, `rings` in their order."""

    tenants: Mapping[str, TenantSpec]
    assistants: tuple[ResolvedAssistant, ...]
    rings: tuple[str, ...]
    _ids: Mapping[uuid.UUID, ResolvedAssistant]
    _keys: Mapping[str, ApiKey]

    @classmethod
    def of(
        cls, tenants: Iterable[TenantSpec], assistants: Iterable[ResolvedAssistant], *, rings: Iterable[str]
    ) -> Catalog:
        """The catalog of these tenants and assistants."""
        known = {tenant.slug: tenant for tenant in sorted(tenants, key=lambda tenant: tenant.slug)}
        ordered = tuple(sorted(assistants, key=lambda assistant: (assistant.tenant, assistant.name)))
        return cls(
            tenants=known,
            assistants=ordered,
            rings=tuple(rings),
            _ids={assistant.id: assistant for assistant in ordered},
            _keys={
                key.sha256: ApiKey(tenant.slug, key.id, key.user, key.roles)
                for tenant in known.values()
                for key in tenant.api_keys
            },
        )

    def tenant(self, slug: str) -> TenantSpec | None:
        """The tenant of that slug, or `None`."""
        return self.tenants.get(slug)

    def assistant(self, tenant: str, name: str) -> ResolvedAssistant | None:
        """The assistant `tenant/name`, or `None`."""
        return self._ids.get(assistant_id(tenant, name))

    def by_id(self, channel: uuid.UUID) -> ResolvedAssistant | None:
        """The assistant whose channel has that id, or `None`."""
        return self._ids.get(channel)

    def api_key(self, sha256: str) -> ApiKey | None:
        """Whom the API key with that sha256 (hexadecimal) stands for, or `None`."""
        return self._keys.get(sha256)

    def runs_per_minute(self, tenant: str) -> int | None:
        """How many runs a tenant may start in a minute; `None` is any number."""
        known = self.tenants.get(tenant)
        return known.ceilings.runs_per_minute if known is not None else None
