"""A stranger's first hour: a fresh clone, no uv, empty caches, and every command of the documentation."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.console import Command, blocks, commands, matches
from tests.support.server import PROJECT, free_port

pytestmark = [pytest.mark.anyio, pytest.mark.e2e]

DOCUMENTS = [
    "README.md",
    *sorted(p.relative_to(PROJECT).as_posix() for p in (PROJECT / "docs").rglob("*.md")),
]
READY = "Ctrl-C stops everything.\n"
_FORGOTTEN = re.compile(
    r"SIGNALBOX_|OPENAI_|UV_|XDG_|VIRTUAL_ENV|COVERAGE|PYTHON|PYTEST|npm_|PORT$|NO_COLOR|FORCE_COLOR|MAKE|MFLAGS"
)


@dataclass(frozen=True)
class Clone:
    """A fresh clone, and the environment of somebody who has Python and nothing else."""

    folder: Path
    environment: Mapping[str, str]


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    place = tmp_path_factory.mktemp("stranger")
    subprocess.run(["git", "clone", "--quiet", PROJECT, place / "signalbox"], check=True)
    tools = place / "bin"  # Python under its usual name, without whatever lies beside it on this machine
    tools.mkdir()
    (tools / "python3").symlink_to(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
    kept = {name: value for name, value in os.environ.items() if not _FORGOTTEN.match(name)}
    path = os.pathsep.join([str(tools), "/usr/bin", "/bin"])
    assert shutil.which("uv", path=path) is None
    return Clone(place / "signalbox", {**kept, "HOME": str(place), "PATH": path})


def test_every_block_of_the_documentation_is_executed_or_no_command() -> None:
    assert len(DOCUMENTS) > 8
    languages = {language for document in DOCUMENTS for language, _ in blocks(PROJECT / document)}
    assert languages <= {"console", "yaml", "json", "python", "text", "mermaid"}
    assert sum(len(commands(PROJECT / document)) for document in DOCUMENTS) > 15


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if commands(PROJECT / name)])
async def test_a_document_does_what_it_says(clone: Clone, document: str) -> None:
    async with session(clone) as shell:
        for command in commands(PROJECT / document):
            await shell.check(command)


@dataclass
class Shell:
    """Runs a document's commands one after the other; what one exports the next one sees."""

    clone: Clone
    state: Path
    port: int = 0
    server: asyncio.subprocess.Process | None = None
    draining: asyncio.Task[bytes] | None = None

    async def check(self, command: Command) -> None:
        serving = command.text.endswith("make dev")
        printed, code = await (self.serve(command.text) if serving else self.run(command.text))
        expected = tuple(
            line.replace("127.0.0.1:2024", f"127.0.0.1:{self.port}") for line in command.expected
        )
        assert code == command.code, f"{command.text}\n{printed}"
        assert matches(expected, printed), f"{command.text}\nprinted:\n{printed}"

    async def run(self, text: str) -> tuple[str, int]:
        """What the command prints, and its exit code."""
        script = f". {self.state}\n{text}\ncode=$?\nexport -p > {self.state}\nexit $code"
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", script),
            cwd=self.clone.folder,
            env={**self.clone.environment, "SIGNALBOX_URL": f"http://127.0.0.1:{self.port}"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(300):
            output, _ = await process.communicate()
        return output.decode(), process.returncode or 0

    async def serve(self, text: str) -> tuple[str, int]:
        """Start `make dev` on a free port; what it prints until it is ready."""
        await self.stop()
        self.port = free_port()
        self.server = await asyncio.create_subprocess_exec(
            *("bash", "-c", f"exec env {text} PORT={self.port}"),
            cwd=self.clone.folder,
            env=self.clone.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        printed = ""
        assert self.server.stdout is not None
        async with asyncio.timeout(300):
            while READY not in printed:
                line = (await self.server.stdout.readline()).decode()
                assert line, f"it ended while starting:\n{printed}"
                printed += line
        self.draining = asyncio.create_task(self.server.stdout.read())  # a full pipe would stop the server
        return printed, 0

    async def stop(self) -> None:
        """Ctrl-C, as a terminal sends it: to the whole foreground group."""
        if self.server is None:
            return
        os.killpg(self.server.pid, signal.SIGINT)
        async with asyncio.timeout(30):
            await self.server.wait()
            await (self.draining or asyncio.sleep(0))
        self.server = None


@asynccontextmanager
async def session(clone: Clone) -> AsyncGenerator[Shell]:
    state = clone.folder.parent / "exports"
    await asyncio.to_thread(state.write_text, "")
    shell = Shell(clone, state)
    try:
        yield shell
    finally:
        await shell.stop()


async def test_the_three_printed_commands_answer(clone: Clone) -> None:
    async with session(clone) as shell:
        printed, _ = await shell.serve("make dev")
        tried = [line.strip() for line in printed.splitlines() if line.startswith("  ")]
        tried = [line for line in tried if "1001" in line]
        assert len(tried) == 3
        for command in tried:
            output, code = await shell.run(command)
            assert code == 0, output
            assert "delivered" in output


async def test_the_graphs_and_the_catalog_work_from_an_installed_wheel(clone: Clone, tmp_path: Path) -> None:
    """Case 100: nothing depends on the checkout; no secret file is in what is shipped."""
    shell = Shell(clone, tmp_path / "exports")
    (tmp_path / "exports").write_text("")
    uv = clone.folder / ".uv/bin/uv"
    steps = [
        f"{uv} build --quiet --wheel --out-dir {tmp_path}",
        f"{uv} venv --quiet {tmp_path}/clean",
        f"{uv} export --quiet --frozen --no-dev --no-emit-project --output-file {tmp_path}/pins.txt",
        f"{uv} pip install --quiet --python {tmp_path}/clean -r {tmp_path}/pins.txt {tmp_path}/*.whl",
    ]
    for step in steps:
        output, code = await shell.run(step)
        assert code == 0, output
    check = (
        "import json, sys, importlib, pathlib\n"
        "config = json.loads(pathlib.Path(sys.argv[1]).read_text())\n"
        "targets = [graph['path'] for graph in config['graphs'].values()]\n"
        "targets += [config['auth']['path'], config['http']['app']]\n"
        "for target in targets:\n"
        "    module, name = target.split(':')\n"
        "    getattr(importlib.import_module(module), name)\n"
        "import agent; assert 'clean' in agent.__file__, agent.__file__\n"
        "print(len(targets))\n"
    )
    (tmp_path / "check.py").write_text(check)
    python = tmp_path / "clean/bin/python"
    output, code = await shell.run(f"cd {tmp_path} && {python} check.py {clone.folder}/langgraph.json")
    assert (output, code) == ("3\n", 0)
    output, code = await shell.run(f"cd {tmp_path} && {tmp_path}/clean/bin/signalbox ids | wc -l")
    assert output.strip() == "6"
    output, _ = await shell.run(f"{python} -m zipfile -l {tmp_path}/*.whl")
    assert "assistants/catalog/tenants/acme/handbook/returns.md" in output
    assert ".env" not in output
