"""The recipe "Add a noun" of CONTRIBUTING.md, run as it is written in a copy of this repository.

The quick test does what the recipe says and checks the result without a database; the slow ones run its checks too.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from system_support.documents import REPOSITORY, examples

GUIDE = REPOSITORY / "CONTRIBUTING.md"
PACKAGES = (
    "server",
    "agent",
    "sdk",
    "cli",
    "lab",
    "apps/catalogue",
    "apps/containers",
    "apps/compose",
    "apps/echo",
    "apps/slurm",
)
LIMIT = 1200  # seconds; guards against a hang
pytestmark = pytest.mark.timeout(2 * LIMIT)


def recipe(mark: str) -> list[str]:
    """The commands of the section, from the blocks with this mark (`<!-- mark -->`)."""
    before, _, section = GUIDE.read_text().partition("\n## Add a noun\n")
    first = before.count("\n") + 2
    last = first + section.partition("\n## ")[0].count("\n")
    return [one.command for one in examples(GUIDE) if one.mark == mark and first < one.line <= last + 1]


WRITE, CHECK = recipe(""), recipe("checks")
# What `make lint` and `make contract-check` do, for the new files alone where that is shorter.
QUICK_CHECKS = (
    ".venv/bin/ruff check .",
    ".venv/bin/ruff format --check .",
    ".venv/bin/mypy server/gpuaas_server/reservations cli/gpuaas_cli/commands/reservations.py",
    ".venv/bin/lint-imports --no-cache",
    ".venv/bin/python tools/import-graph --check",
    "tools/words",
    "tools/contract-check",
)
WITH_STATES = "tools/new-noun address_batch --plural address_batches --states queued,ready,used,expired"


@dataclass(frozen=True)
class Checkout:
    """A copy of this repository in which `make setup` was run."""

    root: Path

    def try_command(self, command: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment["PYTHONPATH"] = ":".join(str(self.root / package) for package in PACKAGES)
        return subprocess.run(
            ["bash", "-c", command], cwd=self.root, env=environment, capture_output=True, text=True, timeout=LIMIT
        )

    def run(self, command: str) -> str:
        done = self.try_command(command)
        assert done.returncode == 0, f"$ {command}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
        return done.stdout

    def changes(self) -> str:
        return self.run("git status --porcelain")


@pytest.fixture
def checkout() -> Iterator[Checkout]:
    root = Path(tempfile.mkdtemp(prefix="gpuaas-new-noun-"))
    root.chmod(0o755)  # the account of the database starts programs of .venv
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, root / name, follow_symlinks=False)
    _install(root)
    copy = Checkout(root)
    copy.run("git init -q && git add -A && git -c user.name=a -c user.email=a@example.com commit -q -m Copy")
    assert copy.run(".venv/bin/python -c 'import gpuaas_server as s; print(s.__file__)'").startswith(str(root))
    yield copy
    shutil.rmtree(root)


def _install(root: Path) -> None:
    """Use what `make setup` has installed here: with links, because an installation of its own takes minutes."""
    (root / "tools" / "setup").write_text("#!/bin/sh\n")
    (root / ".venv").symlink_to(REPOSITORY / ".venv")
    if (REPOSITORY / ".mypy_cache").exists():  # what mypy knows of the files that are the same
        shutil.copytree(REPOSITORY / ".mypy_cache", root / ".mypy_cache")
    if (REPOSITORY / "console" / "node_modules").exists():
        (root / "console" / "node_modules").symlink_to(REPOSITORY / "console" / "node_modules")
        for written in ("schema.d.ts", "operationKinds.ts"):
            shutil.copy(REPOSITORY / "console/src/api" / written, root / "console/src/api")


def test_the_recipe_writes_a_noun_that_linters_and_contract_accept(checkout: Checkout) -> None:
    printed = checkout.run(WRITE[0])
    for command in WRITE[1:]:
        checkout.run(command)
    assert [line.strip() for line in printed.splitlines() if line.strip() in (*WRITE, *CHECK)] == [*WRITE[1:], *CHECK]
    paths = json.loads((checkout.root / "contract" / "openapi.json").read_text())["paths"]
    calls = [
        operation["x-call"] for path, own in paths.items() if "/reservations" in path for operation in own.values()
    ]
    assert sorted(calls) == [f"reservations.{verb}" for verb in ("create", "delete", "list", "show")]
    assert "| `reservations` |" in (checkout.root / "docs/explanation/architecture.md").read_text()
    for command in QUICK_CHECKS:
        checkout.run(command)


@pytest.mark.slow
def test_the_checks_of_the_recipe_pass(checkout: Checkout) -> None:
    for command in (*WRITE, *CHECK):
        checkout.run(command)


@pytest.mark.slow
def test_a_second_noun_with_states_and_a_plural_of_its_own_passes_too(checkout: Checkout) -> None:
    checkout.run(WRITE[0])
    printed = checkout.run(WITH_STATES)
    commands = re.findall(r"^  ((?:make|\.venv/bin/python) .*)$", printed, re.MULTILINE)
    assert len(commands) == len(WRITE) - 1 + len(CHECK)
    for command in commands:
        checkout.run(command)
    checkout.run(".venv/bin/python -m pytest server/tests/work/test_lanes.py")


REFUSED = {
    "tools/new-noun node": "There is a folder or a table nodes already.",
    "tools/new-noun ssh_key": "There is a folder or a table ssh_keys already.",
    "tools/new-noun Reservation": "'Reservation' is not a name",
    "tools/new-noun class --plural classes": "'class' is not a name",
    "tools/new-noun reservation --prefix alc": "The prefix 'alc' is not three small letters, or other ids begin with it.",
    "tools/new-noun reservation --states active": "--states takes two or more different states.",
    "tools/new-noun reservation --about 'GPUs.'": "without a full stop at the end",
}


def test_a_noun_that_cannot_be_written_is_refused_and_changes_nothing(checkout: Checkout) -> None:
    before = checkout.changes()
    for command, why in REFUSED.items():
        done = checkout.try_command(command)
        assert done.returncode == 1, command
        assert why in done.stderr
        assert "Nothing was written." in done.stderr
    app = checkout.root / "server/gpuaas_server/app.py"
    text = app.read_text()
    app.write_text(text.replace("NOUNS = (", "ROUTERS = ("))
    assert "app.py has not exactly one line that begins with 'NOUNS = ('" in checkout.try_command(WRITE[0]).stderr
    app.write_text(text)
    assert checkout.changes() == before


def test_text_for_people_keeps_the_capitals_of_an_acronym() -> None:
    spec = importlib.util.spec_from_file_location("names", REPOSITORY / "tools/noun_scaffold/names.py")
    assert spec is not None
    assert spec.loader is not None
    names = importlib.util.module_from_spec(spec)
    sys.modules["names"] = names  # dataclasses look it up
    try:
        spec.loader.exec_module(names)
        banner = names.Names("ssh_banner", "ssh_banners", "a text", "sbn", (), "0200", "0199", "SSH banner")
        text = "A sample item, a sample item, Sample items, sample items, SampleItem, sample_items, sample-items"
        assert banner.spell(text) == (
            "An SSH banner, an SSH banner, SSH banners, SSH banners, SshBanner, ssh_banners, ssh-banners"
        )
        assert names.lower_first("A text of a project") == "a text of a project"
        assert names.lower_first("GPUs of a project") == "GPUs of a project"
    finally:
        del sys.modules["names"]
