"""The exceptions of the control plane.

* `SignalboxError`
    * `CatalogInvalid`: the catalog has problems and nothing of it was loaded.
    * `ConfigurationInvalid`: a setting is missing or unsafe and the server does not start.

The first sentence of a message is the class's docstring; a detail says which thing, what was expected and
what to do next. No message holds a secret or an absolute path.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass


class SignalboxError(Exception):
    """Signalbox could not do what was asked."""

    def __init__(self, detail: str = "") -> None:
        sentence = (inspect.getdoc(type(self)) or "").partition("\n")[0]
        super().__init__(f"{sentence} {detail}".strip())
        self.detail = detail


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong in one file: `file` relative to the catalog, `line` and `column` counted from 1."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class CatalogInvalid(SignalboxError):
    """The catalog has problems and nothing of it was loaded.

    `problems` holds every problem of every file, once, sorted by place; `str()` gives one line each.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __str__(self) -> str:
        return self.detail


class ConfigurationInvalid(SignalboxError):
    """The server's configuration has problems, so it does not start."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"- {problem}" for problem in self.problems))
