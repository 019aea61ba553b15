"""The generated files: contract/ and the parts of docs/reference/ that come from code. CI compares and refuses a break.

A break is what would make a correct client of the committed contract fail: something it uses is gone or demands more.
"""

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from gpuaas_server.app import build_app
from gpuaas_server.catalog.manifest_schema import SCHEMA_FILE
from gpuaas_server.identity.policy_document import render_policy
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import Database
from gpuaas_server.kernel.errors import CATALOGUE
from gpuaas_server.kernel.sealing import Sealer
from gpuaas_server.kernel.settings import Settings, settings_reference
from gpuaas_server.kernel.wakeups import Wakeups

Document = dict[str, Any]


def offline_app() -> FastAPI:
    """The application without a database: enough to describe itself."""
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
        "contract/app-manifest.schema.json": SCHEMA_FILE.read_text(),
        "docs/reference/settings.md": render_settings(),
        "docs/reference/errors.md": render_errors(),
    }


def write_contract(directory: Path) -> None:
    for name, text in generated_files().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"wrote {name}")


def check_contract(directory: Path, base: Document | None = None) -> list[str]:
    """What is out of date, and, against `base` (the contract as it was released), what is broken."""
    complaints = []
    for name, text in generated_files().items():
        path = directory / name
        if not path.exists() or path.read_text() != text:
            complaints.append(f"{name} is out of date; run `make contract` and commit it")
    if base is not None:
        complaints += [f"breaking change: {broken}" for broken in breaking_changes(base, openapi_document())]
    return complaints


def breaking_changes(old: Document, new: Document) -> list[str]:
    found: list[str] = []
    for path, methods in old["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            current = new["paths"].get(path, {}).get(method)
            if current is None:
                found.append(f"{name} is gone")
            else:
                found += _operation_breaks(name, operation, current)
    for name, schema in old.get("components", {}).get("schemas", {}).items():
        current = new.get("components", {}).get("schemas", {}).get(name)
        if current is not None:
            found += _schema_breaks(name, schema, current)
    return found


def _operation_breaks(name: str, old: Document, new: Document) -> list[str]:
    found = []
    if old.get("operationId") != new.get("operationId"):
        found.append(f"{name}: operationId changed to {new.get('operationId')}")
    if "x-call" in old and old["x-call"] != new.get("x-call"):
        found.append(f"{name}: clients would call it {new.get('x-call')}")
    known = {(p["in"], p["name"]) for p in old.get("parameters", [])}
    offered = {(p["in"], p["name"]) for p in new.get("parameters", [])}
    found += [f"{name}: parameter {where}/{what} is gone" for where, what in sorted(known - offered)]
    for parameter in new.get("parameters", []):
        key = (parameter["in"], parameter["name"])
        if parameter.get("required") and key not in known:
            found.append(f"{name}: new required parameter {key[0]}/{key[1]}")
    if new.get("requestBody", {}).get("required") and not old.get("requestBody", {}).get("required"):
        found.append(f"{name}: a body is required now")
    successes = {status for status in old.get("responses", {}) if status.startswith("2")}
    found += [f"{name}: answer {s} is gone" for s in sorted(successes - set(new.get("responses", {})))]
    return found


def _schema_breaks(name: str, old: Document, new: Document) -> list[str]:
    found = []
    before, after = old.get("properties", {}), new.get("properties", {})
    found += [f"schema {name}: {field} is gone" for field in sorted(before.keys() - after.keys())]
    demanded = set(new.get("required", [])) - set(old.get("required", []))
    closed = new.get("additionalProperties") is False  # a request body: what it demands, callers must send
    found += [f"schema {name}: {field} is required now" for field in sorted(demanded) if closed]
    for field in sorted(before.keys() & after.keys()):
        if before[field].get("type") != after[field].get("type"):
            found.append(f"schema {name}: the type of {field} changed")
        lost = set(before[field].get("enum", [])) - set(after[field].get("enum", []))
        if after[field].get("enum") and lost and closed:
            found.append(f"schema {name}: {field} no longer takes {sorted(lost)}")
    return found
