"""Publishes a version of an app with one command: check, register, upload, sign, add evidence, promote, activate.

Each step looks at what is there and does only what is missing, so the command can be repeated after any failure.
"""

import gzip
import io
import json
import shlex
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpuaas_cli.blob_publication import BlobToPublish, publish_blob
from gpuaas_cli.catalog_views import format_faults
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.progress import Progress
from gpuaas_cli.session import Session
from gpuaas_sdk import AppVersion, Artifact, InvalidRequest
from gpuaas_sdk.promotion import PassedCheck
from gpuaas_sdk.signatures import digest_of, read_private_key, sign_blob

DIGEST = "{digest}"  # in the manifest: the digest of what is packed
FOOTPRINT = "{footprint}"  # in the manifest: what the app's own command prints
_SUMMARY = 200  # characters of a tool's last line that are kept as evidence


@dataclass(frozen=True, slots=True)
class Publication:
    """Describes what is published, and how it is checked before."""

    folder: Path
    artifact: Path  # a file as it is, or a folder that is packed
    reason: str
    checks: dict[str, str]  # kind of evidence → command line
    footprint: str  # command line that prints the footprint
    key: Path | None = None
    deadline: float = 3600

    @property
    def manifest(self) -> Path:
        return self.folder / "manifest.yaml"


def publish_app(session: Session, project: str, wanted: Publication) -> AppVersion:
    """Bring the version to `active`, and say each step that was done."""
    text = _read_manifest(wanted)
    with Progress(session) as progress, _packed(wanted.artifact) as file:
        digest = digest_of(file)
        artifact = session.client.artifacts.find(project, digest)
        unchecked = artifact is None or artifact.stage == "draft"
        checks = wanted.checks.items() if unchecked else ()
        passed = [_run_check(progress, kind, line, wanted.folder) for kind, line in checks]
        text = text.replace(DIGEST, digest)
        if FOOTPRINT in text:
            text = text.replace(FOOTPRINT, _derive_footprint(progress, wanted))
        version = _register(session, project, wanted, text)  # refused before anything is uploaded
        progress.finish(f"{version.slug} {version.version} is registered")
        artifact = artifact or _upload(session, progress, project, wanted, file, digest)
        artifact = _sign(session, progress, project, wanted, artifact)
        session.client.artifacts.promote_to(
            project,
            artifact,
            reason=wanted.reason,
            checks=passed,
            moved=lambda stage: progress.finish(f"the artifact is {stage}"),
        )
        version = session.client.app_versions.activate_draft(project, version)
        progress.finish(f"{version.slug} {version.version} is {version.status}")
    return version


def _read_manifest(wanted: Publication) -> str:
    try:
        return wanted.manifest.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        detail = f"{wanted.manifest} cannot be read."
        raise CommandFailed("unreadable_file", detail, "Name the folder with manifest.yaml.", ExitCode.USAGE) from error


@contextmanager
def _packed(source: Path) -> Iterator[Path]:
    """Yield the file to publish. A folder becomes an archive whose bytes depend on its content only."""
    if source.is_file():
        yield source
        return
    if not source.is_dir():
        detail = f"{source} is neither a file nor a folder."
        raise CommandFailed("unreadable_file", detail, "Name what to publish with --artifact.", ExitCode.USAGE)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"{source.name}.tar.gz"
        target.write_bytes(pack_folder(source))
        yield target


