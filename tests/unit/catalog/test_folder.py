"""The catalog's directory: nothing outside it is ever read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from assistants.loading.folder import LARGEST, Folder, catalog_root, shipped_root, survey
from tests.unit.catalog.deployment import write


def surveyed(root: Path) -> tuple[Folder, list[str]]:
    folder, problems = survey(root)
    assert folder is not None
    return folder, sorted(map(str, problems))


def target(folder: Folder, named: str, by: str = "tenants/acme/support.yaml") -> str:
    return folder.target(named, by=by, among=folder.files)


def test_root_is_the_named_directory_or_the_shipped_one(tmp_path: Path) -> None:
    assert catalog_root(tmp_path) == tmp_path
    assert catalog_root(None) == shipped_root()
    assert (shipped_root() / "rings.yaml").is_file()


def test_missing_directory_is_a_problem_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for root in (tmp_path / "nowhere", tmp_path / "file"):
        folder, problems = survey(root)
        assert folder is None
        assert [str(problem) for problem in problems] == [
            ".:1:1: the catalog's directory does not exist; set SIGNALBOX_CATALOG to one that does"
        ]


def test_files_and_folders_are_listed_and_dotted_names_ignored(tmp_path: Path) -> None:
    write(tmp_path, {"rings.yaml": "", "a/b/c.md": "", ".git/config": "", "a/.hidden.yaml": ""})
    folder, problems = surveyed(tmp_path)
    assert problems == []
    assert folder.files == {"rings.yaml", "a/b/c.md"}
    assert folder.folders == {"a", "a/b"}


def test_symbolic_links_are_refused_and_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.md": "secret", "folder/x.yaml": "a: 1"})
    root = write(tmp_path / "root", {"rings.yaml": "rings: [a]"})
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "inside.yaml").symlink_to(root / "rings.yaml")
    (root / "folder").symlink_to(outside / "folder", target_is_directory=True)
    (root / "dangling.md").symlink_to(root / "nothing")
    folder, problems = surveyed(root)
    assert folder.files == {"rings.yaml"}
    assert problems == [
        f"{name}:1:1: is a symbolic link; put the file itself here"
        for name in ("dangling.md", "folder", "inside.yaml", "link.md")
    ]
    for named in ("link.md", "folder/x.yaml"):
        with pytest.raises(ValueError, match=r"symbolic links are not followed$"):
            target(folder, named, by="rings.yaml")


def test_file_that_becomes_a_link_after_the_survey_is_not_read(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.md": "secret"})
    root = write(tmp_path / "root", {"a.md": "text"})
    folder, _ = surveyed(root)
    (root / "a.md").unlink()
    (root / "a.md").symlink_to(outside / "secret.md")
    text, problems = folder.read("a.md")
    assert text is None
    assert [problem.message.split(":")[0] for problem in problems] == ["cannot be read"]


def test_file_that_vanishes_is_a_problem(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.md": "text"})
    folder, _ = surveyed(root)
    (root / "a.md").unlink()
    assert [str(problem) for problem in folder.read("a.md")[1]] == [
        "a.md:1:1: cannot be read: No such file or directory"
    ]


@pytest.mark.parametrize("replace", [os.mkfifo, os.mkdir])
def test_file_that_becomes_something_else_is_neither_read_nor_waited_for(
    tmp_path: Path, replace: Callable[[Path], None]
) -> None:
    root = write(tmp_path, {"a.md": "text"})
    folder, _ = surveyed(root)
    (root / "a.md").unlink()
    replace(root / "a.md")
    text, problems = folder.read("a.md")
    assert text is None
    assert [str(problem) for problem in problems] == ["a.md:1:1: is not a regular file any more"]


def test_pipes_and_unprintable_names_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "two\nlines.yaml").touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).touch()
    folder, problems = surveyed(tmp_path)
    assert folder.files == frozenset()
    assert problems == [
        "'\\udcff.md':1:1: has a name that cannot be printed; rename it",
        "'two\\nlines.yaml':1:1: has a name that cannot be printed; rename it",
        "pipe.yaml:1:1: is neither a file nor a directory",
    ]


def test_folder_that_cannot_be_listed_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"closed/a.md": "", "open/b.md": ""})
    scandir = os.scandir

    def guarded(path: Path) -> object:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)  # the tests may run as a user who may read everything
    folder, problems = surveyed(tmp_path)
    assert folder.files == {"open/b.md"}
    assert problems == ["closed:1:1: cannot be listed: Permission denied"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a: 1\nb: \0", "2:4: holds a null byte; a catalog file is text"),
        (b"a: 1\nb: \xff\xfe", "2:4: is not UTF-8; save it as UTF-8"),
        ("é: ü".encode("latin-1"), "1:1: is not UTF-8; save it as UTF-8"),
        ("ü: é ".encode() + b"\xe9", "1:6: is not UTF-8; save it as UTF-8"),
        ("a: 1".encode("utf-16"), "1:4: holds a null byte; a catalog file is text"),
        (b"a" * (LARGEST + 1), "1:1: is larger than 256 kB; split it"),
    ],
)
def test_content_that_is_no_text_is_refused_with_its_place(tmp_path: Path, content: bytes, line: str) -> None:
    (tmp_path / "a.yaml").write_bytes(content)
    folder, _ = surveyed(tmp_path)
    text, problems = folder.read("a.yaml")
    assert text is None
    assert [str(problem) for problem in problems] == [f"a.yaml:{line}"]


def test_largest_file_byte_order_mark_and_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"a" * LARGEST)
    (tmp_path / "b.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    folder, _ = surveyed(tmp_path)
    assert folder.read("a.md") == ("a" * LARGEST, [])
    assert folder.read("b.md") == ("one\ntwo\nthree\n", [])


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    write(tmp_path, {"bases/a.yaml": "", "tenants/acme/p.md": "", "tenants/acme/sub/q.md": ""})
    folder, _ = surveyed(tmp_path)
    assert target(folder, "../../bases/a.yaml") == "bases/a.yaml"
    assert target(folder, "p.md") == "tenants/acme/p.md"
    assert target(folder, "./sub/../sub/q.md") == "tenants/acme/sub/q.md"
    assert target(folder, "bases/a.yaml", by="rings.yaml") == "bases/a.yaml"


@pytest.mark.parametrize(
    "named", ["../../../outside.md", "../../..", "x/../../../../etc/passwd", "../../../root/rings.yaml"]
)
def test_paths_that_leave_the_catalog_are_refused(tmp_path: Path, named: str) -> None:
    write(tmp_path, {"outside.md": "", "root/rings.yaml": ""})
    folder, _ = surveyed(tmp_path / "root")
    with pytest.raises(ValueError, match=r"leaves the catalog; name a file inside it$"):
        target(folder, named)


@pytest.mark.parametrize(
    "named",
    [
        "",
        "/etc/passwd",
        "~/x.md",
        "..\\..\\x.md",
        "C:/x.md",
        "file:///etc/passwd",
        "https://example.com/x.md",
    ],
)
def test_names_that_are_no_relative_paths_are_refused(tmp_path: Path, named: str) -> None:
    write(tmp_path, {"rings.yaml": ""})
    folder, _ = surveyed(tmp_path)
    with pytest.raises(ValueError, match=r"is not a path relative to this file, written with '/'$"):
        target(folder, named)


def test_unknown_file_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    write(tmp_path, {"bases/support.yaml": "", "bases/support.md": "", "tenants/acme/x.md": ""})
    folder, _ = surveyed(tmp_path)
    with pytest.raises(
        ValueError,
        match=r"^there is no file '../../bases/suport.yaml'; did you mean '../../bases/support.yaml'\?$",
    ):
        target(folder, "../../bases/suport.yaml")
    with pytest.raises(ValueError, match=r"^there is no file '../../bases'"):
        target(folder, "../../bases")
    with pytest.raises(ValueError, match=r"^there is no file '../../bases/suport.yaml'$"):
        folder.target("../../bases/suport.yaml", by="tenants/acme/x.yaml", among=())


def test_suggestions_cost_nothing_where_the_file_is_there(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": ""})
    folder, _ = surveyed(tmp_path)
    looked_at: list[str] = []
    near = (looked_at.append(name) or name for name in ("b.md", "c.md"))
    assert folder.target("a.md", by="rings.yaml", among=near) == "a.md"
    assert looked_at == []
    with pytest.raises(ValueError, match=r"there is no file 'd.md'; did you mean"):
        folder.target("d.md", by="rings.yaml", among=near)
    assert looked_at == ["b.md", "c.md"]
