"""`signalbox probe`: find out what a model's endpoint can do, with about eight tiny calls."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from agent.context import ModelChoice
from agent.errors import ModelUnavailable
from agent.models.endpoint import Endpoint, endpoint, model_name
from agent.models.probe import Finding, fitting
from agent.models.probe import probe as tried
from agent.profile import Profile, chosen
from assistants.cli.project import environment
from assistants.errors import SignalboxError

_MARKS = {True: "yes", False: "no", None: "?"}


async def probe(
    model: str,
    /,
    *,
    base_url: str | None = None,
    api_key: Annotated[str | None, Parameter(help="env:NAME, the variable with the endpoint's key.")] = None,
    marker: Annotated[str, Parameter(show=False)] = "",
) -> int:
    """Ask a model's endpoint what it can do; costs a few tokens.

    Exit code 0 when it answers, 1 when it does not.

    Parameters
    ----------
    model
        provider:model, as in an assistant's file.
    base_url
        The endpoint; by default the deployment's (OPENAI_BASE_URL, OPENAI_API_KEY).
    """
    values = environment()
    choice = ModelChoice(name=model, base_url=base_url, api_key=api_key)
    try:
        place, name = endpoint(choice, values), model_name(model)
        now = chosen(None, base_url=place.base_url, model=name, shared=base_url is None, environment=values)
    except ModelUnavailable as error:
        raise SignalboxError(error.detail) from None
    return _shown(model, place, await tried(place, model=name, marker=marker), now=now)


def _shown(model: str, place: Endpoint, findings: list[Finding], *, now: Profile) -> int:
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"{model} at {place.base_url or 'https://api.openai.com/v1'}", markup=False)
    for finding in findings:
        line = f"  {_MARKS[finding.holds]:<4} {finding.capability:<22} {finding.seen}"
        console.print(line, markup=False)
    answers = any(finding.capability == "chat" and finding.holds for finding in findings)
    if not answers:
        console.print("The model does not answer, so no profile can be told.")
        return 1
    found = fitting(findings, known=now)
    text = f"{found.name}, which it gets." if found == now else f"{found.name}; set model.profile to it."
    console.print(f"Profile that fits: {text}", markup=False)
    return 0
