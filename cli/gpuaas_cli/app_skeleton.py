"""Writes the files of a new app: a controller, a manifest, a program and tests that pass as they are."""

import re
from importlib.resources import files
from pathlib import Path

from gpuaas_cli.failures import CommandFailed, ExitCode

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST = 28  # the name of a system user is made from it
_FILES = {
    "README.md": "README.md",
    "manifest.yaml": "manifest.yaml",
    "pyproject.toml": "pyproject.toml",
    "init.py": "{package}/__init__.py",
    "controller.py": "{package}/controller.py",
    "footprint.py": "footprint.py",
    "serve.py": "program/serve.py",
    "test_app.py": "tests/test_{package}.py",
}


def write_skeleton(name: str, folder: Path) -> list[Path]:
    """Write the files and return their paths. Nothing that exists is changed."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        detail = f"{name[:60]!r} is not the slug of an app."
        rule = f"Use at most {_LONGEST} lower-case letters, digits and hyphens; begin with a letter."
        raise CommandFailed("invalid_name", detail, rule, ExitCode.USAGE)
    package = name.replace("-", "_") + "_app"
    words = {
        "__NAME__": name,
        "__PACKAGE__": package,
        "__USER__": name,
        "__CLASS__": "".join(part.capitalize() for part in name.split("-")),
        "__TITLE__": name.replace("-", " ").capitalize(),
    }
    targets = {source: folder / target.format(package=package) for source, target in _FILES.items()}
    taken = [str(target) for target in targets.values() if target.exists()]
    if taken:
        raise CommandFailed("already_exists", f"{taken[0]} exists.", "Choose another folder.", ExitCode.CONFLICT)
    for source, target in targets.items():
        text = (files("gpuaas_cli") / "skeleton" / f"{source}.tmpl").read_text(encoding="utf-8")
        for word, value in words.items():
            text = text.replace(word, value)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return list(targets.values())
