"""Prompts: Markdown with variables such as `{{ company }}`.

A variable takes its value from `prompt.vars` of the assistant's file. Two opening braces have no other
use, so a stray pair is an error, as are a variable without a value and a value without a variable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from assistants.errors import Problem
from assistants.loading.node import Node, Place
from assistants.loading.suggestion import did_you_mean
from assistants.loading.wording import shown

_BRACES: Final = re.compile(r"\{\{(?P<inside>[^{}\n]*)\}\}|\{\{")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt's text as it is rendered from: line feeds only, no white space at the end."""

    text: str
    place: Place
    """Where the text stands: a Markdown file, or the value in a YAML file."""

    @classmethod
    def of(cls, text: str, place: Place) -> Prompt:
        """The prompt that `text` is, normalised."""
        return cls(text.replace("\r\n", "\n").replace("\r", "\n").rstrip(), place)

    def render(self, values: Mapping[str, str]) -> str:
        """The text with each variable replaced; values are not read for variables again."""
        return _BRACES.sub(lambda match: values.get(_name(match) or "", match[0]), self.text)

    def problems(self, values: Mapping[str, Node], *, user: str) -> list[Problem]:
        """What is wrong with the text and with its values, for the assistant whose file is `user`."""
        found = [self._flaw(match, values, user) for match in _BRACES.finditer(self.text)]
        used = {_name(match) for match in _BRACES.finditer(self.text)}
        idle = [
            node.named.problem(
                f"prompt.vars: no variable of the prompt uses {shown(name)}"
                f"{did_you_mean(name, {other for other in used if other} - values.keys())}"
            )
            for name, node in values.items()
            if name not in used
        ]
        empty = [] if self.text else [self.place.problem("the prompt is empty")]
        return [problem for problem in found if problem is not None] + idle + empty

    def _flaw(self, match: re.Match[str], values: Mapping[str, Node], user: str) -> Problem | None:
        name = _name(match)
        if name is None:
            return self._at(match.start()).problem(
                f"cannot read {shown(match[0])} as a variable; expected such as {{{{ company }}}}"
            )
        if name in values:
            return None
        near = did_you_mean(name, values)
        return self._at(match.start()).problem(
            f"the variable {shown(name)} has no value; set it in prompt.vars of {user}{near}"
        )

    def _at(self, offset: int) -> Place:
        """The place of a character; of text in a YAML file only where the text begins is known."""
        if not self.place.file.endswith(".md"):
            return self.place
        before = self.text[:offset]
        return Place(self.place.file, before.count("\n") + 1, offset - before.rfind("\n"))


def _name(match: re.Match[str]) -> str | None:
    inside = (match["inside"] or "").strip()
    return inside if _NAME.fullmatch(inside) else None
