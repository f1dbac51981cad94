"""The list of mutants fits the source, the tests and the table that is checked in."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.table import FILE, guards
from tests.support.server import PROJECT


def names(file: str) -> set[str]:
    """The tests of a file, as a node id names them."""
    tree = ast.parse((PROJECT / file).read_text())
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            inner = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}::{one.name}" for one in inner}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


def test_each_invariant_has_mutants_and_each_guard_a_name() -> None:
    count = Counter(mutant.invariant for mutant in MUTANTS)
    assert len(MUTANTS) >= 30
    assert sorted(count) == [1, 2, 3, 4, 5, 6]
    assert min(count.values()) >= 5
    assert len({mutant.guard for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.guard.replace(" ", "-"))
def test_a_mutant_fits_the_source(mutant: Mutant) -> None:
    changed = mutant.applied((PROJECT / mutant.file).read_text())
    assert mutant.old != mutant.new
    ast.parse(changed)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.guard.replace(" ", "-"))
def test_a_mutant_names_tests_that_are_there(mutant: Mutant) -> None:
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert name in names(file), f"{test} is not there; name the test that notices {mutant.guard!r}"


def test_the_table_that_is_checked_in_is_of_these_mutants() -> None:
    document = (PROJECT / FILE).read_text()
    assert guards(document) == [mutant.guard for mutant in MUTANTS], "run 'make mutants'"
    assert f"\n{len(MUTANTS)} of {len(MUTANTS)} mutants are killed.\n" in document
    for mutant in MUTANTS:
        assert f"`{mutant.file}`" in document
