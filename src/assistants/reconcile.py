"""Bring the server's channel assistants to what the catalog says.

One LangGraph assistant for each `tenant/name`, with a stable id; its context is the whole release. Payloads
are whole, because an update replaces the context and merges the metadata (docs/facts.md, F5), and every write
is read back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from assistants.errors import SignalboxError
from assistants.loader import Catalog, ResolvedAssistant

_COMPARED = ("graph_id", "name", "description", "context")


class ApplyFailed(SignalboxError):
    """The server holds something else than what was written to it."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel assistant as the server should hold it."""

    id: str
    graph_id: str
    name: str
    description: str
    context: dict[str, Any]
    metadata: dict[str, Any]


def channel(assistant: ResolvedAssistant) -> Channel:
    """What the server should hold for an assistant of the catalog."""
    return Channel(
        id=str(assistant.id),
        graph_id=assistant.graph,
        name=f"{assistant.tenant}/{assistant.name}",
        description=assistant.description or assistant.title,  # langgraph-sdk 0.4.14 never sends an empty one
        context=assistant.context.total(),
        metadata={
            "managed_by": "signalbox",
            "kind": "channel",
            "tenant": assistant.tenant,
            "assistant": assistant.name,
            "release": assistant.context.release,
        },
    )


def differs(wanted: Channel, live: Mapping[str, Any]) -> bool:
    """Whether the live assistant is not the wanted one; metadata that others added does not count."""
    metadata = cast("Mapping[str, Any]", live.get("metadata") or {})
    return any(getattr(wanted, key) != live.get(key) for key in _COMPARED) or any(
        metadata.get(key) != value for key, value in wanted.metadata.items()
    )


async def apply(catalog: Catalog, client: LangGraphClient) -> list[str]:
    """Create or update every channel assistant that differs.

    Returns:
        The names (`tenant/name`) of those that were written.

    Raises:
        ApplyFailed: What was read back is not what was written.
    """
    written: list[str] = []
    for assistant in catalog.assistants:
        wanted = channel(assistant)
        if await _write(wanted, client):
            written.append(wanted.name)
    return written


async def _write(wanted: Channel, client: LangGraphClient) -> bool:
    live = await _live(wanted.id, client)
    if live is not None and not differs(wanted, live):
        return False
    if live is None:
        await client.assistants.create(
            wanted.graph_id,
            assistant_id=wanted.id,
            name=wanted.name,
            description=wanted.description,
            context=wanted.context,
            metadata=wanted.metadata,
        )
    else:
        await client.assistants.update(
            wanted.id,
            graph_id=wanted.graph_id,
            name=wanted.name,
            description=wanted.description,
            context=wanted.context,
            metadata=wanted.metadata,
        )
    stored = await _live(wanted.id, client)
    if stored is None or differs(wanted, stored):
        raise ApplyFailed(
            f"{wanted.name!r} reads back differently; apply again, and look for another writer."
        )
    return True


async def _live(assistant_id: str, client: LangGraphClient) -> Mapping[str, Any] | None:
    try:
        return cast("Mapping[str, Any]", await client.assistants.get(assistant_id))
    except NotFoundError:
        return None
