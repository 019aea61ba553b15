"""What .importlinter cannot say: its patterns match whole names, and `member_endpoints` is of a kind with `endpoints`."""

import subprocess
from pathlib import Path

import pytest
from grimp import ImportGraph, build_graph


@pytest.fixture(scope="module")
def graph() -> ImportGraph:
    return build_graph("gpuaas_server", cache_dir=None)


def kind_of(module: str) -> str:
    """`endpoints`, `queries` and so on; a module of a package of queries is one too."""
    parts = module.split(".")[2:]
    return "queries" if "queries" in parts else parts[-1].rpartition("_")[2] if parts else ""


def direct_imports(graph: ImportGraph, importer: str, imported: str) -> list[str]:
    return [
        f"{module} imports {target}"
        for module in sorted(graph.modules)
        if kind_of(module) == importer
        for target in sorted(graph.find_modules_directly_imported_by(module))
        if kind_of(target) == imported and not target.startswith("gpuaas_server.kernel")
    ]


def test_the_kinds_are_found(graph: ImportGraph) -> None:
    assert len([module for module in graph.modules if kind_of(module) == "endpoints"]) > 20
    assert direct_imports(graph, "service", "queries")


def test_endpoints_leave_sql_to_the_service(graph: ImportGraph) -> None:
    assert direct_imports(graph, "endpoints", "queries") == []


@pytest.mark.parametrize("upper", ["service", "endpoints", "reconciler", "job", "jobs"])
def test_queries_know_nothing_above_them(graph: ImportGraph, upper: str) -> None:
    assert direct_imports(graph, "queries", upper) == []


@pytest.mark.parametrize("worker", ["queries", "endpoints", "reconciler", "job", "jobs"])
def test_a_machine_reads_and_writes_nothing(graph: ImportGraph, worker: str) -> None:
    assert direct_imports(graph, "machine", worker) == []


LONGEST_FILE = 400  # lines: a longer one is split by noun or by phase
REPOSITORY = Path(__file__).parents[2]


def test_no_file_of_code_is_too_long() -> None:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.py", "*.ts", "*.tsx"]
    names = subprocess.run(listed, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.split("\0")
    files = [name for name in names if name and "/generated/" not in name and (REPOSITORY / name).exists()]
    assert len(files) > 1000
    lengths = {name: len((REPOSITORY / name).read_text().splitlines()) for name in files}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}
