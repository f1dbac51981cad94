from __future__ import annotations

import pytest

from tests.mutants.mutant import PROMISES, Mutant, NotOnce

GUARD = Mutant("the gate is shut", 2, "src/gate.py", "if shut:", "if False:", ("tests/test_gate.py",))


def test_a_guard_is_disabled_where_it_stands() -> None:
    assert GUARD.applied("a\nif shut:\n    b\n") == "a\nif False:\n    b\n"


@pytest.mark.parametrize(("text", "times"), [("", 0), ("if  shut:", 0), ("if shut:\nif shut:\n", 2)])
def test_a_text_that_does_not_stand_there_once_is_an_error(text: str, times: int) -> None:
    with pytest.raises(NotOnce, match=f"^'the gate is shut': 'if shut:' stands {times} times in src/gate.py"):
        GUARD.applied(text)


def test_every_invariant_that_has_guards_has_its_words() -> None:
    assert sorted(PROMISES) == [1, 2, 3, 4, 5, 6]
    assert all(PROMISES.values())
