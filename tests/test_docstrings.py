"""The rule of docstrings: each is a sentence with a subject and a verb, so it does not begin as half a question."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUESTION = re.compile(r"(What|How|Where|Who|Whom|Whose|Whether|Which|When|Why)\b")
# How many are left in a package. A number may only go down.
LEFT = {
    "server/gpuaas_server": 0,
    "sdk/gpuaas_sdk": 0,
    "sdk/generator": 0,
    "agent/gpuaas_agent": 0,
    "cli/gpuaas_cli": 0,
    "lab/gpuaas_lab": 0,
    "apps/catalogue/gpuaas_catalogue": 0,
    "apps/compose/gpuaas_compose": 0,
    "apps/containers/gpuaas_containers": 0,
    "apps/echo/gpuaas_echo": 0,
    "apps/slurm/gpuaas_slurm": 0,
}


def docstrings(package: Path) -> Iterator[tuple[str, str]]:
    """Yield each docstring of the package, with the place where it stands."""
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{file.relative_to(package)}:{node.body[0].lineno}", text


def half_questions(package: Path) -> list[str]:
    """List the docstrings that begin with a question word and have no main clause."""
    return [f"{place}: {text.splitlines()[0]}" for place, text in docstrings(package) if QUESTION.match(text)]


@pytest.mark.parametrize("name", LEFT)
def test_a_docstring_is_a_sentence_and_no_half_question(name: str) -> None:
    found = half_questions(ROOT / name)
    assert len(found) <= LEFT[name], "\n".join(found)


def test_a_half_question_is_found_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "lease.py").write_text('"""How long it lasts."""\n\n\nclass Lease:\n    """A lease of work."""\n')
    assert half_questions(tmp_path) == ["lease.py:1: How long it lasts."]
