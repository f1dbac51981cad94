from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from dotenv import dotenv_values

import assistants
from assistants.cli import dotenv as module
from assistants.cli.dotenv import ensure, load
from assistants.settings import Settings, weak

EXAMPLE = f"""\
# Signs tokens.
SIGNALBOX_ENV=dev
SIGNALBOX_JWT_SECRET=
# SIGNALBOX_SERVER_SECRET=
 SIGNALBOX_SERVER_SECRET ={" "}
OTHER_SECRET=
SIGNALBOX_JWT_SECRET_OLD=
SIGNALBOX_MESSAGES=delta
"""
SHIPPED = Path(assistants.__file__).parents[2] / ".env.example"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".env.example").write_text(EXAMPLE, encoding="utf-8")
    return tmp_path


@pytest.fixture(params=[0o022, 0o000, 0o077], ids=oct)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    old = os.umask(request.param)
    yield
    os.umask(old)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment that `load` sees in place of this machine's."""
    variables = {"PATH": "/bin"}
    monkeypatch.setattr(module, "os", SimpleNamespace(environ=variables))
    return variables


def values(project: Path) -> dict[str, str | None]:
    return dotenv_values(project / ".env")


# Writing


def test_the_first_start_writes_the_file_with_secrets_of_its_own(project: Path) -> None:
    assert ensure(project)
    written = values(project)
    token, stamp = written["SIGNALBOX_JWT_SECRET"], written["SIGNALBOX_SERVER_SECRET"]
    assert token is not None
    assert stamp is not None
    assert token != stamp
    for secret in (token, stamp):
        assert len(secret) == 64
        assert not weak(secret)


def test_every_other_line_stays_as_it_was(project: Path) -> None:
    ensure(project)
    before, after = EXAMPLE.splitlines(), (project / ".env").read_text(encoding="utf-8").splitlines()
    changed = [old for old, new in zip(before, after, strict=True) if old != new]
    assert changed == ["SIGNALBOX_JWT_SECRET=", " SIGNALBOX_SERVER_SECRET = "]


def test_two_projects_have_different_secrets(tmp_path: Path) -> None:
    found: set[str | None] = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".env.example").write_text(EXAMPLE)
        ensure(tmp_path / name)
        found |= {values(tmp_path / name)[key] for key in ("SIGNALBOX_JWT_SECRET", "SIGNALBOX_SERVER_SECRET")}
    assert len(found) == 4


@pytest.mark.usefixtures("_umask")
def test_nobody_else_can_read_the_file(project: Path) -> None:
    ensure(project)
    assert (project / ".env").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "SIGNALBOX_JWT_SECRET=\n", "mine=1\n"])
def test_an_existing_file_is_not_touched(project: Path, content: str) -> None:
    (project / ".env").write_text(content)
    (project / ".env").chmod(0o644)
    before = (project / ".env").stat()
    assert not ensure(project)
    after = (project / ".env").stat()
    assert (project / ".env").read_text() == content
    assert (after.st_mtime_ns, after.st_mode, after.st_ino) == (
        before.st_mtime_ns,
        before.st_mode,
        before.st_ino,
    )


def test_a_second_start_keeps_the_secrets(project: Path) -> None:
    ensure(project)
    first = (project / ".env").read_text()
    assert not ensure(project)
    assert (project / ".env").read_text() == first


def test_a_link_that_leads_nowhere_is_not_followed(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (project / ".env").symlink_to(elsewhere)
    with pytest.raises(FileExistsError):
        ensure(project)
    assert not elsewhere.exists()


def test_a_secret_that_the_example_sets_stays(project: Path) -> None:
    (project / ".env.example").write_text("SIGNALBOX_JWT_SECRET=given\n")
    ensure(project)
    assert values(project) == {"SIGNALBOX_JWT_SECRET": "given"}


def test_the_shipped_example_gives_a_development_server_with_two_secrets(tmp_path: Path) -> None:
    (tmp_path / ".env.example").write_text(SHIPPED.read_text(encoding="utf-8"), encoding="utf-8")
    ensure(tmp_path)
    written = {name: value for name, value in values(tmp_path).items() if value}
    settings = Settings.read(written)
    assert settings.development
    assert settings.jwt_secret != settings.server_secret
    assert settings.jwt_secret is not None
    assert not weak(settings.jwt_secret)
    assert written["LANGSMITH_TRACING"] == "false"


# Loading


def test_the_file_lies_under_the_environment(project: Path, shell: dict[str, str]) -> None:
    shell["BOTH"] = "shell"
    (project / ".env").write_text("BOTH=file\nFILE_ONLY=2\n")
    assert load(project) == {"PATH": "/bin", "BOTH": "shell", "FILE_ONLY": "2"}


def test_an_empty_line_sets_nothing(project: Path, shell: dict[str, str]) -> None:
    (project / ".env").write_text("EMPTY=\nQUOTED=''\nNO_SIGN\nSET=1\n")
    assert load(project) == {**shell, "SET": "1"}


def test_a_variable_that_the_shell_empties_stays_empty(project: Path, shell: dict[str, str]) -> None:
    shell["OPENAI_API_KEY"] = ""
    (project / ".env").write_text("OPENAI_API_KEY=sk-1\n")
    assert load(project) == {"PATH": "/bin", "OPENAI_API_KEY": ""}


def test_without_a_file_there_is_the_environment(project: Path, shell: dict[str, str]) -> None:
    assert load(project) == shell == {"PATH": "/bin"}


def test_a_folder_of_that_name_is_no_file(project: Path, shell: dict[str, str]) -> None:
    (project / ".env").mkdir()
    assert load(project) == shell == {"PATH": "/bin"}


def test_loading_does_not_change_the_process(project: Path, shell: dict[str, str]) -> None:
    (project / ".env").write_text("NEW=1\n")
    loaded = load(project)
    loaded["PATH"] = "/evil"
    assert shell == {"PATH": "/bin"}
