"""Who gets which agent, from when: the control plane.

Its surface for people is the `signalbox` command and the files of the catalog; for programs it is the ids
that clients address and the errors of a wrong catalog or configuration.
"""

from assistants.errors import CatalogInvalid, ConfigurationInvalid, Problem, SignalboxError
from assistants.identity import assistant_id, release_id

__all__ = [
    "CatalogInvalid",
    "ConfigurationInvalid",
    "Problem",
    "SignalboxError",
    "assistant_id",
    "release_id",
]
