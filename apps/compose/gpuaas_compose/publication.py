"""Publishes the app of a folder: lint, register, push the images, sign, add evidence, promote, activate.

Each step looks at what is there and does only what is missing, so that it can be repeated after any failure.
"""

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gpuaas_compose import __version__
from gpuaas_compose.image_publication import (
    archive_of,
    find_image,
    image_name,
    is_for_development_only,
    promote_image,
    push_image,
    sign_artifact,
)
from gpuaas_compose.lint import Lint
from gpuaas_sdk import AppVersion, Artifact
from gpuaas_sdk.commands import CommandError, CommandSession

_SUMMARY = 200  # characters of a check's last line that are kept as evidence
_SMOKE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Publication:
    """Names what is published. Without `smoke`, images that are not tested yet stay drafts, and so does the version."""

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
    there = {digest: find_image(session, project_id, digest) for digest in digests}
    missing = {digest: name for digest, name in digests.items() if there[digest] is None}
    archives = {digest: archive_of(linted.app, wanted.folder, digest, name) for digest, name in missing.items()}
    version = session.client.app_versions.register(project_id, json.dumps(linted.manifest))
    session.say(f"{version.slug} {version.version} is registered ({version.status})")
    images = [one for one in there.values() if one is not None]
    for digest, path in archives.items():
        name = image_name(linted.app.slug, digests[digest])
        images.append(push_image(session, project_id, name, path, wanted.deadline))
        session.say(f"{digests[digest]}: pushed and checked as {digest}")
    for image in images:
        if wanted.key is not None:
            sign_artifact(session, project_id, image, wanted.key, wanted.deadline)
    if not _prove(session, project_id, images, wanted):
        return version
    for image in images:
        if promote_image(session, project_id, image, wanted.reason):
            session.say(f"{image.name}: the image is active")
    version = session.client.app_versions.activate_draft(project_id, version)
    session.say(f"{version.slug} {version.version} is {version.status}")
    return version


def _prove(session: CommandSession, project_id: str, images: list[Artifact], wanted: Publication) -> bool:
    """Add evidence to images that are drafts, or that ran for development only. Returns False if there is no smoke test."""
    untested = [
        image for image in images if image.stage == "draft" or is_for_development_only(session, project_id, image)
    ]
    for image in untested:
        tool = f"gpuaas compose {__version__}"
        summary = "the compose file and app.yaml have no faults"
        session.client.artifacts.add_evidence(project_id, image.id, "lint", True, tool=tool, summary=summary)
    if untested and wanted.smoke is None:
        session.say("The images are not tested. Publish again with --smoke COMMAND to activate the version.")
        return False
    if untested and wanted.smoke is not None:
        summary = _run_smoke(wanted.smoke, wanted.folder)
        session.say(f"smoke: {summary}")
        for image in untested:
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
