"""The exceptions of the data plane.

* `AgentError`
    * `RunRefused`: the run may not start (no stamp, no model, wrong context).
    * `ModelUnavailable`: the model endpoint failed and no answer can be given.
    * `ToolRegistrationError`: a tool is declared wrongly; raised at import.
    * `ToolFailure`: a tool cannot do what was asked, in words that the model may read.
    * `PredicateInvalid` (`agent.predicate`), `DatabaseRefused` (`agent.database`), `ShopRefused`
      (`agent.shop.errors`), `HandbookRefused` (`agent.knowledge`): of the modules that raise them.

Every message is written for the person or model that reads it: it names the thing, says what was expected
and what to do next. LangGraph Server passes the text of a `RuntimeError` on to clients and hides others,
so the family derives from it (docs/facts.md, F4).
"""

from __future__ import annotations


class AgentError(RuntimeError):
    """The base of every error that an agent raises on purpose."""

    code = "agent_error"

    def __init__(self, detail: str) -> None:
        super().__init__(f"{detail} [{self.code}]")
        self.detail = detail


class RunRefused(AgentError):
    """The run may not start."""

    code = "run_refused"


class ModelUnavailable(AgentError):
    """The model endpoint gave no usable answer."""

    code = "model_unavailable"


class ToolRegistrationError(AgentError):
    """A tool is declared in a way that cannot be served."""

    code = "tool_registration"


class ToolFailure(AgentError):
    """A tool could not do what was asked; the text is meant for the model."""

    code = "tool_failed"
