"""What an agent does: the data plane.

The contract with whoever runs agents is `AgentContext`; the contract with whoever writes tools is `Registry`,
`ToolCall` and `ToolFailure`. Everything else is the package's own business.
"""

from agent.context import AgentContext
from agent.errors import AgentError, ModelUnavailable, RunRefused, ToolFailure, ToolRegistrationError
from agent.tools.registry import Registry, Tool, ToolCall

__all__ = [
    "AgentContext",
    "AgentError",
    "ModelUnavailable",
    "Registry",
    "RunRefused",
    "Tool",
    "ToolCall",
    "ToolFailure",
    "ToolRegistrationError",
]
