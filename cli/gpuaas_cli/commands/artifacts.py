"""artifacts: publish, verify, sign, promote, roll back, revoke, delete."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.artifact_views import COLUMNS, artifact_id, print_artifact, require_registered
from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import DeadlineOption, ProjectOption, ReasonOption, YesOption
from gpuaas_cli.output import Column, age, print_list
from gpuaas_cli.progress import Progress
from gpuaas_cli.references import project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Artifact, Evidence
from gpuaas_sdk.registry import Repository
from gpuaas_sdk.signatures import digest_of

group = CommandGroup("Artifacts: the files and images of apps, their signatures, and their promotion.")

ArtifactArgument = Annotated[str, typer.Argument(help="Artifact: id, digest, or name (the newest of that name).")]


class Stage(StrEnum):
    STAGED = "staged"
    CANARY = "canary"
    ACTIVE = "active"
    DEPRECATED = "deprecated"
    RETIRED = "retired"


class EvidenceKind(StrEnum):
    LINT = "lint"
    SMOKE = "smoke"


EVIDENCE: list[Column[Evidence]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("KIND", lambda one: one.kind),
    Column("PASSED", lambda one: one.passed),
    Column("TOOL", lambda one: one.tool),
    Column("SUMMARY", lambda one: one.summary),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]


@group.verb("list")
def list_(
    session: Session,
    stage: Annotated[Stage | None, typer.Option("--stage", help="Only those in this stage.")] = None,
    project: ProjectOption = None,
) -> None:
    """List the artifacts of a project, newest first."""
    wanted = None if stage is None else stage.value
    print_list(session, session.client.artifacts.list(project_id(session, project), stage=wanted), COLUMNS)


@group.verb("show")
def show(session: Session, artifact: ArtifactArgument, project: ProjectOption = None) -> None:
    """Show one artifact."""
    where, found = _find(session, project, artifact)
    print_artifact(session, session.client.artifacts.show(where, found))


@group.verb("publish")
def publish(
    session: Session,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The file.")],
    name: Annotated[str | None, typer.Option("--name", help="The artifact's name. Default: the file's name.")] = None,
    media_type: Annotated[str | None, typer.Option("--media-type", help="Media type of the file.")] = None,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Publish a file as a blob: upload its bytes and check them against the digest computed here."""
    where = project_id(session, project)
    digest = digest_of(file)
    called = name or file.name.lower().replace("_", "-").replace(".", "-")
    intents = session.client.publish_intents
    intent = intents.create(where, "blob", called, media_type=media_type, size_bytes=file.stat().st_size)
    with Progress(session) as progress:
        intents.upload(
            intent, file, lambda sent, total: progress.update(f"{100 * sent // max(total, 1)}% of {file.name}")
        )
        progress.finish("uploaded")
        intents.complete(where, intent.id, digest)
        progress.update("the platform checks the bytes")
        registered = require_registered(intents.wait_until_checked(where, intent.id, deadline))
        progress.finish(f"registered as {digest}")
    print_artifact(session, session.client.artifacts.wait_until_checked(where, registered, deadline))


@group.verb("push-place")
def push_place(
    session: Session,
    name: Annotated[str, typer.Argument(help="The image's name.")],
    project: ProjectOption = None,
) -> None:
    """Open a publish intent for an image and print where to push it. Next: `artifacts register NAME DIGEST`."""
    where = project_id(session, project)
    intent = session.client.publish_intents.create(where, "oci", name)
    if intent.push is None:
        raise CommandFailed("registry_not_configured", "This platform has no image registry.")
    session.say(f"{intent.push.registry}/{intent.push.repository}")


