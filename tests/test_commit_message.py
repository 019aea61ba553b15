"""A commit says in its subject what it does, in the imperative, and in its body why; the hook of pre-commit insists."""

import os
import shutil
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[1]
TOOL = REPOSITORY / "tools" / "commit-message"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    loader = SourceFileLoader("commit_message", str(TOOL))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


GOOD = (
    "Add a lane for revocations\n\nThey waited behind large images.\n",
    "Embed PostgreSQL\n\nOne command starts everything.\n",
    "Focus the dialog's first field\n\nKeyboards had to search for it.\n",
    "Process heartbeats in batches\n\nOne write a node was too many.\n",
    f"{'Add words ' * 7}ok\n\nWhy.\n",  # 72 characters
    'Revert "the last change"\n',
    "fixup! Add a lane\n",
    "Merge branch 'main'\n",
    "# a comment first\nAdd a lane\n\nWhy.\n# Changes to be committed:\n",
)


@pytest.mark.parametrize("message", GOOD)
def test_a_good_message_passes(tool: ModuleType, message: str) -> None:
    assert tool.find_faults(message, changed_lines=500) == []


BAD = (
    ("", "Write a subject"),
    (f"Add {'w' * 69}", "72 characters; it has 73"),
    ("Add a lane.", "without a full stop"),
    ("add a lane", "capital letter"),
    ("Added a lane", "'added'"),
    ("Adding a lane", "'adding'"),
    ("Adds a lane", "'adds'"),
    ("The lane is added", "'the'"),
    ("What is left goes", "'what'"),
    ("Added: a lane", "'added'"),
    ("Add a lane\nThey waited.", "second line empty"),
)


@pytest.mark.parametrize(("message", "fault"), BAD)
def test_a_bad_message_is_told_what_is_wrong(tool: ModuleType, message: str, fault: str) -> None:
    assert any(fault in found for found in tool.find_faults(message, changed_lines=1))


@pytest.mark.parametrize(
    ("message", "changed_lines", "good"),
    [
        ("Mend a typo\n", 10, True),
        ("Mend a typo\n", 11, False),
        ("Rewrite it\n\nSigned-off-by: A Person\n", 11, False),
        ("Rewrite it\n\n# Why?\n", 11, False),
        ("Rewrite it\n\nIt was slow.\n\nSigned-off-by: A Person\n", 11, True),
    ],
)
def test_only_a_small_change_needs_no_body(tool: ModuleType, message: str, changed_lines: int, good: bool) -> None:
    assert (tool.find_faults(message, changed_lines) == []) == good


def test_git_refuses_a_commit_with_a_bad_message(tmp_path: Path) -> None:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        who = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **who, "PRE_COMMIT_HOME": str(tmp_path / "home"), "SKIP": "words"}
        return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=120)

    checkout = tmp_path / "checkout"
    (checkout / "tools").mkdir(parents=True)
    shutil.copy(TOOL, checkout / "tools")
    shutil.copy(REPOSITORY / ".pre-commit-config.yaml", checkout)
    (checkout / "notes.txt").write_text("one line\n" * 20)
    for command in (
        ["git", "init", "-q"],
        [str(REPOSITORY / ".venv/bin/pre-commit"), "install"],
        ["git", "add", "notes.txt", ".pre-commit-config.yaml"],
    ):
        assert run(*command).returncode == 0
    refused = run("git", "commit", "-m", "Added notes")
    assert refused.returncode != 0
    assert "'added'" in refused.stderr
    assert "Say why in a body" in refused.stderr
    accepted = run("git", "commit", "-m", "Add notes", "-m", "Nobody remembers.")
    assert accepted.returncode == 0, accepted.stderr
