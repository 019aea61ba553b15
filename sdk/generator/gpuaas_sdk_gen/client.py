"""All generated files of a client: models, async and blocking calls, and the blocking version of the hand-written layer."""

import ast
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from gpuaas_sdk_gen.contract import Contract, Schema
from gpuaas_sdk_gen.groups import render_groups
from gpuaas_sdk_gen.models import render_models
from gpuaas_sdk_gen.operation_kinds import render_operation_kinds
from gpuaas_sdk_gen.unasync import add_header, remove_await


def generated_files(document: Schema, package: Path) -> Mapping[str, str]:
    """The text of each file by its name inside `package`, which holds the hand-written part."""
    contract = Contract(document)
    calls = render_groups(contract)
    files = {
        "generated/__init__.py": '"""Code that tools/sdk-client writes from the contract."""\n',
        "generated/models.py": render_models(contract, _classes(package / "traits.py")),
        "generated/operation_kinds.py": render_operation_kinds(contract),
        "generated/aio.py": calls,
        "generated/sync.py": remove_await(calls),
    }
    for source in sorted((package / "aio").glob("*.py")):
        files[f"sync/{source.name}"] = add_header(remove_await(source.read_text()), source.name)
    return {name: tidy(text, name) for name, text in files.items()}


def _classes(module: Path) -> frozenset[str]:
    return frozenset(node.name for node in ast.parse(module.read_text()).body if isinstance(node, ast.ClassDef))


def tidy(source: str, name: str) -> str:
    """Formats the code with ruff and removes unused imports."""
    options = ["--isolated", "--line-length", "120", "--stdin-filename", name, "-"]
    first_party = ["--config", 'lint.isort.known-first-party=["gpuaas_sdk"]']
    fixed = _ruff(["check", "--fix-only", "--select", "I,F401", *first_party, *options], source)
    return _ruff(["format", *options], fixed)


def _ruff(argv: list[str], text: str) -> str:
    done = subprocess.run([sys.executable, "-m", "ruff", "-q", *argv], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ruff {argv[0]}: {done.stderr.strip()}")
    return done.stdout
