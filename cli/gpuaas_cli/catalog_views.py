"""Prints apps, versions and entitlements."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpuaas_cli.output import Column, age, print_card
from gpuaas_cli.session import Session
from gpuaas_sdk import (
    App,
    AppVersion,
    AppVersionDetail,
    CandidateComponent,
    CatalogApp,
    CatalogEntry,
    Entitlement,
    InvalidRequest,
    PlacementCandidate,
    ProvidedApp,
)

CATALOG: list[Column[CatalogApp]] = [
    Column("APP", lambda one: one.slug, whole=True),
    Column("NAME", lambda one: one.display_name),
    Column("LATEST", lambda one: one.latest, whole=True),
    Column("CONTROLLER", lambda one: one.controller and one.controller.state, whole=True),
    Column("CATEGORY", lambda one: one.category),
    Column("DESCRIPTION", lambda one: one.description),
]
APPS: list[Column[App]] = [
    Column("APP", lambda one: one.slug, whole=True),
    Column("NAME", lambda one: one.display_name),
    Column("VISIBILITY", lambda one: one.visibility, whole=True),
    Column("PROJECT", lambda one: one.project_id, whole=True),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]
PROVIDED: list[Column[ProvidedApp]] = [
    Column("APP", lambda one: one.name, whole=True),
    Column("NAME", lambda one: one.display_name),
    Column("STATE", lambda one: one.state, whole=True),
    Column("AGE", lambda one: age(one.reported_at), right=True, whole=True),
    Column("WHY", lambda one: one.detail or " ".join(filter(None, (one.message, one.next_step)))),
]


def _version_status(version: AppVersion) -> str:
    """Return the status, with the percentage of a canary, and whether launches take another version."""
    if version.canary_percent is not None:
        return f"canary {version.canary_percent}%"
    return f"{version.status} (superseded: deprecate it)" if version.superseded else version.status


VERSIONS: list[Column[AppVersion]] = [
    Column("APP", lambda one: one.slug, whole=True),
    Column("VERSION", lambda one: one.version, whole=True),
    Column("RUNTIME", lambda one: one.runtime_version, whole=True),
    Column("STATUS", _version_status, whole=True),
    Column("NOTICE", lambda one: one.notice),
    Column("ID", lambda one: one.id, whole=True),
]
ENTITLEMENTS: list[Column[Entitlement]] = [
    Column("APP", lambda one: one.slug, whole=True),
    Column("TENANT", lambda one: one.tenant_id, whole=True),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]
PLACEMENTS: list[Column[PlacementCandidate]] = [
    Column("ALLOCATION", lambda one: one.name or one.id),
    Column("STATE", lambda one: one.state, whole=True),
    Column("GPUS", lambda one: one.gpu_count, right=True, whole=True),
    Column("SHAPE", lambda one: one.shape, whole=True),
    Column("COMPONENTS", lambda one: "\n".join(_placement_verdict(component) for component in one.components)),
]


def _placement_verdict(component: CandidateComponent) -> str:
    """Return "worker: yes", or every reason why the component cannot run there."""
    reasons = " ".join(refusal.message for refusal in component.refusals)
    return f"{component.component_key}: {reasons or 'yes'}"


def print_app(session: Session, app: CatalogEntry) -> None:
    shown = app.shown
    fields = [
        ("App", f"{app.slug} ({app.display_name})"),
        ("Description", app.description),
        ("Category", app.category),
        ("Keywords", app.keywords),
        ("Versions", [f"{one.version} ({one.status})" for one in app.versions]),
        (
            "Channel",
            f"{app.channel}{' (chosen)' if app.channel_pinned else ''}, launches take {app.latest or 'nothing'}",
        ),
        ("Shown", shown and f"{shown.version}, runtime {shown.runtime_version}, {shown.status}"),
        ("Notice", shown and shown.notice),
        ("Controller", app.controller and app.controller.message),
        ("Next step", app.controller and app.controller.next_step),
        *_manifest_fields(app.manifest),
    ]
    print_card(session, app, fields)


def print_version(session: Session, version: AppVersionDetail) -> None:
    fields = [
        ("Version", f"{version.slug} {version.version}"),
        ("Runtime", version.runtime_version),
        ("Status", version.status),
        ("Notice", version.notice),
        ("Retire at", version.retire_at),
        ("Artifact", f"{version.artifact_kind} {version.artifact_digest}"),
        *_manifest_fields(version.manifest),
        ("Id", version.id),
        ("Registered", version.created_at),
        ("Activated", version.activated_at),
        ("Deprecated", version.deprecated_at),
        ("Retired", version.retired_at),
        ("You may", version.allowed_actions),
    ]
    print_card(session, version, fields)


def _manifest_fields(manifest: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    components = manifest.get("components")
    if isinstance(components, list):
        yield "Components", [f"{one['key']} {one['min']}-{one['max']}" for one in components]
    yield "Needs", manifest.get("compatibility")
    inputs = manifest.get("inputs")
    if isinstance(inputs, dict):
        required = inputs.get("required", [])
        asked = inputs.get("properties", {})
        yield "Inputs", [f"{name}*" if name in required else name for name in asked]
    options = manifest.get("options")
    if isinstance(options, dict):
        yield "Options", {verb: list(schema.get("properties", {})) for verb, schema in options.items()}


def format_faults(error: InvalidRequest, file: str) -> InvalidRequest:
    """Format the faults of a manifest as compilers do, so that editors can jump to the line."""
    faults = error.details.get("faults")
    if error.code != "manifest_invalid" or not isinstance(faults, list):
        return error
    lines = [{"fault": f"{file}:{one['line']}:{one['column']}: {_format_fault(one)}"} for one in faults]
    count = error.details.get("count", len(faults))
    detail = f"{file} has {count} {'fault' if count == 1 else 'faults'}."
    return InvalidRequest(
        replace(error.problem, detail=detail, next_step="Correct them and register it again.", details={"": lines})
    )


def _format_fault(fault: Mapping[str, object]) -> str:
    return f"{fault['path']}: {fault['message']}" if fault["path"] else str(fault["message"])
