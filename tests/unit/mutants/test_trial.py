from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import trial
from tests.mutants.mutant import Mutant, NotOnce
from tests.mutants.tree import Tree
from tests.mutants.trial import attempt, healthy, red

pytestmark = pytest.mark.anyio

SOURCE = "def allowed(amount):\n    return amount <= 10\n"
TESTS = """
import time

import pytest

from gate import allowed


@pytest.mark.parametrize("amount", [10, 11])
def test_ten_are_allowed_and_no_more(amount):
    assert allowed(amount) == (amount == 10)


def test_one_is_allowed():
    assert allowed(1)


@pytest.fixture
def broken():
    assert not allowed(11)


def test_that_can_not_begin(broken):
    assert True


def test_that_waits():
    if allowed(11):
        time.sleep(60)
"""
ORDER = "test_gate.py::test_ten_are_allowed_and_no_more"
GATE = Mutant("a limit", 2, "src/gate.py", "amount <= 10", "True", (ORDER,))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/gate.py").write_text(SOURCE)
    (tmp_path / "test_gate.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return Tree(tmp_path)


async def test_a_guard_whose_absence_a_test_notices_is_killed(tree: Tree) -> None:
    outcome = await attempt(tree, GATE)
    assert (outcome.killed, outcome.red, outcome.output) == (True, ORDER, "")
    assert (tree.root / "src/gate.py").read_text() == SOURCE


async def test_a_guard_that_no_test_looks_at_survives(tree: Tree) -> None:
    outcome = await attempt(tree, replace(GATE, tests=("test_gate.py::test_one_is_allowed",)))
    assert not outcome.killed
    assert "1 passed" in outcome.output


@pytest.mark.parametrize(
    ("change", "test", "told"),
    [
        ("amount <=", ORDER, "SyntaxError"),
        ("amount <= nobody", "test_gate.py::test_no_such_test", "not found"),
        ("True", "test_gate.py::test_that_can_not_begin", "ERROR"),
    ],
)
async def test_an_error_that_is_no_failed_test_kills_nothing(
    tree: Tree, change: str, test: str, told: str
) -> None:
    outcome = await attempt(tree, replace(GATE, new=change, tests=(test,)))
    assert not outcome.killed
    assert told in outcome.output


async def test_a_mutant_that_never_ends_is_not_killed(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_SECONDS", 3.0)
    outcome = await attempt(tree, replace(GATE, tests=("test_gate.py::test_that_waits",)))
    assert (outcome.killed, outcome.output) == (False, "the tests did not end within 3 s")


async def test_a_mutant_that_does_not_fit_is_an_error_and_changes_nothing(tree: Tree) -> None:
    with pytest.raises(NotOnce):
        await attempt(tree, replace(GATE, old="amount < 10"))
    assert (tree.root / "src/gate.py").read_text() == SOURCE


async def test_without_a_mutant_the_named_tests_are_green_in_every_copy(tree: Tree) -> None:
    other = replace(GATE, tests=("test_gate.py::test_one_is_allowed",))
    assert await healthy([tree, tree, tree], [GATE, GATE, other]) is None
    (tree.root / "src/gate.py").write_text(SOURCE.replace("10", "0"))
    sick = await healthy([tree, tree], [GATE, other])
    assert sick is not None
    assert f"FAILED {ORDER}[10]" in sick
    assert "FAILED test_gate.py::test_one_is_allowed" in sick


@pytest.mark.parametrize(
    ("code", "output", "expected"),
    [
        (1, "FAILED tests/a.py::test_b[x y] - assert 1 == 2\n", "tests/a.py::test_b"),
        (
            1,
            "FAILED tests/a.py::TestA::test_b - assert\nFAILED tests/c.py::test_d\n",
            "tests/a.py::TestA::test_b",
        ),
        (1, "ERROR    agent.log:log.py:1 x\nFAILED tests/a.py::test_b - x\n", "tests/a.py::test_b"),
        (0, "FAILED tests/a.py::test_b - printed by a test\n", None),
        (1, "1 failed\n", None),
        (1, "FAILED tests/a.py::test_b - x\nERROR tests/a.py::test_c - y\n", None),
        (2, "ERROR tests/a.py - ImportError\n", None),
        (5, "no tests ran\n", None),
    ],
)
def test_red_is_a_failed_test_and_nothing_else(code: int, output: str, expected: str | None) -> None:
    assert red(code, output) == expected
