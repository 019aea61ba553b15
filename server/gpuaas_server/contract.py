"""The generated files: contract/ and the parts of docs/reference/ that come from code. CI refuses stale files and breaks.

A release is a promise: its contract is kept in contract/released/<version>/ (tools/release-contract), and no later contract
may break its clients, refuse its manifests or drop its error codes. What was never released may change.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from fastapi import FastAPI

from gpuaas_server.app import build_app
from gpuaas_server.catalog.manifest_schema import schema_text
from gpuaas_server.compatibility import Document, breaking_changes, error_code_breaks, manifest_breaks
from gpuaas_server.identity.policy_document import render_policy
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import Database
from gpuaas_server.kernel.errors import CATALOGUE
from gpuaas_server.kernel.sealer import Sealer
from gpuaas_server.kernel.settings import Settings, settings_reference
from gpuaas_server.kernel.wakeups import Wakeups

# What a release keeps, and what finds the breaks between it and its successor.
RELEASED: dict[str, Callable[[Document, Document], list[str]]] = {
    "openapi.json": breaking_changes,
    "app-manifest.schema.json": manifest_breaks,
    "error-codes.json": error_code_breaks,
}


def offline_app() -> FastAPI:
    """Return the application without a database: enough to describe itself."""
    url = "postgresql:///nowhere"
    platform = Platform(Settings(), Database(url, 2), Wakeups(url), Sealer(bytes(32)))
    return build_app(platform)


def openapi_document() -> Document:
    return offline_app().openapi()


def error_catalogue() -> Document:
    return {
        kind.code: {
            "status": kind.status,
            "title": kind.title,
            "retryable": kind.retryable,
            "next_step": kind.next_step,
        }
        for kind in sorted(CATALOGUE.values(), key=lambda kind: kind.code)
    }


def render_settings() -> str:
    lines = ["# Settings", "", "Generated from `kernel/settings.py`. All are environment variables.", ""]
    lines += ["| variable | default | meaning |", "|---|---|---|"]
    lines += [
        f"| `{name}` | {f'`{default}`' if default else '(unset)'} | {text} |"
        for name, default, text in settings_reference()
    ]
    return "\n".join(lines) + "\n"


def render_errors() -> str:
    lines = [
        "# Error codes",
        "",
        "Generated from `kernel/errors/`.",
        "",
        "| code | status | title | retry helps | next step |",
    ]
    lines.append("|---|---|---|---|---|")
    for code, kind in error_catalogue().items():
        retry = "yes" if kind["retryable"] else "no"
        lines.append(f"| `{code}` | {kind['status']} | {kind['title']} | {retry} | {kind['next_step']} |")
    return "\n".join(lines) + "\n"


def generated_files() -> dict[str, str]:
    return {
        "contract/openapi.json": json.dumps(openapi_document(), indent=1, sort_keys=True, ensure_ascii=False) + "\n",
        "contract/error-codes.json": json.dumps(error_catalogue(), indent=1, ensure_ascii=False) + "\n",
        "contract/policy.md": render_policy(),
        "contract/app-manifest.schema.json": schema_text(),
        "docs/reference/settings.md": render_settings(),
        "docs/reference/errors.md": render_errors(),
    }


def write_contract(directory: Path) -> None:
    for name, text in generated_files().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"wrote {name}")


def check_contract(directory: Path) -> list[str]:
    """List the files that are out of date, and the releases that the contract would break."""
    complaints, files = [], generated_files()
    for name, text in files.items():
        path = directory / name
        if not path.exists() or path.read_text() != text:
            complaints.append(f"{name} is out of date; run `make contract` and commit it")
    return complaints + broken_releases(directory, {name: json.loads(files[f"contract/{name}"]) for name in RELEASED})


def broken_releases(directory: Path, current: Mapping[str, Document]) -> list[str]:
    """List what breaks users of a release. `current` has the documents of today by the names of their files."""
    found = []
    for release in sorted(path for path in (directory / "contract" / "released").glob("*") if path.is_dir()):
        for name, breaks in RELEASED.items():
            if not (release / name).exists():
                found.append(f"release {release.name} does not keep {name}")
                continue
            broken = breaks(json.loads((release / name).read_text()), current[name])
            found += [f"breaks users of release {release.name}: {change}" for change in broken]
    return found
