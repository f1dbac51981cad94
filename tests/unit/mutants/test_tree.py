from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.tree import NotTheCopy, Tree, copied
from tests.support.server import PROJECT

pytestmark = pytest.mark.anyio


async def test_a_copy_is_what_is_imported_in_it(tmp_path: Path) -> None:
    tree = await copied(tmp_path)
    code, output = await tree.python("-c", "import agent.stamp; print(agent.stamp.__file__)", seconds=60)
    assert (code, output.strip()) == (0, str(tmp_path / "src/agent/stamp.py"))
    assert (tmp_path / "src/agent/stamp.py").read_bytes() == (PROJECT / "src/agent/stamp.py").read_bytes()
    assert not (tmp_path / ".venv").exists()
    assert not (tmp_path / ".git").exists()


async def test_a_folder_without_the_project_is_no_copy(tmp_path: Path) -> None:
    with pytest.raises(NotTheCopy, match="expected agent, assistants, tests of the copy"):
        await Tree(tmp_path).check()


async def test_a_mutant_is_in_the_copy_only_while_it_is_tried(tmp_path: Path) -> None:
    file = tmp_path / "gate.py"
    file.write_text("SHUT = True\n")
    os.utime(file, ns=(10**18, 10**18))
    guard = Mutant("the gate is shut", 2, "gate.py", "True", "False", ())
    tree = Tree(tmp_path)
    with tree.mutated(guard):
        _, open_gate = await tree.python("-c", "import gate; print(gate.SHUT)", seconds=30)
    _, shut_gate = await tree.python("-c", "import gate; print(gate.SHUT)", seconds=30)
    assert (open_gate.strip(), shut_gate.strip()) == ("False", "True")
    assert file.read_text() == "SHUT = True\n"
    assert file.stat().st_mtime_ns == 10**18


async def test_a_process_that_never_ends_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        await Tree(tmp_path).python("-c", "import time; time.sleep(60)", seconds=1.0)