def pack_folder(source: Path) -> bytes:
    """Return a tar.gz archive of the folder: sorted, without times and owners, so that equal content has equal bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(source.rglob("*")):
            if "__pycache__" in path.parts or not (path.is_dir() or path.is_file()) or path.is_symlink():
                continue
            entry = tarfile.TarInfo(str(path.relative_to(source)))
            entry.mode = 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644
            if path.is_dir():
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                content = path.read_bytes()
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def _run_check(progress: Progress, kind: str, line: str, folder: Path) -> PassedCheck:
    """Run a check in the app's folder; the last line of its output is kept. One that fails ends the command."""
    progress.update(f"{kind}: {line}")
    try:
        ran = subprocess.run(shlex.split(line), cwd=folder, capture_output=True, text=True, check=False)
    except (OSError, ValueError) as error:
        detail = f"The {kind} check cannot be run: {line}."
        raise CommandFailed("check_not_run", detail, f"Install the tool, or name another with --{kind}.") from error
    said = [one for one in (ran.stdout + ran.stderr).splitlines() if one.strip()]
    if ran.returncode != 0:
        detail = f"The {kind} check failed: {line}.\n" + "\n".join(said[-10:])
        raise CommandFailed("check_failed", detail, "Correct what it names and publish again. Nothing was published.")
    summary = (said[-1] if said else "passed").strip()[:_SUMMARY]
    progress.finish(f"{kind}: {summary}")
    return PassedCheck(kind, line[:_SUMMARY], summary)


def _derive_footprint(progress: Progress, wanted: Publication) -> str:
    """Return what the app's command prints, as JSON on one line: it is YAML too, and faults keep their lines."""
    line = wanted.footprint
    progress.update(f"footprint: {line}")
    correct = "Correct the command, or name another with --footprint. Nothing was published."
    try:
        ran = subprocess.run(shlex.split(line), cwd=wanted.folder, capture_output=True, text=True, check=False)
    except (OSError, ValueError) as error:
        raise CommandFailed("footprint_not_derived", f"The command cannot be run: {line}.", correct) from error
    if ran.returncode != 0:
        detail = f"The command failed: {line}.\n" + "\n".join((ran.stdout + ran.stderr).splitlines()[-10:])
        raise CommandFailed("footprint_not_derived", detail, correct)
    try:
        derived = json.loads(ran.stdout)
    except (ValueError, RecursionError):
        derived = None
    if not isinstance(derived, dict):
        detail = f"The command printed no footprint as a JSON object: {line}."
        raise CommandFailed("footprint_not_derived", detail, correct)
    progress.finish(f"footprint: {', '.join(f'{len(found)} {kind}' for kind, found in derived.items()) or 'empty'}")
    return json.dumps(derived)


def _upload(
    session: Session, progress: Progress, project: str, wanted: Publication, file: Path, digest: str
) -> Artifact:
    name = wanted.folder.resolve().name.lower().replace("_", "-")
    made = publish_blob(session, progress, project, BlobToPublish(file, name, digest), wanted.deadline)
    progress.finish(f"uploaded as {digest}")
    return session.client.artifacts.wait_until_checked(project, made, wanted.deadline)


def _sign(session: Session, progress: Progress, project: str, wanted: Publication, artifact: Artifact) -> Artifact:
    if wanted.key is None or artifact.signed_by:
        return artifact
    try:
        private = read_private_key(wanted.key)
    except (ValueError, TypeError) as error:
        raise CommandFailed(
            "key_refused", f"{wanted.key}: {error}.", "Give an unencrypted PKCS#8 key.", ExitCode.USAGE
        ) from error
    artifacts = session.client.artifacts
    artifacts.verify(project, artifact.id, signatures=[sign_blob(private, artifact.digest)])
    checked = artifacts.wait_until_checked(project, artifact.id, wanted.deadline)
    if checked.trust in ("failed_verification", "revoked"):
        raise CommandFailed(
            "artifact_untrusted", f"The trust of the artifact is {checked.trust}: {checked.trust_detail}."
        )
    progress.finish(f"signed: {checked.trust}")
    return checked


def _register(session: Session, project: str, wanted: Publication, text: str) -> AppVersion:
    """Register the version, or find it: the same content under the same version changes nothing."""
    try:
        return session.client.app_versions.register(project, text)
    except InvalidRequest as error:
        raise error if session.as_json else format_faults(error, str(wanted.manifest)) from error
