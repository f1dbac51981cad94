"""A run as the door is shown it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agent.ledger import Approval
from assistants.server.access import Refused
from assistants.server.waiting import ThreadFacts

NOT_FOUND: Final = Refused(404, "Thread or assistant not found.")
"""Word for word what the server says of an id that does not exist, so that probing tells nothing."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the door is shown of a run. `thread` is `None` for a stateless run."""

    run: str
    thread: str | None
    assistant: uuid.UUID
    input: object
    command: Mapping[str, Any] | None
    metadata: Mapping[str, Any]
    facts: ThreadFacts | None = None
    """The thread, where the answer depends on it and there is one."""
    records: tuple[Approval, ...] = ()
    """What was asked for on the thread, newest first: what is pending, or under an interrupt in question."""
    taken: frozenset[str] = frozenset()
    """Ids of messages that the thread already holds, as far as the input names any."""
    pauses: bool = False
    """Whether the run is to be interrupted before or after nodes."""

    @property
    def resume(self) -> object:
        """What the run is resumed with; `None` when it is not."""
        return (self.command or {}).get("resume")
