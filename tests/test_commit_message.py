"""A commit says in its subject what it does, in the imperative, and in its body why; the hook of pre-commit insists."""

import os
import re
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


def run_in(checkout: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    who = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "CI": ""}
    environment = {**os.environ, **who, **own, **more}
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a commit on main, and the tools."""
    root = tmp_path / "checkout"
    (root / "tools").mkdir(parents=True)
    for tool in (TOOL, TOOL.with_name("commit-hook")):
        shutil.copy(tool, root / "tools")
    for command in (
        ["git", "init", "-q", "-b", "main"],
        ["git", "commit", "-q", "--allow-empty", "-m", "first, of old"],
    ):
        assert run_in(root, *command).returncode == 0
    return root


def test_setup_has_git_check_the_message_of_each_commit(checkout: Path) -> None:
    assert run_in(checkout, "tools/commit-hook").returncode == 0
    commit = ["git", "commit", "--allow-empty", "-m"]
    refused = run_in(checkout, *commit, "Added notes")
    assert (refused.returncode != 0, "'added'" in refused.stderr) == (True, True)
    assert run_in(checkout, *commit, "Add notes").returncode == 0
    (checkout / "tools/commit-message").unlink()  # as in a version that has none
    assert run_in(checkout, *commit, "Added notes").returncode == 0


def test_setup_leaves_a_hook_that_is_there_and_installs_none_for_ci(checkout: Path) -> None:
    hook = checkout / ".git/hooks/commit-msg"
    assert run_in(checkout, "tools/commit-hook", CI="true").returncode == 0
    assert not hook.exists()
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n# mine\n")
    assert run_in(checkout, "tools/commit-hook").returncode == 0
    assert "mine" in hook.read_text()


def test_setup_installs_the_hook_from_a_further_working_tree(checkout: Path) -> None:
    run_in(checkout, "git", "add", "-A")
    assert run_in(checkout, "git", "commit", "-q", "-m", "Add tools").returncode == 0
    further = checkout.parent / "further"
    assert run_in(checkout, "git", "worktree", "add", "-q", str(further), "-b", "further").returncode == 0
    assert run_in(further, "tools/commit-hook").returncode == 0
    assert (checkout / ".git/hooks/commit-msg").exists()
    assert run_in(further, "git", "commit", "--allow-empty", "-m", "Added notes").returncode != 0


def test_lint_checks_what_is_not_on_main_yet(checkout: Path) -> None:
    check = ["tools/commit-message", "--branch"]
    assert run_in(checkout, *check).returncode == 0  # what is on main stays as it is
    assert run_in(checkout, "git", "switch", "-q", "-c", "work").returncode == 0
    for subject in ("Add a lane", "Merge branch 'other'", "w" * 73):
        assert run_in(checkout, "git", "commit", "-q", "--allow-empty", "-m", subject).returncode == 0
    found = run_in(checkout, *check)
    assert found.returncode != 0
    assert "72 characters; it has 73" in found.stderr
    assert all(re.match("[0-9a-f]+: ", line) for line in found.stderr.splitlines())
    (checkout / "notes.txt").write_text("one line\n" * 11)
    run_in(checkout, "git", "add", "notes.txt")
    assert run_in(checkout, "git", "commit", "-q", "-m", "Add notes").returncode == 0
    assert "Say why in a body" in run_in(checkout, *check).stderr
    assert run_in(checkout, "git", "commit", "-q", "--amend", "-m", "Add notes", "-m", "Why.").returncode == 0
    assert "Say why in a body" not in run_in(checkout, *check).stderr
    assert run_in(checkout, "git", "update-ref", "refs/remotes/origin/main", "HEAD").returncode == 0
    assert run_in(checkout, *check).returncode == 0  # it is on main upstream
    assert run_in(checkout, "git", "update-ref", "-d", "refs/remotes/origin/main").returncode == 0
    assert run_in(checkout, "git", "branch", "-D", "main").returncode == 0
    assert run_in(checkout, *check).returncode == 0  # nothing to compare with


def test_git_refuses_a_commit_with_a_bad_message(tmp_path: Path) -> None:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return run_in(checkout, *command, PRE_COMMIT_HOME=str(tmp_path / "home"), SKIP="words")

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
