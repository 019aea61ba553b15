"""Publishes the app of a folder: lint, register, push the images, sign, add evidence, promote, activate.

Each step looks at what is there and does only what is missing, so that it can be repeated after any failure.
"""

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gpuaas_compose import __version__
from gpuaas_compose.app_file import AppFile
from gpuaas_compose.environment import FileRefused
from gpuaas_compose.image_archive import ArchiveRefused, open_archive
from gpuaas_compose.lint import Lint, inside
from gpuaas_sdk import AppVersion, Artifact
from gpuaas_sdk.commands import CommandError, CommandSession
from gpuaas_sdk.registry import Repository
from gpuaas_sdk.signatures import read_private_key, sign_image

STAGES = ("draft", "staged", "canary", "active")
_SUMMARY = 200  # characters of a check's last line that are kept as evidence
_SMOKE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Publication:
    """What is published. Without a `smoke` command images that are not tested yet stay drafts, and so does the version."""

    folder: Path
    reason: str
    smoke: str | None = None
    key: Path | None = None
    deadline: float = 3600


def publish(session: CommandSession, project_id: str, linted: Lint, wanted: Publication) -> AppVersion:
    """Bring the version as far as the evidence allows, and say each step that was done."""
    if linted.app is None or linted.manifest is None:
        raise ValueError("only a folder without faults is published")
    digests = {service.digest: service.name for service in reversed(linted.services)}
    there = {digest: _find(session, project_id, digest) for digest in digests}
    missing = {digest: name for digest, name in digests.items() if there[digest] is None}
    archives = {digest: _archive(linted.app, wanted.folder, digest, name) for digest, name in missing.items()}
    version = session.client.app_versions.register(project_id, json.dumps(linted.manifest))
    session.say(f"{version.slug} {version.version} is registered ({version.status})")
    images = [one for one in there.values() if one is not None]
    for digest, path in archives.items():
        name = f"{linted.app.slug}-{digests[digest]}"[:60].rstrip("-_").replace("_", "-")
        images.append(_push(session, project_id, name, path, wanted.deadline))
        session.say(f"{digests[digest]}: pushed and checked as {digest}")
    for image in images:
        _sign(session, project_id, image, wanted)
    if not _prove(session, project_id, images, wanted):
        return version
    for image in images:
        _promote(session, project_id, image, wanted.reason)
    if version.status == "draft":
        version = session.client.app_versions.activate(project_id, version.app_id, version.id)
    session.say(f"{version.slug} {version.version} is {version.status}")
    return version


def _find(session: CommandSession, project_id: str, digest: str) -> Artifact | None:
    return next(iter(session.client.artifacts.list(project_id, digest=digest)), None)


def _archive(app: AppFile, folder: Path, digest: str, service: str) -> Path:
    """Return the archive of an image that the project does not have yet. It must be the image that the service names."""
    if service not in app.images:
        raise CommandError(
            "image_missing",
            f"The project has no image {digest}, which {service} runs.",
            f"Save it with `podman save --format oci-archive`, and name the file in app.yaml under images: {service}.",
        )
    name = app.images[service]
    try:
        path = inside(folder, name)
        with open_archive(path) as archive:
            found = archive.digest
    except (FileRefused, ArchiveRefused) as refused:
        raise CommandError("image_refused", f"{name}: {refused}", "Save the image again.", usage=True) from None
    if found != digest:
        next_step = f"Write image: …@{found} in the compose file, or name the right archive."
        raise CommandError("image_mismatch", f"{name} is the image {found}, not {digest}.", next_step, usage=True)
    return path


def _push(session: CommandSession, project_id: str, name: str, path: Path, deadline: float) -> Artifact:
    intents = session.client.publish_intents
    intent = intents.create(project_id, "oci", name)
    if intent.push is None:
        raise CommandError("registry_not_configured", "This platform has no image registry.", "Ask its operators.")
    repository = _repository(session, intent.push.registry, intent.push.repository)
    with open_archive(path) as archive:
        for digest in archive.blobs:
            with archive.blob(digest) as stream:
                repository.push_stream(stream, digest)
        repository.push_manifest(archive.digest, archive.manifest)
        intents.complete(project_id, intent.id, archive.digest)
    checked = intents.wait_until_checked(project_id, intent.id, deadline)
    if checked.artifact_id is None:
        failure = checked.failure
        sentence = f"The publish intent is {checked.state}." if failure is None else failure.message
        code, next_step = ("not_registered", "") if failure is None else (failure.code, failure.next_step or "")
        raise CommandError(code, sentence, next_step)
    return session.client.artifacts.wait_until_checked(project_id, checked.artifact_id, deadline)


