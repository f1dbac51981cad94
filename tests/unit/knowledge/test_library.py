"""The library reads each tenant's own files, notices changes, and refuses what leads elsewhere."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

import assistants
from agent.knowledge import HandbookRefused, Library
from agent.knowledge.library import LARGEST, catalog_directory

pytestmark = pytest.mark.anyio


def write(catalog: Path, tenant: str, name: str, text: str) -> Path:
    folder = catalog / "tenants" / tenant / "handbook"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    write(folder, "acme", "returns.md", "# Returns\n\nKettles can be returned within thirty days.\n")
    write(folder, "globex", "returns.md", "# Returns\n\nTents can be returned within sixty days.\n")
    return folder


async def citations(library: Library, question: str, *, tenant: str = "acme") -> list[str]:
    return [hit.section.citation for hit in await library.search(question, tenant=tenant)]


class TestTenants:
    async def test_a_tenant_gets_its_own_passages(self, catalog: Path) -> None:
        library = Library(catalog)
        [acme] = await library.search("returns", tenant="acme")
        [globex] = await library.search("returns", tenant="globex")
        assert acme.section.text == "Kettles can be returned within thirty days."
        assert globex.section.text == "Tents can be returned within sixty days."

    async def test_what_only_another_tenants_handbook_says_is_not_found(self, catalog: Path) -> None:
        library = Library(catalog)
        assert await citations(library, "tents", tenant="globex") == ["returns.md#returns"]
        assert await citations(library, "tents", tenant="acme") == []
        assert await citations(library, "kettles", tenant="globex") == []

    async def test_questions_at_once_do_not_mix(self, catalog: Path) -> None:
        library = Library(catalog)
        answers = await asyncio.gather(
            *(library.search("returns", tenant=("acme", "globex")[index % 2]) for index in range(20))
        )
        words = [answer[0].section.text.split()[0] for answer in answers]
        assert words == ["Kettles", "Tents"] * 10

    async def test_a_tenant_without_a_handbook_has_no_passages(self, catalog: Path) -> None:
        library = Library(catalog)
        assert await citations(library, "returns", tenant="umbrella") == []
        (catalog / "tenants" / "hollow" / "handbook").mkdir(parents=True)
        assert await citations(library, "returns", tenant="hollow") == []

    @pytest.mark.parametrize(
        "tenant",
        [
            "",
            ".",
            "..",
            "../acme",
            "acme/../globex",
            "acme/",
            "/acme",
            "Acme",
            "acme\n",
            "-acme",
            "ac me",
            "acme\x00",
        ],
    )
    async def test_a_tenant_that_is_no_slug_is_refused(self, catalog: Path, tenant: str) -> None:
        with pytest.raises(HandbookRefused) as refused:
            await Library(catalog).search("returns", tenant=tenant)
        assert repr(tenant) in refused.value.detail
        assert str(catalog) not in str(refused.value)


class TestChanges:
    async def test_a_changed_file_is_read_again(self, catalog: Path) -> None:
        library = Library(catalog)
        assert await citations(library, "kettles") == ["returns.md#returns"]
        write(catalog, "acme", "returns.md", "# Returns\n\nSaucepans can be returned within thirty days.\n")
        assert await citations(library, "kettles") == []
        assert await citations(library, "saucepans") == ["returns.md#returns"]

    async def test_a_change_of_the_same_length_is_noticed_by_its_time(self, catalog: Path) -> None:
        library = Library(catalog)
        path = write(catalog, "acme", "returns.md", "# Returns\n\nalpha words\n")
        assert await citations(library, "alpha") == ["returns.md#returns"]
        before = path.stat()
        path.write_text("# Returns\n\nomega words\n", encoding="utf-8")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
        assert path.stat().st_size == before.st_size
        assert await citations(library, "omega") == ["returns.md#returns"]

    async def test_new_and_removed_files_are_noticed(self, catalog: Path) -> None:
        library = Library(catalog)
        assert await citations(library, "warranty") == []
        path = write(catalog, "acme", "warranty.md", "# Warranty\n\nTwo years.\n")
        assert await citations(library, "warranty") == ["warranty.md#warranty"]
        path.unlink()
        assert await citations(library, "warranty") == []

    async def test_an_unchanged_handbook_is_not_read_again(
        self, catalog: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        library = Library(catalog)
        assert await citations(library, "kettles") == ["returns.md#returns"]

        def never(path: Path) -> str:
            raise AssertionError(f"{path.name} was read again")

        monkeypatch.setattr("agent.knowledge.library._read", never)
        assert await citations(library, "kettles") == ["returns.md#returns"]
        with pytest.raises(AssertionError, match=r"returns\.md was read again"):
            await citations(library, "tents", tenant="globex")

    async def test_other_files_and_folders_are_left_alone(self, catalog: Path) -> None:
        write(catalog, "acme", "notes.txt", "# Notes\n\nzebra\n")
        write(catalog, "acme", "draft.md.bak", "# Draft\n\nzebra\n")
        (catalog / "tenants" / "acme" / "handbook" / "old").mkdir()
        (catalog / "tenants" / "acme" / "handbook" / "old" / "zebra.md").write_text("# Old\n\nzebra\n")
        library = Library(catalog)
        assert await citations(library, "zebra") == []
        assert await citations(library, "kettles") == ["returns.md#returns"]


class TestRefusals:
    async def test_a_document_that_is_a_link_is_refused(self, catalog: Path, tmp_path: Path) -> None:
        secret = tmp_path / "secret.md"
        secret.write_text("# Secret\n\npasswords\n")
        (catalog / "tenants" / "acme" / "handbook" / "link.md").symlink_to(secret)
        with pytest.raises(HandbookRefused, match=r"'link\.md' is a link") as refused:
            await Library(catalog).search("passwords", tenant="acme")
        assert str(tmp_path) not in str(refused.value)

    async def test_a_link_within_the_handbook_is_refused_too(self, catalog: Path) -> None:
        folder = catalog / "tenants" / "acme" / "handbook"
        (folder / "again.md").symlink_to(folder / "returns.md")
        with pytest.raises(HandbookRefused, match=r"again\.md"):
            await Library(catalog).search("returns", tenant="acme")

    async def test_a_document_that_is_a_folder_is_refused(self, catalog: Path) -> None:
        (catalog / "tenants" / "acme" / "handbook" / "folder.md").mkdir()
        with pytest.raises(HandbookRefused, match=r"'folder\.md'"):
            await Library(catalog).search("returns", tenant="acme")

    @pytest.mark.parametrize("part", ["tenants", "umbrella", "handbook"])
    async def test_a_folder_on_the_way_that_is_a_link_is_refused(self, catalog: Path, part: str) -> None:
        places = {
            "tenants": catalog.parent / "other",
            "umbrella": catalog,
            "handbook": catalog,
        }
        root = places[part]
        root.mkdir(exist_ok=True)
        if part == "tenants":
            (root / "tenants").symlink_to(catalog / "tenants")
        elif part == "umbrella":
            (root / "tenants" / "umbrella").symlink_to(root / "tenants" / "globex")
        else:
            (root / "tenants" / "umbrella").mkdir()
            (root / "tenants" / "umbrella" / "handbook").symlink_to(root / "tenants" / "globex" / "handbook")
        with pytest.raises(HandbookRefused, match=f"{part!r}.*is a link"):
            await Library(root).search("tents", tenant="umbrella")

    async def test_a_document_swapped_for_a_link_is_not_followed(
        self, catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The file is replaced after it was looked at and before it is opened."""
        secret = tmp_path / "secret.md"
        secret.write_text("# Secret\n\npasswords\n")
        path = catalog / "tenants" / "acme" / "handbook" / "returns.md"
        opened = os.open
        swapped: list[Path] = []

        def swap(name: Path, flags: int) -> int:
            path.unlink()
            path.symlink_to(secret)
            swapped.append(name)
            return opened(name, flags)

        monkeypatch.setattr("agent.knowledge.library.os.open", swap)
        with pytest.raises(HandbookRefused, match=r"'returns\.md' cannot be read"):
            await Library(catalog).search("passwords", tenant="acme")
        assert swapped == [path]

    async def test_a_document_that_is_too_large_is_refused(self, catalog: Path) -> None:
        write(catalog, "acme", "big.md", "x" * (LARGEST + 1))
        with pytest.raises(HandbookRefused, match=f"{LARGEST + 1} bytes; expected at most {LARGEST}"):
            await Library(catalog).search("returns", tenant="acme")

    async def test_the_largest_document_is_read_to_its_end(self, catalog: Path) -> None:
        text = "# Filler\n\n" + "a " * (LARGEST // 2 - 40) + "\n\n# Zebra\n\nstripes\n"
        assert len(text) <= LARGEST
        write(catalog, "acme", "big.md", text)
        assert await citations(Library(catalog), "zebra stripes") == ["big.md#zebra"]

    async def test_a_document_that_is_not_utf_8_is_refused(self, catalog: Path) -> None:
        write(catalog, "acme", "latin.md", "x").write_bytes("# Rückgabe\n\nText".encode("latin-1"))
        with pytest.raises(HandbookRefused, match=r"'latin\.md' cannot be read as UTF-8"):
            await Library(catalog).search("returns", tenant="acme")

    async def test_one_tenants_broken_handbook_does_not_touch_another(self, catalog: Path) -> None:
        write(catalog, "acme", "latin.md", "x").write_bytes(b"\xff\xfe")
        library = Library(catalog)
        with pytest.raises(HandbookRefused):
            await library.search("returns", tenant="acme")
        assert await citations(library, "tents", tenant="globex") == ["returns.md#returns"]

    async def test_a_repaired_handbook_is_read(self, catalog: Path) -> None:
        path = write(catalog, "acme", "latin.md", "x")
        path.write_bytes(b"\xff\xfe")
        library = Library(catalog)
        with pytest.raises(HandbookRefused):
            await library.search("kettles", tenant="acme")
        path.unlink()
        assert await citations(library, "kettles") == ["returns.md#returns"]


class TestCatalog:
    def test_the_environment_names_the_catalog(self, tmp_path: Path) -> None:
        assert catalog_directory({"SIGNALBOX_CATALOG": str(tmp_path)}) == tmp_path

    @pytest.mark.parametrize("environment", [{}, {"SIGNALBOX_CATALOG": ""}])
    def test_the_shipped_catalog_is_the_default(self, environment: dict[str, str]) -> None:
        shipped = catalog_directory(environment)
        assert shipped == Path(assistants.__file__).parent / "catalog"
        assert (shipped / "tenants" / "acme" / "handbook" / "returns.md").is_file()

    def test_without_an_installed_catalog_one_has_to_be_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("agent.knowledge.library._PACKAGE", "no_such_package")
        with pytest.raises(HandbookRefused, match="SIGNALBOX_CATALOG"):
            catalog_directory({})
        monkeypatch.setattr("agent.knowledge.library._PACKAGE", "json.decoder")
        with pytest.raises(HandbookRefused, match="SIGNALBOX_CATALOG"):
            catalog_directory({})
        assert catalog_directory({"SIGNALBOX_CATALOG": str(tmp_path)}) == tmp_path

    def test_finding_the_shipped_catalog_imports_nothing_of_it(self) -> None:
        script = (
            "import sys\nfrom agent.knowledge.library import catalog_directory\n"
            "assert catalog_directory({}).name == 'catalog'\n"
            "print([name for name in sys.modules if name.split('.')[0] == 'assistants'])"
        )
        done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
        assert done.stdout.strip() == "[]"

    async def test_a_library_without_a_catalog_follows_the_environment(
        self, catalog: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SIGNALBOX_CATALOG", str(catalog))
        [hit] = await Library().search("kettles", tenant="acme")
        assert hit.section.text == "Kettles can be returned within thirty days."


async def test_the_limit_bounds_the_passages(catalog: Path) -> None:
    for name in "abcde":
        write(catalog, "acme", f"{name}.md", "# Zebra\n\nstripes\n")
    library = Library(catalog)
    assert len(await library.search("zebra", tenant="acme")) == 3
    assert len(await library.search("zebra", tenant="acme", limit=5)) == 5


async def test_nothing_blocks_the_event_loop(catalog: Path) -> None:
    library = Library(catalog)
    with blockbuster_ctx():
        found = await citations(library, "kettles")
    assert found == ["returns.md#returns"]
