"""Publishes the app as any team would: upload by digest, sign, check and promote, then register a version."""

import hashlib
import subprocess
import tarfile
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_lab.demo.app import SLUG, App
from gpuaas_lab.demo.context import SETTLE_SECONDS, DemoContext
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Artifact
from gpuaas_sdk.signatures import digest_of, public_pem, sign_blob

DIGEST = "{digest}"  # placeholder in the manifest
PROMOTIONS = ("staged", "canary", "active")


def publish(context: DemoContext, app: App) -> None:
    with context.report.step("Publish Slurm: signed, verified, promoted") as step:
        artifact = _upload(context, app.packages)
        context.report.print_line(f"{artifact.digest[:26]}…  {artifact.size_bytes / 1e6:.0f} MB, digest checked")
        artifact = _sign(context, artifact)
        _promote(context, artifact, app.packages)
        version = context.customer.app_versions.register(
            context.project_id, app.manifest.replace(DIGEST, artifact.digest)
        )
        context.customer.app_versions.activate(context.project_id, version.app_id, version.id)
        step.detail = f"{SLUG} {version.version} is active; its packages are {artifact.digest[:19]}…, {artifact.trust}"


def _upload(context: DemoContext, packages: Path) -> Artifact:
    project, intents = context.project_id, context.customer.publish_intents
    size = packages.stat().st_size
    intent = intents.create(project, "blob", SLUG, media_type="application/x-tar", size_bytes=size)
    intents.upload(intent, packages)
    intents.complete(project, intent.id, digest_of(packages))
    made = intents.wait_until_checked(project, intent.id, SETTLE_SECONDS)
    if made.artifact_id is None:
        raise LabError(f"the artifact was not accepted: its state is {made.state}")
    return context.customer.artifacts.show(project, made.artifact_id)


def _sign(context: DemoContext, artifact: Artifact) -> Artifact:
    """Sign with a key that the tenant trusts; the key exists for this run only."""
    key = ec.generate_private_key(ec.SECP256R1())
    context.admin.trust.create_key(context.tenant_id, "release", public_pem(key))
    signature = sign_blob(key, artifact.digest)
    context.customer.artifacts.verify(context.project_id, artifact.id, signatures=[signature])
    checked = context.customer.artifacts.wait_until_checked(context.project_id, artifact.id, SETTLE_SECONDS)
    if not checked.signed_by:
        raise LabError(f"the signature was not accepted: {checked.trust_detail}")
    return checked


def _promote(context: DemoContext, artifact: Artifact, packages: Path) -> None:
    for kind, (tool, summary) in {"lint": _check_index(packages), "smoke": _check_program(packages)}.items():
        context.customer.artifacts.add_evidence(context.project_id, artifact.id, kind, True, tool=tool, summary=summary)
        context.report.print_line(f"[green]✓[/green] {kind:<16} {summary}")
    for stage in PROMOTIONS:
        percent = 100 if stage == "canary" else None
        context.customer.artifacts.move(
            context.project_id, artifact.id, stage, "the evidence is in", canary_percent=percent
        )
        context.report.print_line(f"[green]✓[/green] {stage}")


def _check_index(packages: Path) -> tuple[str, str]:
    """Compare the digest of each package with the index in the bundle."""
    with tarfile.open(packages) as archive:
        files = {one.name: archive.extractfile(one) for one in archive.getmembers()}
        contents = {name: file.read() for name, file in files.items() if file is not None}
    index = contents.pop("Packages").decode()
    listed = {line.split()[1] for line in index.splitlines() if line.startswith("SHA256:")}
    if listed != {hashlib.sha256(content).hexdigest() for content in contents.values()}:
        raise LabError("the packages do not match their index")
    return "sha256", f"{len(contents)} packages match the index"


def _check_program(packages: Path) -> tuple[str, str]:
    """Open the scheduler's package and look for its program."""
    with tarfile.open(packages) as archive:
        name = next(one for one in archive.getnames() if one.startswith("slurmctld_"))
        file = archive.extractfile(name)
        content = b"" if file is None else file.read()
    shown = subprocess.run(["dpkg-deb", "--contents", "/dev/stdin"], input=content, capture_output=True, check=True)
    if b" ./usr/sbin/slurmctld" not in shown.stdout:
        raise LabError(f"{name} has no slurmctld")
    return "dpkg-deb", f"{name} can be opened and contains slurmctld"
