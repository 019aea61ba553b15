"""Looking below a root: links lead where they would lead inside, and never out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuaas_agent.host.confined_files import ConfinedFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside")
    root = tmp_path / "root"
    (root / "opt/echo").mkdir(parents=True)
    (root / "opt/echo/data").write_text("inside")
    (root / "secret").write_text("the root's own")
    return root


def test_kinds_names_and_contents_are_seen(root: Path) -> None:
    files = ConfinedFiles(root)
    (root / "opt/link").symlink_to("echo")
    os.mkfifo(root / "opt/pipe")
    assert [files.kind(f"/opt/{name}") for name in ("echo", "link", "pipe", "echo/data", "none", "none/x")] == [
        "folder",
        "link",
        "other",
        "file",
        None,
        None,
    ]
    assert files.names("/opt") == ["echo", "link", "pipe"]
    assert files.names("/none") == files.names("/opt/echo/data") == []
    assert files.read("/opt/link/data") == b"inside"
    assert files.read("/none") is None
    assert files.kind("/") == "folder"


@pytest.mark.parametrize("target", ["/secret", "../../../../secret", "../../secret", "/opt/../../secret"])
def test_a_link_out_of_the_root_leads_to_the_roots_own_file(root: Path, target: str) -> None:
    (root / "opt/echo/trap").symlink_to(target)
    assert ConfinedFiles(root).read("/opt/echo/trap") == b"the root's own"


def test_a_linked_folder_is_entered_inside_the_root_only(root: Path) -> None:
    (root / "opt/away").symlink_to(root.parent)  # an absolute path of the host, which is not in the root
    assert ConfinedFiles(root).read("/opt/away/secret") is None
    assert ConfinedFiles(root).names("/opt/away") == []


def test_links_that_go_round_and_files_that_never_end_are_errors_not_absence(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    os.mkfifo(root / "pipe")
    with pytest.raises(OSError):
        ConfinedFiles(root).read("/a")
    with pytest.raises(OSError):
        ConfinedFiles(root).read("/pipe")
    with pytest.raises(OSError):
        ConfinedFiles(root).kind("/a/x")
