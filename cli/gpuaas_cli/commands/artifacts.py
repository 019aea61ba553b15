"""artifacts: publish, verify, sign, promote, roll back, revoke, delete."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.artifact_collection import collect_artifacts
from gpuaas_cli.artifact_views import COLUMNS, EVIDENCE, artifact_id, print_artifact, require_registered
from gpuaas_cli.blob_publication import BlobToPublish, publish_blob
from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import DeadlineOption, ProjectOption, ReasonOption, YesOption
from gpuaas_cli.output import Column, age, print_list
from gpuaas_cli.progress import Progress
from gpuaas_cli.references import project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Artifact, PublishIntent, PullCredentialSet
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


INTENTS: list[Column[PublishIntent]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NAME", lambda one: one.name),
    Column("KIND", lambda one: one.kind),
    Column("STATE", lambda one: one.state),
    Column("BYTES", lambda one: one.size_bytes, right=True),
    Column("EXPIRES", lambda one: one.deadline_at),
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
    """Publish a file as a blob: upload its bytes and check them against the digest computed here. A large file is sent in
    parts: repeat the command after an interruption, and it sends the rest.
    """
    where = project_id(session, project)
    called = name or file.name.lower().replace("_", "-").replace(".", "-")
    with Progress(session) as progress:
        progress.update(f"computing the digest of {file.name}")
        digest = digest_of(file)
        registered = publish_blob(session, progress, where, BlobToPublish(file, called, digest, media_type), deadline)
        progress.finish(f"registered as {digest}")
    print_artifact(session, session.client.artifacts.wait_until_checked(where, registered, deadline))


@group.verb("unfinished")
def unfinished(session: Session, project: ProjectOption = None) -> None:
    """List publish intents that are not complete. Their bytes count against the quotas until they expire or are cancelled."""
    intents = session.client.publish_intents.list(project_id(session, project))
    print_list(session, [one for one in intents if one.ended_at is None], INTENTS)


@group.verb("cancel")
def cancel(
    session: Session,
    intent: Annotated[str, typer.Argument(help="Id of the publish intent, as `artifacts unfinished` lists it.")],
    project: ProjectOption = None,
) -> None:
    """Cancel an unfinished publish and remove the bytes that were sent for it."""
    print_list(session, [session.client.publish_intents.cancel(project_id(session, project), intent)], INTENTS)


@group.verb("push-target")
def push_target(
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


@group.verb("register-external")
def register_external(
    session: Session,
    name: Annotated[str, typer.Argument(help="Name shared by all versions of the image.")],
    reference: Annotated[str, typer.Argument(help="The image: host/repository@sha256:….")],
    username: Annotated[
        str | None,
        typer.Option("--username", help="User name at the registry; its password is read from standard input."),
    ] = None,
    deadline: DeadlineOption = 900,
    project: ProjectOption = None,
) -> None:
    """Register an image that stays in another registry. Repeat it with another credential to replace the credential."""
    where, credential = project_id(session, project), None
    if username is not None:
        credential = PullCredentialSet(username=username, password=_read_password(username))
    intents = session.client.publish_intents
    intent = intents.refer(where, name, reference, credential=credential)
    with Progress(session) as progress:
        progress.update("the platform reads the manifest")
        registered = require_registered(intents.wait_until_checked(where, intent.id, deadline))
        progress.finish(f"registered as {intent.digest}")
    print_artifact(session, session.client.artifacts.wait_until_checked(where, registered, deadline))


@group.verb("download")
def download(
    session: Session,
    artifact: ArtifactArgument,
    target: Annotated[Path, typer.Argument(dir_okay=False, help="File to write.")],
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
    """Sign an artifact with your own key, as cosign does, and verify it. The key never leaves this machine."""
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
    if signed.registry is not None:
        raise CommandFailed(
            "external_image",
            f"{artifact} is in {signed.registry}, where the platform writes nothing.",
            f"Sign it there: cosign sign --key … {signed.reference}. Then run `gpuaas artifacts verify`.",
            ExitCode.CONFLICT,
        )
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
        raise CommandFailed(
            "artifact_untrusted", f"The trust of the artifact is {checked.trust}: {checked.trust_detail}."
        )


@group.verb("evidence")
def evidence(session: Session, artifact: ArtifactArgument, project: ProjectOption = None) -> None:
    """List the results of lint and smoke tests, and who ran each: the platform or the publisher."""
    where, found = _find(session, project, artifact)
    print_list(session, session.client.artifacts.evidence(where, found), EVIDENCE)


@group.verb("add-evidence")
def add_evidence(
    session: Session,
    artifact: ArtifactArgument,
    kind: Annotated[EvidenceKind, typer.Argument(help="Kind of the check.")],
    tool: Annotated[str, typer.Option("--tool", help="The tool that was run, with its version.")],
    summary: Annotated[str, typer.Option("--summary", help="The result, or where the report is.")],
    failed: Annotated[bool, typer.Option("--failed", help="The check did not pass.")] = False,
    project: ProjectOption = None,
) -> None:
    """Add the result of your own lint or smoke test. Staging also needs the platform's lint, which runs by itself."""
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
    """Delete an artifact and its bytes permanently. Refused while an app version or an instance refers to it."""
    where, found = _find(session, project, artifact)
    session.confirm(f"Delete {found} and its bytes? This cannot be undone.", yes)
    print_list(session, [session.client.artifacts.delete(where, found)], COLUMNS)


@group.verb("collect")
def collect(
    session: Session,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the audit trail.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be deleted, when and why.")] = False,
    project: ProjectOption = None,
    yes: YesOption = False,
) -> None:
    """Delete artifacts that no app version and no instance refers to, after their grace period, with their bytes."""
    collect_artifacts(session, project_id(session, project), reason, dry_run=dry_run, yes=yes)


def _read_password(username: str) -> str:
    """Read one line; a person types it unseen. As an argument, everybody on the machine could read it."""
    if sys.stdin.isatty():
        return str(typer.prompt(f"Password of {username}", hide_input=True))
    return sys.stdin.readline().rstrip("\r\n")


def _find(session: Session, project: str | None, artifact: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, artifact_id(session, where, artifact)


def _repository(session: Session, artifact: Artifact) -> Repository:
    registry, _, rest = (artifact.reference or "").partition("/")
    name = rest.partition("@")[0]
    token = session.client.artifacts.registry_token
    return Repository(registry, name, lambda scope: token(scope=[scope]).token, session.ca_file)
