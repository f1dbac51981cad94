"""Who asks: tenant, user and roles, as the server's identity string and permissions carry them.

The identity string is `tenant/user`. A cron arrives with nothing else (no roles, no fields of ours), so the
tenant lives in the identity; a principal without roles is unattended: nobody waits for the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from assistants.errors import SignalboxError

Role = Literal["user", "approver", "operator"]
ROLES: frozenset[str] = frozenset(get_args(Role))

PLATFORM = "platform"
"""The tenant of people and programs that belong to no tenant; no catalog may use the slug."""

SERVICE = "service"
"""The user that scheduled runs act as; no token may claim it."""

STUDIO = f"{PLATFORM}/studio"

_TENANT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_USER = re.compile(r"[^\s/\x00-\x1f\x7f][^/\x00-\x1f\x7f]{0,127}")


class IdentityInvalid(SignalboxError, ValueError):
    """The identity is not of the form 'tenant/user'."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller."""

    tenant: str
    user: str
    roles: frozenset[str]

    @property
    def identity(self) -> str:
        """`tenant/user`."""
        return f"{self.tenant}/{self.user}"

    @property
    def operator(self) -> bool:
        """Whether the caller operates the platform, across tenants."""
        return "operator" in self.roles

    @property
    def unattended(self) -> bool:
        """Whether nobody waits for the answer: a schedule, or the server itself."""
        return not self.roles


def principal(identity: str, roles: Iterable[str]) -> Principal:
    """The principal behind an identity string; unknown roles are dropped.

    Raises:
        IdentityInvalid: The identity is not `tenant/user`.
    """
    tenant, separator, user = identity.partition("/")
    if not separator or not _TENANT.fullmatch(tenant) or not _USER.fullmatch(user):
        raise IdentityInvalid(
            f"It is {identity!r}; expected a lower-case tenant slug and a user id without '/' or line breaks."
        )
    return Principal(tenant=tenant, user=user, roles=frozenset(roles) & ROLES)
