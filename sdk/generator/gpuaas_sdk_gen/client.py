"""All files of a client for one contract: models, calls in both ways, and the plain twin of the hand-written layer."""

import ast
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from gpuaas_sdk_gen.contract import Contract, Schema
from gpuaas_sdk_gen.groups import render_groups
from gpuaas_sdk_gen.models import render_models
from gpuaas_sdk_gen.plain import marked, without_await


def generated_files(document: Schema, package: Path) -> Mapping[str, str]:
    """By their name inside of `package`, which holds the hand-written part."""
    contract = Contract(document)
    calls = render_groups(contract)
    files = {
        "generated/__init__.py": '"""What tools/sdk-client writes from the contract."""\n',
        "generated/models.py": render_models(contract, _classes(package / "traits.py")),
        "generated/aio.py": calls,
        "generated/sync.py": without_await(calls),
    }
    for source in sorted((package / "aio").glob("*.py")):
        files[f"sync/{source.name}"] = marked(without_await(source.read_text()), source.name)
    return {name: tidy(text, name) for name, text in files.items()}


def _classes(module: Path) -> frozenset[str]:
    return frozenset(node.name for node in ast.parse(module.read_text()).body if isinstance(node, ast.ClassDef))


def tidy(source: str, name: str) -> str:
    """As ruff would have it: imports that the text needs, in order, and the house's layout."""
    as_ours = ["--isolated", "--line-length", "120", "--stdin-filename", name, "-"]
    first_party = ["--config", 'lint.isort.known-first-party=["gpuaas_sdk"]']
    fixed = _ruff(["check", "--fix-only", "--select", "I,F401", *first_party, *as_ours], source)
    return _ruff(["format", *as_ours], fixed)


def _ruff(argv: list[str], text: str) -> str:
    done = subprocess.run([sys.executable, "-m", "ruff", "-q", *argv], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ruff {argv[0]}: {done.stderr.strip()}")
    return done.stdout
