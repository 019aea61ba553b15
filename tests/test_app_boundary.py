"""The clustered app came to a platform that did not know it: what it needed is named, generic, and proven without it."""

import json
import re
import subprocess
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DECISIONS = ROOT / "docs" / "decisions"
RECORD = (DECISIONS / "0018-what-the-first-clustered-app-needed.md").read_text()
APP = ROOT / "apps" / "slurm" / "gpuaas_slurm"
# What only this app could mean: its name, its programs, and the names of its components beside the manifest's word for them.
# (`operation_in_progress` is the platform's.)
APPS_WORDS = re.compile(r"slurm|munge|sbatch|srun|sinfo|squeue|partition_?name|(?<!pro)gres", re.IGNORECASE)


def primitives() -> list[tuple[str, str, str, str]]:
    rows = [line.strip("|").split("|") for line in RECORD.splitlines() if line.startswith("| ") and "`" in line]
    return [(name.strip(), *(cell.strip().strip("`") for cell in cells)) for name, *cells in rows]  # type: ignore[misc]


def test_the_record_names_primitives() -> None:
    assert len(primitives()) >= 4


def test_the_app_came_with_a_commit_that_touched_nothing_of_the_platform() -> None:
    def git(*words: str) -> list[str]:
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, timeout=60).stdout.split()

    came = git("log", "--diff-filter=A", "--format=%H", "--", "apps/slurm/pyproject.toml")
    shallow = git("rev-parse", "--is-shallow-repository") == ["true"]  # its oldest commit seems to add everything
    if shallow or not came:
        pytest.skip("this copy of the repository has no history so far back")
    touched = git("show", "--name-only", "--format=", came[-1])
    assert "apps/slurm/pyproject.toml" in touched
    assert [path for path in touched if path.startswith(("server/gpuaas_server", "agent/", "contract/"))] == []


@pytest.mark.parametrize(("name", "place", "code", "proof"), primitives(), ids=[one[0] for one in primitives()])
def test_a_primitive_is_in_the_contract_is_generic_and_is_proven_without_the_app(
    name: str, place: str, code: str, proof: str
) -> None:
    file, _, pointer = place.partition("#/")
    document: Any = json.loads((ROOT / "contract" / file).read_text())
    found = reduce(lambda value, part: value[part], pointer.split("/"), document)
    assert found, f"{name} is not in the contract"
    for path in (code, proof):
        text = (ROOT / path).read_text()
        assert APPS_WORDS.findall(text) == [], f"{path} speaks of the app"
    words = {pointer.rpartition("/")[2].lower(), Path(code).stem}
    assert any(word in (ROOT / proof).read_text().lower() for word in words), f"{proof} is about something else"


def fields(value: object, place: str = "") -> set[str]:
    """Every place in a manifest; schemas that an app writes for itself are looked at as a whole."""
    if isinstance(value, list):
        return {found for one in value for found in fields(one, place)}
    if not isinstance(value, dict) or place in ("inputs", "options"):
        return set()
    below = {f"{place}/{key}".strip("/"): inner for key, inner in value.items()}
    return set(below) | {found for where, inner in below.items() for found in fields(inner, where)}


def test_what_only_this_app_uses_of_a_manifest_is_named_in_a_decision() -> None:
    """Who gives the platform another field for this app alone writes down why it is not for this app alone."""
    others = [path for path in (ROOT / "apps").glob("*/*/manifest.yaml") if path.parent != APP]
    assert others
    mine = fields(yaml.safe_load((APP / "manifest.yaml").read_text()))
    known = {field for path in others for field in fields(yaml.safe_load(path.read_text()))}
    records = "\n".join(path.read_text() for path in DECISIONS.glob("*.md"))
    named = {word for quoted in re.findall(r"`([^`]+)`", records) for word in re.split(r"[.\s#]+|properties/", quoted)}
    unnamed = {field for field in mine - known if not _named(field, named)}
    assert unnamed == set()


def _named(field: str, named: set[str]) -> bool:
    """By its own name, by its last two, or by that of what it is a part of."""
    parts = field.split("/")
    return any(part in named for part in parts[-1:]) or "/".join(parts[-2:]) in named or parts[0] in named
