"""Chat models by name, against any OpenAI-compatible endpoint; each endpoint is a dialect.

* `endpoint`: where a choice's requests go, with which key.
* `dialect` (with `outgoing`, `incoming`, `assembly`, `usage`): the client that applies an endpoint's profile
  (`agent.profile`, data in `profiles.json`).
* `failure`, `retry`: what is asked again, when, and how it is said that nobody answered.
* `clients`: the clients of a process, and an answer from a choice or its fallbacks.
* `structured`: an answer in a schema, in whichever way the endpoint can give one.
* `probe`: what an endpoint really does; asked for explicitly, never by itself.
"""

from __future__ import annotations

from agent.models.clients import Models, candidates, replace_name
from agent.models.endpoint import Endpoint, endpoint, model_name
from agent.models.retry import Notice, Retry

__all__ = [
    "Endpoint",
    "Models",
    "Notice",
    "Retry",
    "candidates",
    "endpoint",
    "model_name",
    "replace_name",
]
