"""The comparison that the documentation's tests rest on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.console import Command, blocks, commands, matches

DOCUMENT = """# Title

```console
$ first --flag
one
…
last
$ second
[2]
```

```sh
not a console
```
"""


def test_commands_are_read_with_output_and_code(tmp_path: Path) -> None:
    document = tmp_path / "d.md"
    document.write_text(DOCUMENT)
    assert commands(document) == [Command("first --flag", ("one", "…", "last"), 0), Command("second", (), 2)]
    assert [language for language, _ in blocks(document)] == ["console", "sh"]


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ((), "", True),
        ((), "something\n", False),
        (("one",), "one\n", True),
        (("one",), "one", True),
        (("one",), "one\ntwo\n", False),
        (("one", "…"), "one\n", True),
        (("one", "…", "end"), "one\na\nb\nend\n", True),
        (("one", "…", "end"), "one\na\nb\nend\nmore\n", False),
        (("order …: shipped",), "order 1001: shipped\n", True),
        (("order …: shipped",), "order 1001\n: shipped\n", False),
        (("a.c",), "abc\n", False),
    ],
)
def test_output_is_compared_with_its_gaps(expected: tuple[str, ...], printed: str, same: bool) -> None:  # noqa: FBT001
    assert matches(expected, printed) is same