@group.verb("register")
def register(
    session: Session,
    name: Annotated[str, typer.Argument(help="The image's name.")],
    digest: Annotated[str, typer.Argument(help="Digest of the image's manifest (sha256:…), as the push printed it.")],
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Register a pushed image. The platform reads and checks every part of it."""
    where = project_id(session, project)
    intents = session.client.publish_intents
    waiting = (one for one in intents.list(where) if (one.state, one.kind, one.name) == ("open", "oci", name))
    intent = next(waiting, None) or intents.create(where, "oci", name)
    intents.complete(where, intent.id, digest)
    with Progress(session) as progress:
        progress.update("the platform reads every layer")
        registered = require_registered(intents.wait_until_checked(where, intent.id, deadline))
        progress.finish(f"registered as {digest}")
    print_artifact(session, session.client.artifacts.wait_until_checked(where, registered, deadline))


@group.verb("download")
def download(
    session: Session,
    artifact: ArtifactArgument,
    target: Annotated[Path, typer.Argument(dir_okay=False, help="Where to.")],
    project: ProjectOption = None,
) -> None:
    """Download a blob and check it against its digest."""
    where, found = _find(session, project, artifact)
    wanted = session.client.artifacts.show(where, found).digest
    fresh = target.with_name(f".{target.name}.part")
    try:
        got = session.client.artifacts.download(where, found, fresh)
        if got != wanted:
            detail = f"The downloaded bytes have the digest {got}, not {wanted}."
            raise CommandFailed("digest_mismatch", detail, "Try again. If it fails again, verify the artifact.")
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    session.say(f"{target} is {got}.")


@group.verb("sign")
def sign(
    session: Session,
    artifact: ArtifactArgument,
    key: Annotated[Path, typer.Option("--key", exists=True, dir_okay=False, help="An ECDSA private key in PEM.")],
    deadline: DeadlineOption = 600,
    project: ProjectOption = None,
) -> None:
    """Sign an artifact with your own key, as cosign does, and verify it. Fails if that fails. The key stays here."""
    from gpuaas_sdk.signatures import read_private_key, sign_blob, sign_image

    where, found = _find(session, project, artifact)
    signed = session.client.artifacts.show(where, found)
    try:
        private = read_private_key(key)
    except (ValueError, TypeError) as error:
        raise CommandFailed(
            "key_refused", f"{key}: {error}.", "Give an unencrypted PKCS#8 key.", ExitCode.USAGE
        ) from error
    signatures = []
    if signed.kind == "blob":
        signatures = [sign_blob(private, signed.digest)]
    else:
        sign_image(_repository(session, signed), signed.digest, private)
    session.client.artifacts.verify(where, found, signatures=signatures)
    _print_checked(session, session.client.artifacts.wait_until_checked(where, found, deadline))


@group.verb("verify")
def verify(
    session: Session,
    artifact: ArtifactArgument,
    signature: Annotated[
        list[str] | None,
        typer.Option("--signature", help="A signature of the blob, as printed by `cosign sign-blob`; repeat for more."),
    ] = None,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Check the bytes and signatures again and wait for the verdict. Fails if the verification fails."""
    where, found = _find(session, project, artifact)
    session.client.artifacts.verify(where, found, signatures=signature)
    _print_checked(session, session.client.artifacts.wait_until_checked(where, found, deadline))


def _print_checked(session: Session, checked: Artifact) -> None:
    """Print the artifact; the exit code is 0 only if its verification did not fail."""
    print_artifact(session, checked)
    if checked.trust in ("failed_verification", "revoked"):
        raise CommandFailed("artifact_untrusted", f"It is {checked.trust}: {checked.trust_detail}.")


@group.verb("evidence")
def evidence(session: Session, artifact: ArtifactArgument, project: ProjectOption = None) -> None:
    """List the results of lint and smoke tests."""
    where, found = _find(session, project, artifact)
    print_list(session, session.client.artifacts.evidence(where, found), EVIDENCE)


@group.verb("add-evidence")
def add_evidence(
    session: Session,
    artifact: ArtifactArgument,
    kind: Annotated[EvidenceKind, typer.Argument(help="Of what.")],
    tool: Annotated[str, typer.Option("--tool", help="The tool that was run, with its version.")],
    summary: Annotated[str, typer.Option("--summary", help="Its result, or where its report is.")],
    failed: Annotated[bool, typer.Option("--failed", help="The check did not pass.")] = False,
    project: ProjectOption = None,
) -> None:
    """Add the result of a lint or smoke test. The latest of each kind must have passed before staging."""
    where, found = _find(session, project, artifact)
    added = session.client.artifacts.add_evidence(where, found, kind.value, not failed, tool=tool, summary=summary)
    print_list(session, [added], EVIDENCE)


@group.verb("promote")
def promote(
    session: Session,
    artifact: ArtifactArgument,
    stage: Annotated[Stage, typer.Argument(help="The stage to promote to.")],
    reason: ReasonOption,
    percent: Annotated[
        int | None, typer.Option("--percent", min=1, max=100, help="For a canary: the percentage of projects.")
    ] = None,
    project: ProjectOption = None,
) -> None:
    """Move an artifact to another stage. If that is refused, every reason is listed."""
    where, found = _find(session, project, artifact)
    moved = session.client.artifacts.move(where, found, stage.value, reason, canary_percent=percent)
    print_list(session, [moved], COLUMNS)


@group.verb("rollback")
def rollback(session: Session, artifact: ArtifactArgument, reason: ReasonOption, project: ProjectOption = None) -> None:
    """Move a canary back to staged. It can no longer be launched."""
    where, found = _find(session, project, artifact)
    stage = session.client.artifacts.show(where, found).stage
    if stage != "canary":  # for a draft, the same move would be a promotion
        raise CommandFailed(
            "promotion_refused",
            f"{artifact} is {stage}: only a canary can go back to staged.",
            "Deprecate what is active, or promote another artifact.",
            ExitCode.CONFLICT,
        )
    print_list(session, [session.client.artifacts.move(where, found, "staged", reason)], COLUMNS)


@group.verb("revoke")
def revoke(
    session: Session,
    artifact: ArtifactArgument,
    reason: ReasonOption,
    project: ProjectOption = None,
    yes: YesOption = False,
) -> None:
    """Revoke an artifact permanently. New launches stop and running instances are flagged."""
    where, found = _find(session, project, artifact)
    session.confirm(f"Revoke {found}? This cannot be undone.", yes)
    print_list(session, [session.client.artifacts.revoke(where, found, reason)], COLUMNS)


@group.verb("delete")
def delete(session: Session, artifact: ArtifactArgument, project: ProjectOption = None, yes: YesOption = False) -> None:
    """Delete with its bytes, for ever. Refused while an app version or an instance refers to it."""
    where, found = _find(session, project, artifact)
    session.confirm(f"Delete {found} and its bytes? This cannot be undone.", yes)
    print_list(session, [session.client.artifacts.delete(where, found)], COLUMNS)


def _find(session: Session, project: str | None, artifact: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, artifact_id(session, where, artifact)


def _repository(session: Session, artifact: Artifact) -> Repository:
    registry, _, rest = (artifact.reference or "").partition("/")
    name = rest.partition("@")[0]
    token = session.client.artifacts.registry_token
    return Repository(registry, name, lambda scope: token(scope=[scope]).token, session.ca_file)
