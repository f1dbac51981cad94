"""`signalbox token`."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from assistants.cli.credential import development_token
from assistants.cli.project import environment
from assistants.errors import SignalboxError
from assistants.principal import Role, principal


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
    try:
        who = principal(f"{tenant}/{user}", role or ["user"])
    except ValueError as error:
        raise SignalboxError(str(error)) from None
    text = development_token(who, environment(), ttl=timedelta(hours=hours))
    Console(soft_wrap=True, highlight=False).print(text, markup=False)
    return 0
