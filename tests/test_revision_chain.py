"""tools/revision-chain finds revisions of the schema that were written at the same time."""

import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

import pytest

from system_support.documents import REPOSITORY

TOOL = REPOSITORY / "tools" / "revision-chain"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    loader = SourceFileLoader("revision_chain", str(TOOL))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def texts(*revisions: tuple[str, str | None]) -> dict[str, str]:
    return {
        f"{one}_change_{number}.py": f'revision = "{one}"\ndown_revision = '
        + ("None" if below is None else f'"{below}"')
        + "\n"
        for number, (one, below) in enumerate(revisions)
    }


def test_the_revisions_of_this_tree_are_one_chain() -> None:
    done = subprocess.run([TOOL], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_chain_needs_no_order_of_its_numbers(tool: ModuleType) -> None:
    assert tool.find_faults(texts(("0200", None), ("0203", "0200"), ("0201", "0203"))) == []


@pytest.mark.parametrize(
    ("revisions", "said"),
    [
        ([("0200", None), ("0201", "0200"), ("0202", "0200")], "0201, 0202 are built on the same revision, 0200"),
        ([("0200", None), ("0201", "0200"), ("0201", "0200")], "two files have 0201"),
        ([("0200", None), ("0176", "0175")], "0176 is built on 0175, which does not exist"),
        ([("0200", None), ("0100", None)], "0100, 0200 are built on the same revision, none"),
    ],
)
def test_what_is_no_chain_is_found(tool: ModuleType, revisions: list[tuple[str, str | None]], said: str) -> None:
    assert any(said in fault for fault in tool.find_faults(texts(*revisions)))
