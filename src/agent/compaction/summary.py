"""The summary of a thread's old part: how it is kept in the state, and when a text is none.

The state remembers the last summary by the id of the last message it covers (B-35). It is good only for the
policy it was made under and for exactly the messages it was made from: another policy, a fork or an erased
message means that the view is made anew from the full history.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, cast

from langchain_core.messages import BaseMessage

_ERROR = re.compile(
    r"\W*(error|exception|traceback|failed|failure|internal server|bad gateway|service unavailable|"
    r"rate limit|too many requests|timed? ?out|unable to|could not|i'?m sorry|i can'?t|i cannot)\b",
    re.IGNORECASE,
)
_ERROR_LENGTH = 240  # characters; a longer text that begins so is prose about an error


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of every message up to the one with id `through`.

    `covers` is the digest of the ids of all messages covered, `policy` the rule under which it was made.
    """

    text: str
    through: str
    covers: str
    policy: str

    def stored(self) -> dict[str, str]:
        """The summary as a value of the state."""
        return asdict(self)


def summary_of(messages: Sequence[BaseMessage], text: str, *, policy: str) -> Summary:
    """`text` as the summary of these messages, of which there is at least one."""
    return Summary(text=text, through=messages[-1].id or "", covers=_digest(messages), policy=policy)


def remembered(value: object) -> Summary | None:
    """The summary that the state holds, or `None` when it holds none or something else."""
    if not isinstance(value, Mapping):
        return None
    stored = cast("Mapping[str, Any]", value)
    names = {entry.name for entry in fields(Summary)}
    if set(stored) != names or not all(isinstance(stored[name], str) for name in names):
        return None
    return Summary(**stored)


def covered(summary: Summary | None, messages: Sequence[BaseMessage], *, policy: str) -> int:
    """How many messages at the beginning the summary stands for; 0 when it is not good here."""
    if summary is None or summary.policy != policy:
        return 0
    places = (index for index, message in enumerate(messages) if message.id == summary.through)
    upto = next(places, -1) + 1
    return upto if summary.covers == _digest(messages[:upto]) else 0


def usable(text: str) -> bool:
    """Whether a text can be a memory: an empty one, a short error and a short refusal cannot."""
    stripped = text.strip()
    return bool(stripped) and not (len(stripped) < _ERROR_LENGTH and _ERROR.match(stripped))


def counted(messages: Sequence[BaseMessage]) -> str:
    """What can be said of messages without a model: `16 earlier messages folded: ai ×8, human ×8`."""
    kinds = Counter(message.type for message in messages)
    listed = ", ".join(f"{kind} ×{kinds[kind]}" for kind in sorted(kinds))
    return f"{len(messages)} earlier messages folded: {listed}"


def _digest(messages: Sequence[BaseMessage]) -> str:
    return hashlib.sha256("\n".join(message.id or "" for message in messages).encode()).hexdigest()
