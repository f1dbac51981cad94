"""Whose run it is: the facts that every span of a run carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from langgraph.config import get_config
from langgraph.runtime import get_runtime

from agent.context import AgentContext
from agent.telemetry.outcome import identifier

_FACTS = ("tenant", "assistant", "release", "thread", "run")


@dataclass(frozen=True, slots=True)
class Identity:
    """Tenant, assistant (its name within the tenant), release digest, thread id and run id; "" is unknown."""

    tenant: str = ""
    assistant: str = ""
    release: str = ""
    thread: str = ""
    run: str = ""

    @classmethod
    def announced(cls, metadata: Mapping[str, Any], *, run: str) -> Self:
        """As the run's metadata say, which the server's door writes.

        Args:
            metadata: The run's; `assistant` may be `tenant/name`.
            run: The run's id where the metadata have none.
        """
        said = {key: _said(metadata.get(key)) for key in ("tenant", "release")}
        return cls(
            **said,
            assistant=_said(str(metadata.get("assistant") or "").rpartition("/")[2]),
            thread=_said(metadata.get("thread_id")),
            run=_said(metadata.get("run_id")) or run,
        )

    def confirmed(self) -> Identity:
        """As the context of the run says that the caller is inside of.

        A model or a tool is called only for a context that the door has stamped, so this is the truth; what
        it leaves open stays as announced.
        """
        try:
            context: object = getattr(get_runtime(), "context", None)
            configurable = get_config().get("configurable", {})
        except RuntimeError:  # outside of a run
            return self
        if not isinstance(context, AgentContext):
            return self
        known = {
            "tenant": context.tenant,
            "assistant": context.assistant,
            "release": context.release,
            "thread": _said(configurable.get("thread_id")),
            "run": _said(configurable.get("run_id")),
        }
        return replace(self, **{key: value for key, value in known.items() if value})

    def attributes(self) -> dict[str, str]:
        """`signalbox.tenant` and so on, the known ones."""
        return {f"signalbox.{fact}": value for fact in _FACTS if (value := getattr(self, fact))}


def _said(value: object) -> str:
    return identifier(str(value)) if value else ""
