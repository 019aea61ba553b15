"""What is written about security is there: every check and test that the threat model names, every word of the protocol."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pydantic import BaseModel

from gpuaas_agent import protocol, specs
from gpuaas_agent.expectations import Expected, Restore, WipeTerms
from gpuaas_agent.sim.answers import SimHost
from gpuaas_server.allocations import wipe_proof
from gpuaas_server.kernel.errors import CATALOGUE
from gpuaas_server.nodes import agent_schemas
from system_support.documents import REPOSITORY

THREATS = REPOSITORY / "docs/explanation/threat-model.md"
PROMISES = REPOSITORY / "SECURITY.md"
RULES = REPOSITORY / "docs/reference/conformance-rules.md"
PROTOCOL = REPOSITORY / "docs/reference/agent-protocol.md"
WIPE = REPOSITORY / "docs/explanation/verified-wipe.md"
AGENT = REPOSITORY / "agent/gpuaas_agent"
CHECKS = wipe_proof.CHECKS_OF_HOST | wipe_proof.CHECKS_OF_SLICE | {wipe_proof.RESTART}
WORD = re.compile(r"`([a-z_0-9]+)`")
SHOWN = re.compile(r"`([\w/]+\.py)(?:::(\w+))?`")


def rows(page: Path) -> list[tuple[str, str, str]]:
    """Of the tables whose last column says by which tests it is shown."""
    lines = (line for line in page.read_text().splitlines() if line.startswith("| "))
    cells = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]
    return [(a, b, c) for a, b, c in cells if c != "shown by"]


def functions(path: Path) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, kinds)}


@cache
def failures_of_tasks() -> frozenset[str]:
    """The codes that the agent's program has for a task that failed."""
    return frozenset(_failures_of_tasks())


def _failures_of_tasks() -> Iterator[str]:
    for path in AGENT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if name in ("TaskFailure", "Failure") or (name == "__init__" and path.name == "failures.py"):
                    yield str(node.args[0].value)


def assert_shown(by: str) -> None:
    named = SHOWN.findall(by)
    assert named, "it names no test"
    for path, function in named:
        there = functions(REPOSITORY / path)
        assert any(name.startswith("test_") for name in there), path
        assert not function or function in there, f"{path}::{function}"


@pytest.mark.parametrize("row", rows(THREATS), ids=lambda row: row[0][:60])
def test_every_threat_names_a_check_and_tests_that_exist(row: tuple[str, str, str]) -> None:
    _, stops, shown = row
    known = CHECKS | set(CATALOGUE) | failures_of_tasks() | KINDS | REPORTED
    assert set(WORD.findall(stops)) & known, "it names no check"
    assert_shown(shown)


@pytest.mark.parametrize(("number", "row"), list(enumerate(rows(RULES), 1)), ids=lambda value: str(value)[:60])
def test_every_rule_for_controllers_has_its_number_and_tests_that_exist(number: int, row: tuple[str, str, str]) -> None:
    assert row[0].startswith(f"{number}. ")
    assert_shown(row[2])


@pytest.mark.parametrize("row", rows(PROMISES), ids=lambda row: row[0][:60])
def test_every_promise_names_tests_that_exist(row: tuple[str, str, str]) -> None:
    assert_shown(row[2])


@pytest.mark.parametrize(
    "wrong", ["nothing", "`tests/test_nothing.py`", "`tests/test_docs.py::test_nothing`", "`conftest.py`"]
)
def test_a_test_that_does_not_exist_is_noticed(wrong: str) -> None:
    with pytest.raises((AssertionError, FileNotFoundError)):
        assert_shown(wrong)


KINDS = {"discover", "provision", "sync_access", "inspect", "terminal", "probe", "deprovision", "wipe", "verify_wipe"}
REPORTED = {"report_too_large", "secrets_not_rotated", "found"}  # of tasks, of instances, of checks


def wire_types() -> list[type[BaseModel]]:
    found = inspect.getmembers(agent_schemas, inspect.isclass)
    return [kind for _, kind in found if issubclass(kind, BaseModel) and kind.__module__ == agent_schemas.__name__]


@pytest.mark.parametrize("kind", wire_types(), ids=lambda kind: kind.__name__)
def test_the_protocol_names_every_field_of_a_message(kind: type[BaseModel]) -> None:
    text = PROTOCOL.read_text()
    missing = [name for name in kind.model_fields if f'"{name}"' not in text and f"`{name}`" not in text]
    assert not missing


@pytest.mark.parametrize(
    "kind",
    [protocol.Envelope, protocol.Result, specs.Grant, specs.Slot, specs.ReleaseSpec, WipeTerms, Expected, Restore],
    ids=lambda kind: kind.__name__,
)
def test_the_protocol_names_every_field_of_a_task(kind: type) -> None:
    own = {"terms"}  # what the agent calls WipeTerms
    text = PROTOCOL.read_text()
    missing = [name for name in kind.__annotations__ if f'"{name}"' not in text and name not in own]
    assert not missing


def test_the_protocol_names_every_check_and_every_failure() -> None:
    text = PROTOCOL.read_text()
    unnamed = [name for name in sorted(CHECKS | KINDS | failures_of_tasks()) if f"`{name}`" not in text]
    assert not unnamed, f"name these in {PROTOCOL.relative_to(REPOSITORY)}: {unnamed}"


def checks_in_table() -> tuple[set[str], set[str]]:
    """The checks of bare metal and of slices, from the table in the page about the verified wipe."""
    section = WIPE.read_text().split("## What is checked", 1)[1].split("\n\n", 1)[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    host = {name for cells in rows for name in WORD.findall(cells[0]) if cells[1].strip() != "–"}
    return host, {name for cells in rows for name in WORD.findall(cells[0]) if cells[2].strip() != "–"}


def test_the_page_about_the_wipe_has_a_row_for_every_check() -> None:
    host, slice_ = checks_in_table()
    wrong = host ^ (wipe_proof.CHECKS_OF_HOST | {wipe_proof.RESTART}), slice_ ^ wipe_proof.CHECKS_OF_SLICE
    assert wrong == (set(), set()), f"{WIPE.relative_to(REPOSITORY)} and wipe_proof.py differ in (host, slice): {wrong}"


def checks_of_agent() -> Iterator[str]:
    """The checks that the agent's program can report, without the simulated ones."""
    for path in AGENT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())) if path.parent.name != "sim" else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("check", "Check"):
                yield from (str(name.value) for name in node.args[:1] if isinstance(name, ast.Constant))


def test_the_agent_and_the_platform_know_the_same_checks() -> None:
    # The agent adds `other_allocations` after a forced release; the platform does not wait for it.
    wrong = set(checks_of_agent()) ^ (CHECKS | {"other_allocations"})
    assert not wrong, f"in wipe_proof.py or in {AGENT.relative_to(REPOSITORY)}/, not in both: {sorted(wrong)}"


@pytest.mark.parametrize(
    ("shape", "needed"), [("baremetal", wipe_proof.CHECKS_OF_HOST), ("gpu_slice", wipe_proof.CHECKS_OF_SLICE)]
)
def test_a_simulated_host_reports_every_check(shape: str, needed: frozenset[str]) -> None:
    result, _ = SimHost(1).verify({"shape": shape, "grade": "inspected"})
    checks = result["checks"]
    assert isinstance(checks, list)
    missing = needed - {check["name"] for check in checks}
    assert not missing, f"agent/gpuaas_agent/sim/answers.py does not report {sorted(missing)}"
