"""Which files belong where."""

from __future__ import annotations

from pathlib import Path

from tests.unit.catalog.deployment import MINIMAL, SUPPORT, loaded, report, support

EXPECTED = "expected rings.yaml, bases/NAME.yaml, tenants/SLUG/tenant.yaml or tenants/SLUG/NAME.yaml"


def test_yaml_files_elsewhere_are_not_overlooked(tmp_path: Path) -> None:
    files = {
        "tenant.yaml": "",
        "bases.yaml": "",
        "tenants/x.yaml": "",
        "tenants/acme/bots/x.yaml": "",
        "other/y.yaml": "",
    }
    assert report(tmp_path, files) == [
        f"{name}:1:1: no catalog file belongs here; {EXPECTED}"
        for name in (
            "bases.yaml",
            "other/y.yaml",
            "tenant.yaml",
            "tenants/acme/bots/x.yaml",
            "tenants/x.yaml",
        )
    ]


def test_other_ending_of_yaml_files_is_refused(tmp_path: Path) -> None:
    files = {"rings.yml": "", "tenants/acme/support.yml": MINIMAL, "bases/b.yml": ""}
    assert report(tmp_path, files) == [
        f"{name}:1:1: catalog files end in .yaml; rename it"
        for name in ("bases/b.yml", "rings.yml", "tenants/acme/support.yml")
    ]


def test_documents_notes_and_hidden_files_are_left_alone(tmp_path: Path) -> None:
    files = {
        "README.md": "# Notes",
        ".github/ci.yaml": "not: [ours",
        "tenants/acme/handbook/returns.md": "# Returns",
        "tenants/acme/handbook/deep/table.yaml": "not: [ours",
        "tenants/acme/handbook/old.yml": "not: [ours",
        "tenants/acme/prompts/p.md": "Hello",
        "bases/sub/b.yaml": "graph: react",
        **support("prompt: {file: prompts/p.md}\n"),
    }
    assert [assistant.title for assistant in loaded(tmp_path, files).assistants] == ["acme/support"]


def test_only_bases_and_own_assistants_can_be_extended(tmp_path: Path) -> None:
    others = {
        "tenants/globex/tenant.yaml": "slug: globex\nring: late\ntimezone: UTC\n",
        "tenants/globex/bot.yaml": MINIMAL.replace("support", "bot"),
        "tenants/acme/two.yaml": MINIMAL.replace("support", "two"),
        "tenants/acme/p.md": "x",
        "tenants/acme/handbook/x.yaml": "graph: react",
    }
    reasons = {
        "../globex/bot.yaml": "the file belongs to a tenant; share it from bases/ instead",
        "tenant.yaml": "'tenant.yaml' is no base; extend a file of bases/ or an assistant",
        "../../rings.yaml": "'../../rings.yaml' is no base; extend a file of bases/ or an assistant",
        "handbook/x.yaml": "'handbook/x.yaml' is no base; extend a file of bases/ or an assistant",
        "p.md": "'p.md' does not end in .yaml",
        "twoo.yaml": "there is no file 'twoo.yaml'; did you mean 'two.yaml'?",
    }
    for named, reason in reasons.items():
        files = {**others, SUPPORT: f"{MINIMAL}extends: {named}\n"}
        assert report(tmp_path, files) == [f"{SUPPORT}:4:10: extends: {reason}"]
    assert report(tmp_path, {**others, SUPPORT: f"{MINIMAL}extends: two.yaml\n"}) == []


def test_base_cannot_depend_on_a_tenant(tmp_path: Path) -> None:
    files = {
        "bases/b.yaml": "extends: ../tenants/acme/support.yaml\n",
        "bases/c.yaml": "prompt: {file: ../tenants/acme/p.md}\n",
        "tenants/acme/p.md": "x",
        **support(""),
    }
    reason = "the file belongs to a tenant; share it from bases/ instead"
    assert report(tmp_path, files) == [
        f"bases/b.yaml:1:10: extends: {reason}",
        f"bases/c.yaml:1:16: prompt.file: {reason}",
    ]


def test_suggestions_never_name_another_tenants_files(tmp_path: Path) -> None:
    files = {
        "tenants/globex/tenant.yaml": "slug: globex\nring: late\ntimezone: UTC\n",
        "tenants/globex/special.md": "x",
        **support("prompt: {file: ../globex/specal.md}\n"),
    }
    assert report(tmp_path, files) == [f"{SUPPORT}:4:16: prompt.file: there is no file '../globex/specal.md'"]
