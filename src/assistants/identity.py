"""The ids that the server knows assistants and releases by; they follow from names, so nothing is stored."""

from __future__ import annotations

import uuid
from typing import Final

NAMESPACE: Final = uuid.UUID("21d88639-9adb-4ef7-bcb4-932bd53f1b81")
"""The namespace of every id of Signalbox. It never changes: clients keep the ids."""


def assistant_id(tenant: str, name: str) -> uuid.UUID:
    """The id of the channel assistant `tenant/name`: the one that clients address."""
    return uuid.uuid5(NAMESPACE, f"{tenant}/{name}")


def release_id(digest: str) -> uuid.UUID:
    """The id of the hidden assistant that runs one release, named by its full digest."""
    return uuid.uuid5(NAMESPACE, f"release:{digest}")
