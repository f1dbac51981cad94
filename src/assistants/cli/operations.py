"""The server's routes below `/ops`, as the commands of operators read them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import httpx

from assistants.cli import credential
from assistants.errors import SignalboxError
from assistants.principal import PLATFORM, Principal, principal

Parameters = Mapping[str, str | int | None]

OPERATOR: Final = principal(f"{PLATFORM}/cli", {"operator"})
"""As whom the commands of operators speak in development."""

_TIMEOUT: Final = 60.0


class OperationRefused(SignalboxError):
    """The server refused."""


@asynccontextmanager
async def operations(
    environment: Mapping[str, str], *, who: Principal = OPERATOR
) -> AsyncGenerator[httpx.AsyncClient]:
    """An HTTP client that speaks with `SIGNALBOX_TOKEN`, in development else as `who`.

    Raises:
        NoToken: Neither can be had.
    """
    bearer = credential.token(who, environment)
    headers = {"Authorization": f"Bearer {bearer}"}
    url = credential.url(environment)
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=_TIMEOUT) as client:
        yield client


async def read(client: httpx.AsyncClient, path: str, parameters: Parameters) -> dict[str, Any]:
    """The JSON object that a route answers with; parameters that are `None` are left out.

    Raises:
        OperationRefused: The server refused, with its reason; or something else answered.
    """
    answer = await client.get(path, params=_given(parameters))
    _require(answer)
    found = _object(answer)
    if found is None:
        raise OperationRefused(f"What answers at {path!r} is no Signalbox server; check SIGNALBOX_URL.")
    return found


async def lines(
    client: httpx.AsyncClient, path: str, parameters: Parameters, *, accept: str
) -> AsyncIterator[str]:
    """The lines that a route streams, as they come, without their ends.

    Raises:
        OperationRefused: The server refused, with its reason.
    """
    headers = {"Accept": accept}
    async with client.stream("GET", path, params=_given(parameters), headers=headers) as answer:
        if answer.is_error:
            await answer.aread()
        _require(answer)
        async for line in answer.aiter_lines():
            yield line


def _given(parameters: Parameters) -> dict[str, str | int]:
    return {name: value for name, value in parameters.items() if value is not None}


def _require(answer: httpx.Response) -> None:
    if answer.is_success:
        return
    found = _object(answer) or {}
    raise OperationRefused(f"{answer.status_code}: {found.get('detail') or 'it gave no reason.'}")


def _object(answer: httpx.Response) -> dict[str, Any] | None:
    try:
        found = answer.json()
    except ValueError:
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None
