from __future__ import annotations

from tests.mutants.mutant import Mutant
from tests.mutants.table import guards, rendered
from tests.mutants.trial import Outcome

RED = "tests/test_gate.py::test_it_is_shut"


def mutant(guard: str, *, old: str = "if shut:", new: str = "if False:") -> Mutant:
    return Mutant(guard, 2, "src/gate.py", old, new, (RED,))


KILLED = Outcome(mutant("the gate is shut"), RED)
SURVIVOR = Outcome(mutant("a | b", old="    x(a | b)\n    y()\n", new=""), None, "1 passed")


def test_a_row_says_what_was_disabled_and_who_noticed() -> None:
    assert rendered([KILLED]).splitlines()[-1] == (
        f"| the gate is shut | 2 | `src/gate.py`: `if shut:` → `if False:` | `{RED}` | yes |"
    )


def test_a_survivor_stands_out_and_a_bar_does_not_end_its_cell() -> None:
    document = rendered([KILLED, SURVIVOR])
    assert document.splitlines()[-1] == (
        "| a \\| b | 2 | `src/gate.py`: `x(a \\| b) y()` removed | none | **no** |"
    )
    assert "\n1 of 2 mutants are killed.\n" in document


def test_the_table_names_its_guards_in_order() -> None:
    assert guards(rendered([SURVIVOR, KILLED])) == ["a | b", "the gate is shut"]
    assert guards(rendered([])) == []


def test_the_same_outcomes_make_the_same_document() -> None:
    assert rendered([KILLED, SURVIVOR]) == rendered([KILLED, SURVIVOR])
    assert rendered([KILLED]).endswith("|\n")
