"""The project folder and the environment that a command works with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from assistants.cli import dotenv
from assistants.errors import ConfigurationInvalid, SignalboxError


class NoProject(SignalboxError):
    """There is no langgraph.json here or above; run this in the project's folder."""


def folder() -> Path:
    """The folder of `langgraph.json`, from the working directory upwards.

    Raises:
        NoProject: There is none.
    """
    here = Path.cwd()
    for candidate in (here, *here.parents):
        if (candidate / "langgraph.json").is_file():
            return candidate
    raise NoProject


def environment() -> Mapping[str, str]:
    """The process's environment over the project's `.env`; outside a project the environment alone.

    Raises:
        ConfigurationInvalid: The project has no `.env` yet and the environment does not stand in for it.
    """
    try:
        project = folder()
    except NoProject:
        return dict(os.environ)
    values = dotenv.load(project)
    if not (project / ".env").is_file() and "SIGNALBOX_ENV" not in values:
        raise ConfigurationInvalid(["there is no .env yet; the first 'make dev' writes it"])
    return values