def _repository(session: CommandSession, registry: str, name: str) -> Repository:
    token = session.client.artifacts.registry_token
    return Repository(registry, name, lambda scope: token(scope=[scope]).token, session.ca_file)


def _sign(session: CommandSession, project_id: str, image: Artifact, wanted: Publication) -> None:
    if wanted.key is None or image.signed_by:
        return
    try:
        private = read_private_key(wanted.key)
    except (ValueError, TypeError, OSError) as error:
        message = f"{wanted.key} is not a key that can sign."
        raise CommandError("key_refused", message, "Give an unencrypted PKCS#8 key.", usage=True) from error
    registry, _, rest = (image.reference or "").partition("/")
    sign_image(_repository(session, registry, rest.partition("@")[0]), image.digest, private)
    artifacts = session.client.artifacts
    artifacts.verify(project_id, image.id)
    checked = artifacts.wait_until_checked(project_id, image.id, wanted.deadline)
    if checked.trust in ("failed_verification", "revoked"):
        raise CommandError("artifact_untrusted", f"{image.digest} is {checked.trust}: {checked.trust_detail}.")
    session.say(f"{image.name}: signed ({checked.trust})")


def _prove(session: CommandSession, project_id: str, images: list[Artifact], wanted: Publication) -> bool:
    """Add evidence to images that are drafts. Returns False if there is none of a smoke test."""
    drafts = [image for image in images if image.stage == "draft"]
    for image in drafts:
        tool = f"gpuaas compose {__version__}"
        summary = "the compose file and app.yaml have no faults"
        session.client.artifacts.add_evidence(project_id, image.id, "lint", True, tool=tool, summary=summary)
    if drafts and wanted.smoke is None:
        session.say("The images are drafts. Test them, and publish again with --smoke COMMAND to activate the version.")
        return False
    if drafts and wanted.smoke is not None:
        summary = _run_smoke(wanted.smoke, wanted.folder)
        session.say(f"smoke: {summary}")
        for image in drafts:
            artifacts, tool = session.client.artifacts, wanted.smoke[:_SUMMARY]
            artifacts.add_evidence(project_id, image.id, "smoke", True, tool=tool, summary=summary)
    return True


def _run_smoke(line: str, folder: Path) -> str:
    """Run the check in the app's folder and return the last line of its output. One that fails ends the command."""
    try:
        words = shlex.split(line)
        ran = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=_SMOKE_SECONDS
        )
    except (OSError, ValueError, IndexError) as error:
        raise CommandError("check_not_run", f"The smoke test cannot be run: {line}.", "Check the command.") from error
    except subprocess.TimeoutExpired as error:
        sentence = f"The smoke test did not end in {_SMOKE_SECONDS:.0f} s."
        raise CommandError("check_failed", sentence, "Shorten it.") from error
    said = [one for one in (ran.stdout + ran.stderr).splitlines() if one.strip()]
    if ran.returncode != 0:
        detail = f"The smoke test failed with {ran.returncode}.\n" + "\n".join(said[-10:])
        raise CommandError("check_failed", detail, "Correct what it names and publish again.")
    return (said[-1] if said else "passed").strip()[:_SUMMARY]


def _promote(session: CommandSession, project_id: str, image: Artifact, reason: str) -> None:
    if image.stage not in STAGES:
        detail = f"The image {image.digest} is {image.stage}; no version of it can be launched."
        raise CommandError("promotion_refused", detail, "Publish another image.")
    for stage in STAGES[STAGES.index(image.stage) + 1 :]:
        percent = 100 if stage == "canary" else None
        session.client.artifacts.move(project_id, image.id, stage, reason, canary_percent=percent)
    if image.stage != STAGES[-1]:
        session.say(f"{image.name}: the image is {STAGES[-1]}")
