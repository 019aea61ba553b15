"""Prints artifacts and publish intents, and finds artifacts by id, digest or name."""

from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.output import Column, age, print_card
from gpuaas_cli.references import is_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Artifact, Evidence, PublishIntent
from gpuaas_sdk.digests import is_digest

EVIDENCE: list[Column[Evidence]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("KIND", lambda one: one.kind),
    Column("PASSED", lambda one: one.passed),
    Column("SOURCE", lambda one: one.source),
    Column("TOOL", lambda one: one.tool),
    Column("SUMMARY", lambda one: one.summary),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]


def stage(artifact: Artifact) -> str:
    return f"canary {artifact.canary_percent}%" if artifact.stage == "canary" else artifact.stage


COLUMNS: list[Column[Artifact]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NAME", lambda one: one.name),
    Column("KIND", lambda one: one.kind),
    Column("STAGE", stage),
    Column("TRUST", lambda one: one.trust),
    Column("DIGEST", lambda one: one.digest[:19]),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]


def print_artifact(session: Session, artifact: Artifact) -> None:
    fields: list[tuple[str, object]] = [
        ("id", artifact.id),
        ("name", artifact.name),
        ("kind", artifact.kind),
        ("digest", artifact.digest),
        ("reference", artifact.reference),
        ("credential", "of the publisher, for its tenant alone" if artifact.has_credential else "none needed"),
        ("size", f"{artifact.size_bytes} bytes"),
        ("stage", stage(artifact)),
        ("since", artifact.stage_since),
        ("trust", artifact.trust),
        ("because", artifact.trust_detail),
        ("signed by", artifact.signed_by),
        ("checked", artifact.checked_at),
        ("published", artifact.created_at),
        ("by", artifact.created_by),
    ]
    print_card(session, artifact, fields)


def artifact_id(session: Session, project: str, text: str) -> str:
    """Find an artifact by id, by digest, or by name (the newest of that name)."""
    if is_id("art", text):
        return text
    digest = text if is_digest(text) else None
    for artifact in session.client.artifacts.list(project, digest=digest):
        if text in (artifact.name, artifact.digest):
            return artifact.id
    raise CommandFailed(
        "not_found", f"There is no artifact {text} here.", "List them with `gpuaas artifacts list`.", ExitCode.NOT_FOUND
    )


def require_registered(intent: PublishIntent) -> str:
    """Return the artifact's id, or raise the publish intent's failure as a failure of the command."""
    if intent.state == "registered" and intent.artifact_id is not None:
        return intent.artifact_id
    failure = intent.failure
    if failure is None:
        raise CommandFailed("not_registered", f"The publish intent is {intent.state}.")
    raise CommandFailed(failure.code, failure.message, failure.next_step or "", ExitCode.CONFLICT)
