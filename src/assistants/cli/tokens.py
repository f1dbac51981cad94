"""`signalbox token`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from assistants.cli.credential import development_token
from assistants.cli.project import environment
from assistants.errors import SignalboxError
from assistants.loading.folder import catalog_root
from assistants.principal import PLATFORM, SERVICE, Role, principal

_LONGEST = 24 * 366


async def token(
    *,
    tenant: str,
    user: str,
    role: Annotated[list[Role] | None, Parameter(negative="")] = None,
    hours: float = 12.0,
) -> int:
    """Print a signed development token.

    Parameters
    ----------
    tenant
        Slug of the tenant.
    user
        The user's id.
    role
        What the user may do; may be given more than once. By default: user.
    hours
        How long the token is valid.
    """
    who = principal(f"{tenant}/{user}", role or ["user"])
    if user == SERVICE:
        raise SignalboxError(f"The user {SERVICE!r} is reserved for schedules; choose another.")
    if not 0 < hours <= _LONGEST:
        raise SignalboxError(f"--hours is {hours:g}; expected more than 0 and at most {_LONGEST}.")
    values = environment()
    if not _known(tenant, values):
        raise SignalboxError(f"Tenant {tenant!r} is not in the catalog; 'signalbox ids' lists it.")
    text = development_token(who, values, ttl=timedelta(hours=hours))
    Console(soft_wrap=True, highlight=False).print(text, markup=False)
    return 0


def _known(tenant: str, values: Mapping[str, str]) -> bool:
    named = values.get("SIGNALBOX_CATALOG")
    root = catalog_root(Path(named) if named else None)
    return tenant == PLATFORM or (root / "tenants" / tenant / "tenant.yaml").is_file()
