"""What .importlinter cannot say: its patterns match whole names, and `member_endpoints` is of a kind with `endpoints`."""

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


@pytest.mark.parametrize("upper", ["service", "endpoints", "reconciler"])
def test_queries_know_nothing_above_them(graph: ImportGraph, upper: str) -> None:
    assert direct_imports(graph, "queries", upper) == []


@pytest.mark.parametrize("worker", ["queries", "endpoints", "reconciler"])
def test_a_machine_reads_and_writes_nothing(graph: ImportGraph, worker: str) -> None:
    assert direct_imports(graph, "machine", worker) == []
