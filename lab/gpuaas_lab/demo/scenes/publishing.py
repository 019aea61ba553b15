"""The app comes into the catalogue as any does: bytes by digest, signed, checked and promoted, then a version of them."""

import hashlib
import subprocess
import tarfile
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_lab.demo.app import SLUG, App
from gpuaas_lab.demo.cast import SETTLE_SECONDS, Cast
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Artifact
from gpuaas_sdk.signing import digest_of, public_pem, sign_blob

DIGEST = "{digest}"  # where the manifest wants it
PROMOTIONS = ("staged", "canary", "active")


def published(cast: Cast, app: App) -> None:
    with cast.report.step("Publish Slurm: signed, verified, promoted") as step:
        artifact = _uploaded(cast, app.packages)
        cast.report.say(f"{artifact.digest[:26]}…  {artifact.size_bytes / 1e6:.0f} MB, every byte read")
        artifact = _signed(cast, artifact)
        _promoted(cast, artifact, app.packages)
        version = cast.mia.app_versions.register(cast.project_id, app.manifest.replace(DIGEST, artifact.digest))
        cast.mia.app_versions.activate(cast.project_id, version.app_id, version.id)
        step.detail = f"{SLUG} {version.version} is active; its packages are {artifact.digest[:19]}…, {artifact.trust}"


def _uploaded(cast: Cast, packages: Path) -> Artifact:
    project, intents = cast.project_id, cast.mia.publish_intents
    size = packages.stat().st_size
    intent = intents.create(project, "blob", SLUG, media_type="application/x-tar", size_bytes=size)
    intents.upload(intent, packages)
    intents.complete(project, intent.id, digest_of(packages))
    made = intents.settled(project, intent.id, SETTLE_SECONDS)
    if made.artifact_id is None:
        raise LabError(f"the artifact was not taken: it is {made.state}")
    return cast.mia.artifacts.show(project, made.artifact_id)


def _signed(cast: Cast, artifact: Artifact) -> Artifact:
    """With a key for this run, that the tenant trusts and that is forgotten afterwards."""
    key = ec.generate_private_key(ec.SECP256R1())
    cast.admin.trust.create_key(cast.tenant_id, "release", public_pem(key))
    signature = sign_blob(key, artifact.digest)
    cast.mia.artifacts.verify(cast.project_id, artifact.id, signatures=[signature])
    checked = cast.mia.artifacts.checked(cast.project_id, artifact.id, SETTLE_SECONDS)
    if not checked.signed_by:
        raise LabError(f"the signature was not accepted: {checked.trust_detail}")
    return checked


def _promoted(cast: Cast, artifact: Artifact, packages: Path) -> None:
    for kind, (tool, summary) in {"lint": _linted(packages), "smoke": _smoked(packages)}.items():
        cast.mia.artifacts.add_evidence(cast.project_id, artifact.id, kind, True, tool=tool, summary=summary)
        cast.report.say(f"[green]✓[/green] {kind:<16} {summary}")
    for stage in PROMOTIONS:
        percent = 100 if stage == "canary" else None
        cast.mia.artifacts.move(cast.project_id, artifact.id, stage, "the evidence is in", canary_percent=percent)
        cast.report.say(f"[green]✓[/green] {stage}")


def _linted(packages: Path) -> tuple[str, str]:
    """Each package is what the index in the file says."""
    with tarfile.open(packages) as archive:
        held = {one.name: archive.extractfile(one) for one in archive.getmembers()}
        contents = {name: file.read() for name, file in held.items() if file is not None}
    index = contents.pop("Packages").decode()
    listed = {line.split()[1] for line in index.splitlines() if line.startswith("SHA256:")}
    if listed != {hashlib.sha256(content).hexdigest() for content in contents.values()}:
        raise LabError("the packages are not those of their index")
    return "sha256", f"{len(contents)} packages are those of the index"


def _smoked(packages: Path) -> tuple[str, str]:
    """The scheduler's own package can be opened, and its program is in it."""
    with tarfile.open(packages) as archive:
        name = next(one for one in archive.getnames() if one.startswith("slurmctld_"))
        file = archive.extractfile(name)
        content = b"" if file is None else file.read()
    shown = subprocess.run(["dpkg-deb", "--contents", "/dev/stdin"], input=content, capture_output=True, check=True)
    if b" ./usr/sbin/slurmctld" not in shown.stdout:
        raise LabError(f"{name} has no slurmctld")
    return "dpkg-deb", f"{name} opens, and brings slurmctld"
