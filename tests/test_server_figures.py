"""The figures of decision 0031 are those of the tree: zeros exactly, counts that grow with the server nearly."""

import ast
import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

import pytest

from system_support.documents import REPOSITORY

SLACK = 0.2  # of a count, before it must be written again
FEW = 10
LINTER_LINES = 100


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    loader = SourceFileLoader("server_figures", str(REPOSITORY / "tools/server-figures"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def numbers(figure: str) -> list[int]:
    return [int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*", figure)]


def is_near(recorded: str, measured: str) -> bool:
    one, other = numbers(recorded), numbers(measured)
    return len(one) == len(other) and all(
        a == b if 0 in (a, b) else abs(a - b) <= max(FEW, SLACK * b) for a, b in zip(one, other, strict=True)
    )


def test_the_record_has_the_figures_of_the_tree(tool: ModuleType) -> None:
    recorded, measured = tool.recorded(tool.RECORD.read_text()), tool.figures()
    stale = {name: figure for name, figure in measured.items() if not is_near(recorded[name], figure)}
    assert stale == {}, "run .venv/bin/python tools/server-figures --write"


def test_the_order_holds_and_its_linter_file_stays_short(tool: ModuleType) -> None:
    measured = {name: numbers(figure)[0] for name, figure in tool.figures().items()}
    for name in ("nouns in the largest import cycle", "imports that go up"):
        assert measured[name] == 0
    assert measured["imports past a noun's `service` and `schemas`"] == 0
    assert measured["functions that take or return a `DictRow`"] == 0
    assert measured["row accesses by a string key, outside queries"] == 0
    assert measured["lines of `.importlinter` that are not empty"] <= LINTER_LINES


def test_a_cycle_is_found(tool: ModuleType) -> None:
    nouns = {"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"a"}), "d": frozenset({"a"})}
    assert tool._largest_cycle(nouns) == 3
    assert tool._largest_cycle({"a": frozenset({"b"}), "b": frozenset()}) == 0


def test_hooks_and_their_functions_are_counted_once(tool: ModuleType) -> None:
    wiring = """
def connect_hooks():
    a_hooks.connect(AHooks(ended=a.ended, gone=both))
    b_hooks.connect(BHooks(ended=b.ended))
"""
    assert tool._connected_hooks(ast.parse(wiring)) == (2, 3)


def test_functions_with_rows_and_reads_of_rows_are_counted(tool: ModuleType) -> None:
    tree = ast.parse("""
def taken(row: DictRow, *, other: int) -> int: return row["id"]
async def returned(node_row) -> list[DictRow]: return node_row["id"] + self.row["id"]
def neither(row: Row, name): "a DictRow"; return row[name], arrow["id"]
""")
    assert tool._count_dict_row_functions(tree) == 2
    assert tool._count_row_keys(tree) == 3


def test_a_figure_is_written_into_its_row_alone(tool: ModuleType) -> None:
    text = "| figure | before | now |\n|---|--:|--:|\n| files | 1 of 2 | 3 of 4 |\n| files of tests | 5 | 6 |\n\nMore."
    assert tool.recorded(text) == {"files": "3 of 4", "files of tests": "6"}
    assert tool.recorded(tool.written(text, {"files": "30 of 40"})) == {"files": "30 of 40", "files of tests": "6"}
    assert not is_near("3 of 4", "30 of 40")
    assert is_near("30 of 41", "30 of 40")
    assert not is_near("0 of 40", "1 of 40")
