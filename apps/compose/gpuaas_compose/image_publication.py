"""The images of an app: finds them in the project, or pushes them from the archives in the app's folder, and promotes them."""

from pathlib import Path

from gpuaas_compose.app_file import AppFile
from gpuaas_compose.environment import FileRefused
from gpuaas_compose.image_archive import ArchiveRefused, open_archive
from gpuaas_compose.lint import inside
from gpuaas_sdk import Artifact
from gpuaas_sdk.commands import CommandError, CommandSession
from gpuaas_sdk.registry import Repository
from gpuaas_sdk.signatures import read_private_key, sign_image


def image_name(slug: str, service: str) -> str:
    """Return the name under which the project keeps the image of a service."""
    return f"{slug}-{service}"[:60].rstrip("-_").replace("_", "-")


def find_image(session: CommandSession, project_id: str, digest: str) -> Artifact | None:
    return session.client.artifacts.find(project_id, digest)


def archive_of(app: AppFile, folder: Path, digest: str, service: str) -> Path:
    """Return the archive of an image that the project does not have yet. It must be the image that the service names."""
    if service not in app.images:
        raise CommandError(
            "image_missing",
            f"The project has no image {digest}, which {service} runs.",
            f"Save it with `podman save --format oci-archive`, and name the file in app.yaml under images: {service}.",
        )
    name = app.images[service]
    path, found = read_archive(folder, name)
    if found != digest:
        next_step = f"Write image: …@{found} in the compose file, or name the right archive."
        raise CommandError("image_mismatch", f"{name} is the image {found}, not {digest}.", next_step, usage=True)
    return path


def read_archive(folder: Path, name: str) -> tuple[Path, str]:
    """Return the path of an archive in the app's folder, and the digest of its image."""
    try:
        path = inside(folder, name)
        with open_archive(path) as archive:
            return path, archive.digest
    except (FileRefused, ArchiveRefused) as refused:
        raise CommandError("image_refused", f"{name}: {refused}", "Save the image again.", usage=True) from None


def push_image(session: CommandSession, project_id: str, name: str, path: Path, deadline: float) -> Artifact:
    intents = session.client.publish_intents
    intent = intents.create(project_id, "oci", name)
    if intent.push is None:
        raise CommandError("registry_not_configured", "This platform has no image registry.", "Ask its operators.")
    repository = repository_of(session, intent.push.registry, intent.push.repository)
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


def repository_of(session: CommandSession, registry: str, name: str) -> Repository:
    token = session.client.artifacts.registry_token
    return Repository(registry, name, lambda scope: token(scope=[scope]).token, session.ca_file)


def sign_artifact(session: CommandSession, project_id: str, image: Artifact, key: Path, deadline: float) -> None:
    """Sign the image with this private key, unless it is signed, and let the platform check the signature."""
    if image.signed_by:
        return
    try:
        private = read_private_key(key)
    except (ValueError, TypeError, OSError) as error:
        message = f"{key} is not a key that can sign."
        raise CommandError("key_refused", message, "Give an unencrypted PKCS#8 key.", usage=True) from error
    registry, _, rest = (image.reference or "").partition("/")
    sign_image(repository_of(session, registry, rest.partition("@")[0]), image.digest, private)
    artifacts = session.client.artifacts
    artifacts.verify(project_id, image.id)
    checked = artifacts.wait_until_checked(project_id, image.id, deadline)
    if checked.trust in ("failed_verification", "revoked"):
        raise CommandError("artifact_untrusted", f"{image.digest} is {checked.trust}: {checked.trust_detail}.")
    session.say(f"{image.name}: signed ({checked.trust})")


def promote_image(session: CommandSession, project_id: str, image: Artifact, reason: str) -> bool:
    """Bring the image to the last stage. Returns False if it is there already."""
    promoted = session.client.artifacts.promote_to(project_id, image, reason=reason)
    return promoted.stage != image.stage


def is_for_development_only(session: CommandSession, project_id: str, image: Artifact) -> bool:
    """Tell whether the newest smoke evidence of the image is that it ran for development, as earlier releases recorded."""
    found = (one for one in session.client.artifacts.evidence(project_id, image.id) if one.kind == "smoke")
    newest = next(found, None)
    return newest is not None and newest.source == "development"
